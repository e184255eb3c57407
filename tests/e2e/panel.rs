//! The web page in a real Chromium, driven by `tests/browser/panel.mjs`.

use std::path::Path;
use std::process::Command;

use tests::server::PASSWORD;
use tests::{Machine, Server};

#[test]
fn panel_switches_runners_and_chat_runs_where_it_says() {
    let server = Server::start();
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let laptop = Machine::start(&server, &alice, "laptop");
    let desktop = Machine::start(&server, &alice, "desktop");
    let _other = Machine::start(&server, &bob, "workstation");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/panel.mjs");
    let output = Command::new("node")
        .arg(script)
        .env("URL", server.url())
        .env("PASSWORD", PASSWORD)
        .env("LAPTOP", laptop.workspace())
        .env("DESKTOP", desktop.workspace())
        .env("RUNNER", tests::binaries::runner())
        .env("SCREENSHOTS", std::env::var("SANDBRIDGE_SCREENSHOTS").unwrap_or_default())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
