//! The scripts a newcomer starts with.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tests::{eventually, process};

#[test]
fn demo_brings_up_a_working_chat_and_cleans_up() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut demo = Command::new(root.join("scripts/demo"))
        .env("SANDBRIDGE_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> = BufReader::new(demo.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .take_while(|line| !line.contains("Ctrl-C"))
        .collect();
    let text = lines.join("\n");
    assert!(text.contains("Linux") && text.contains("password") && text.contains("http://"), "{text}");
    let workspace = lines.iter().find(|line| line.ends_with("/workspace")).expect("pwd's output").clone();
    assert!(Path::new(&workspace).is_dir());
    process::signal(demo.id() as i32, Signal::INT);
    demo.wait().unwrap();
    let directory = workspace.trim_end_matches("/workspace");
    eventually("nothing of the demo is left", Duration::from_secs(10), || {
        (!Path::new(directory).exists() && process::with_marker(directory).is_empty()).then_some(())
    });
}
