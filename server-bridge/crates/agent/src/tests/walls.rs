//! The walls inside this crate: what the engine may name, and how wide its ports are.

use std::path::{Path, PathBuf};

/// Ports of the engine, and methods of one.
const MOST: (usize, usize) = (6, 8);

fn engine() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine")
}

/// All source files of a folder, without its tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("tests") => Vec::new(),
        true => files(&path),
        false => vec![path],
    };
    entries.flat_map(of).collect()
}

#[test]
fn the_engine_names_neither_the_house_around_it_nor_what_clients_read() {
    // The store's plain types are its words; the store itself, the service and the documents are not.
    let others = ["Store::", "Store,", "Store}", "&Store", "crate::service", "crate::stored", "crate::turns"];
    let documents = ["Document", "ToolData", "ChatEvent", "sqlx", "utoipa", "axum"];
    for file in files(&engine()) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let is_error = line.contains("End::Store(") || line.contains("Self::Store(");
            let names = |words: &[&str]| {
                words.iter().find(|word| line.contains(**word)).map(|word| (*word).to_owned())
            };
            let named = names(&others).filter(|_| !is_error).or(names(&documents));
            assert_eq!(named, None, "{}:{number}: {line}", file.display());
        }
    }
}

#[test]
fn ports_are_few_and_narrow() {
    let text = std::fs::read_to_string(engine().join("ports.rs")).unwrap();
    let mut ports: Vec<(String, usize)> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("pub(crate) trait ") {
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
