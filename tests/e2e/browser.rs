//! The web page in a real Chromium: one test for each of Playwright's files in `tests/browser/specs`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("browser")
}

/// Runs the specs of one file, which start the servers that they need.
fn run(spec: &str) {
    run_with(spec, &[]);
}

/// Like `run`, with additional variables for all servers of the spec.
pub(crate) fn run_with(spec: &str, variables: &[(&str, &str)]) {
    let output = Command::new("node")
        .arg("node_modules/@playwright/test/cli.js")
        .args(["test", "--workers", "1", &format!("specs/{spec}.spec.ts")])
        .current_dir(home())
        .env("BINARIES", tests::binaries::directory())
        // The runner programs that the pages' servers offer for download.
        .env("SANDBRIDGE_RUNNER_STATIC", tests::binaries::runner_static())
        .env("BROWSER_RESULTS", tests::binaries::directory().join(format!("../browser/{spec}")))
        .envs(variables.iter().copied())
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

macro_rules! specs {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )*

        #[test]
        fn every_file_of_browser_tests_is_run() {
            let named: BTreeSet<String> = [$(stringify!($name)),*, "nodes", "docker", "mcp_everywhere"].map(|name| format!("{name}.spec.ts")).into();
            let files = std::fs::read_dir(home().join("specs")).unwrap();
            let found: BTreeSet<String> =
                files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            assert_eq!(found, named);
        }
    };
}

specs! {
    conversation,
    output,
    attachments,
    agent_work,
    approvals,
    cards,
    resilience,
    volume,
    panel_files,
    panel_tasks,
    panel_terminal,
    runners,
    chats,
    keyboard,
    settings,
    hooks,
    automations,
    channels,
    channel_logins,
    groups,
    agent_workspaces,
    knowledge,
    memory,
    http_tools,
    mcp_servers,
    plugins,
    trust,
    hostile_port,
    setup,
    sign_in,
    updates,
    looks,
}

#[test]
fn nodes() {
    let database = testkit::postgres::database();
    let key = "the key of all nodes of this test";
    run_with("nodes", &[("SANDBRIDGE_DATABASE", &database), ("SANDBRIDGE_ENCRYPTION_KEY", key)]);
}

/// A real engine pulls the image from a registry that the spec serves.
#[test]
fn docker() {
    tests::docker::ready();
    run_with("docker", &[("DOCKER_IMAGE", tests::docker::IMAGE)]);
}

/// The files of the first view, before a panel or the settings are opened: the page, and the files that its head refers
/// to.
#[test]
fn the_first_view_is_small() {
    const MOST_BYTES: usize = 450 * 1024;
    let server = tests::Server::start();
    let page = ureq::get(server.url()).call().unwrap().body_mut().read_to_string().unwrap();
    let names = page.split('"').filter(|text| text.starts_with("/assets/"));
    let bytes = |name: &str| {
        let request = ureq::get(format!("{}{name}", server.url())).header("accept-encoding", "gzip");
        let answer = request.call().unwrap();
        assert!(
            name.ends_with(".svg") || answer.headers()["content-encoding"] == "gzip",
            "{name} is not packed"
        );
        answer.headers()["content-length"].to_str().unwrap().parse::<usize>().unwrap()
    };
    let sizes: Vec<(&str, usize)> = names.map(|name| (name, bytes(name))).collect();
    assert!(sizes.len() >= 3, "{sizes:?}");
    let all: usize = sizes.iter().map(|(_, bytes)| bytes).sum();
    assert!(all <= MOST_BYTES, "{all} bytes: {sizes:?}");
}
