//! A test that the engine has few ports, and that each port has few methods.

use std::path::{Path, PathBuf};

/// Limits on the number of the engine's ports, and on the number of methods of one port.
const MOST: (usize, usize) = (7, 8);

fn engine() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine")
}

#[test]
fn ports_are_few_and_narrow() {
    let text = std::fs::read_to_string(engine().join("ports.rs")).unwrap();
    let mut ports: Vec<(String, usize)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("pub trait ") {
            ports.push((rest.split(':').next().unwrap().to_owned(), 0));
            is_inside = true;
        }
        is_inside &= line != "}";
        if let (true, Some((_, methods))) = (is_inside, ports.last_mut()) {
            *methods += usize::from(line.trim_start().starts_with("fn "));
        }
    }
    assert!(!ports.is_empty() && ports.len() <= MOST.0, "{ports:?}");
    assert!(ports.iter().all(|(_, methods)| (1..=MOST.1).contains(methods)), "{ports:?}");
}
