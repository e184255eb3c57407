//! Checks the structure of the repository: dependencies between crates, cycles between modules, file sizes, licences and the top level.

mod circles;
mod docs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The limit on the lines of a source file: a longer one covers more than one topic.
const MAX_LINES: usize = 500;

/// The allowed dependencies between crates; a Cargo.toml may not have any others.
const ARROWS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("address", &[]),
    ("sse", &[]),
    ("wsclient", &[]),
    ("pathguard", &[]),
    ("api", &[]),
    ("extract", &[]),
    ("e5", &[]),
    ("frontmatter", &[]),
    ("home", &[]),
    ("records", &[]),
    ("rules", &[]),
    ("s3", &[]),
    ("search", &[]),
    ("platforms", &["guard"]),
    ("plugins", &["frontmatter", "rules"]),
    ("store", &["records", "s3", "search"]),
    ("sandbox", &["proto"]),
    ("runner", &["address", "proto", "pathguard", "wsclient"]),
    ("guard", &["address"]),
    ("cards", &["api"]),
    ("chains", &["api"]),
    ("http_tools", &[]),
    ("hooks", &["http_tools"]),
    ("llm", &["e5", "guard", "search", "sse"]),
    ("accounts", &["store"]),
    ("execs", &["sandbox", "store"]),
    ("agent", &["llm", "plugins", "records", "sandbox"]),
    (
        "extensions",
        &[
            "agent",
            "api",
            "execs",
            "frontmatter",
            "guard",
            "hooks",
            "http_tools",
            "llm",
            "plugins",
            "rules",
            "sandbox",
            "search",
            "store",
        ],
    ),
    ("knowledge", &["agent", "api", "extract", "llm", "sandbox", "search", "store"]),
    ("memory", &["llm", "search", "store"]),
    ("nodes", &["store"]),
    ("peers", &["store"]),
    ("tools", &["agent", "api", "cards", "execs", "extract", "guard", "llm", "memory", "sandbox", "store"]),
    ("chats", &["agent", "api", "cards", "execs", "llm", "memory", "rules", "sandbox", "store", "tools"]),
    ("groups", &["agent", "api", "chains", "chats", "execs", "pathguard", "sandbox", "store"]),
    ("automation", &["agent", "api", "chats", "store"]),
    ("channels", &["agent", "api", "cards", "chats", "guard", "platforms", "store"]),
    ("client", &["api", "home", "pathguard", "sse", "wsclient"]),
    (
        "server-bridge",
        &[
            "accounts",
            "agent",
            "api",
            "automation",
            "channels",
            "chats",
            "client",
            "execs",
            "extensions",
            "extract",
            "groups",
            "home",
            "knowledge",
            "llm",
            "memory",
            "nodes",
            "peers",
            "s3",
            "sandbox",
            "store",
            "tools",
        ],
    ),
    (
        "tests",
        &[
            "chats",
            "e5",
            "extensions",
            "pgserver",
            "proto",
            "rules",
            "s3server",
            "sandbox",
            "search",
            "store",
            "tools",
        ],
    ),
    ("pgserver", &[]),
    ("s3server", &[]),
    ("testkit", &["pgserver"]),
    ("static-runner", &["runner", "server-bridge", "testkit"]),
];

/// The same crates as in `.deny.toml`.
const BANNED: &[&str] = &["openssl-sys", "aws-lc-sys", "reqwest-eventsource"];

/// The texts with which unsafe code begins; it is allowed only in a single module of each crate.
const UNSAFE: &[&str] = &["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"];

/// The limit on unsafe blocks in all crates together, including tests.
const MAX_UNSAFE_BLOCKS: usize = 20;

const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Zlib",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn tracked_files() -> Vec<String> {
    let output = Command::new("git").args(["ls-files"]).current_dir(root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn crates_depend_only_on_their_allowed_dependencies() {
    let allowed: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours: Vec<_> = packages.iter().filter(|package| package["source"].is_null()).collect();
    assert_eq!(
        ours.len(),
        ARROWS.len(),
        "a crate was added: list its dependencies in ARROWS and in the README"
    );
    for package in ours {
        let name = package["name"].as_str().unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let target = dependency["name"].as_str().unwrap();
            let is_test_only = dependency["kind"] == "dev";
            if allowed.contains_key(target) && !is_test_only {
                assert!(allowed[name].contains(&target), "{name} must not depend on {target}");
            }
        }
    }
}

/// Otherwise, tokio and everything that depends on it are compiled again for the tests, and the tests run programs that differ from those that are
/// built alone.
#[test]
fn programs_and_tests_are_built_with_the_same_features() {
    let features = |edges: &str| {
        let output = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--locked",
                "--offline",
                "--workspace",
                "--prefix",
                "none",
                "--format",
                "{p} {f}",
                "--edges",
                edges,
            ])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect::<BTreeSet<_>>()
    };
    let (programs, tests) = (features("normal,build"), features("normal,build,dev"));
    let differ: Vec<_> = programs.difference(&tests).collect();
    assert!(differ.is_empty(), "give tests/testkit the features that tests add to {differ:#?}");
}

#[test]
fn the_engine_is_built_without_a_database_or_a_server() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "agent", "--edges", "normal", "--prefix", "none", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.starts_with("agent "), "{}", String::from_utf8_lossy(&output.stderr));
    for line in tree.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        assert!(!["axum", "sqlx", "sqlx-core", "store", "utoipa"].contains(&name), "agent needs {line}");
    }
}

/// Handlers only parse a request, call a function and respond. The domain's logic, audit trail and events are in these functions, so that any other
/// front end has them too.
#[test]
fn the_web_layer_does_not_use_the_store_directly() {
    let folder = "server-bridge/src/web";
    let sources =
        || tracked_files().into_iter().filter(|file| file.starts_with(folder) && file.ends_with(".rs"));
    assert!(sources().count() > 50, "{folder} is somewhere else");
    for file in sources() {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (number, line) in lines {
            let is_free =
                !line.contains("store::") && !line.contains("state.store") && !line.contains("use store");
            assert!(is_free, "{file}:{}: {}", number + 1, line.trim());
        }
    }
}

/// `web::json::Json` writes documents in the language of the request; axum's `Json` would write them in English.
#[test]
fn answers_are_written_in_the_language_of_their_request() {
    let folder = "server-bridge/src/web/";
    let is_answer =
        |file: &String| file.starts_with(folder) && file.ends_with(".rs") && !file.ends_with("/extract.rs");
    let files: Vec<String> = tracked_files().into_iter().filter(is_answer).collect();
    assert!(files.len() > 50, "{folder} is somewhere else");
    for file in files {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let is_axums = |statement: &&str| {
            let words = || statement.split(|letter: char| !letter.is_alphanumeric());
            words().any(|word| word == "axum") && words().any(|word| word == "Json")
        };
        let found = text.split(';').find(is_axums);
        assert!(found.is_none(), "{file}: use crate::web::json::Json: {}", found.unwrap_or_default());
    }
}

#[test]
fn source_files_are_short_enough() {
    for file in tracked_files() {
        let is_source = file.ends_with(".rs") || file.ends_with(".ts") || file.ends_with(".tsx");
        let is_test = file.contains("/tests/") || file.contains("e2e/") || file.ends_with("tests.rs");
        // Generated code has no limit on its lines.
        let is_made = file.ends_with(".d.ts");
        if is_source && !is_test && !is_made {
            let lines = std::fs::read_to_string(root().join(&file)).unwrap().lines().count();
            assert!(lines <= MAX_LINES, "{file} has {lines} lines: split it by topic");
        }
    }
}

#[test]
fn top_level_contains_only_known_entries() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "LICENSE",
        "CHANGELOG.md",
        "README.md",
        "SECURITY.md",
        "docs",
        "pathguard",
        "proto",
        "runner",
        "scripts",
        "server-bridge",
        "tests",
    ];
    for file in tracked_files() {
        let top = file.split('/').next().unwrap();
        assert!(top.starts_with('.') || allowed.contains(&top), "{top} does not belong at the top level");
    }
}

#[test]
fn crates_describe_themselves_and_their_modules() {
    for (name, _) in ARROWS {
        let inside = ["", "proto/", "server-bridge/crates/", "tests/"]
            .map(|folder| root().join(format!("{folder}{name}/src/lib.rs")));
        let path = inside.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("{name} has no lib.rs"));
        let text = std::fs::read_to_string(path).unwrap();
        let header = text.lines().take_while(|line| line.starts_with("//!")).count();
        assert!(header >= 5, "the header of {} must describe the crate and list its modules", path.display());
    }
}

#[test]
fn licences_of_dependencies_are_known() {
    for package in metadata()["packages"].as_array().unwrap() {
        if package["source"].is_null() {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or_default();
        let words = licence.replace(['(', ')'], " ").replace('/', " OR ").replace(" WITH LLVM-exception", "");
        // Every part joined by AND must offer a licence from the list.
        let acceptable =
            words.split(" AND ").all(|part| part.split(" OR ").any(|name| LICENCES.contains(&name.trim())));
        assert!(acceptable, "{}: {licence:?}", package["name"]);
    }
}

#[test]
fn dependencies_come_from_the_registry_and_none_is_banned() {
    for package in metadata()["packages"].as_array().unwrap() {
        let (name, version) = (package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        let source = package["source"].as_str().unwrap_or("ours");
        assert!(source == "ours" || source.starts_with("registry+"), "{name} comes from {source}");
        assert!(!BANNED.contains(&name), "{name} is banned: see .deny.toml");
        assert!(
            name != "bincode" || version == "2.0.1",
            "bincode {version}: the wire format is that of 2.0.1"
        );
    }
}

/// Access to JSON by string keys means that a type is missing: the server's responses are declared in `api`.
#[test]
fn the_client_reads_typed_documents_and_no_untyped_json() {
    for file in tracked_files() {
        let is_production =
            file.starts_with("server-bridge/crates/client/src/") && !file.ends_with("tests.rs");
        if !is_production || !file.ends_with(".rs") {
            continue;
        }
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for word in ["serde_json::Value", "serde_json::{Value", "serde_json::Map", "json!"] {
            assert!(!code.contains(word), "{file} has {word}: declare the document in crate api");
        }
    }
}

#[test]
fn unsafe_code_is_in_one_module_of_each_crate() {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in tracked_files().into_iter().filter(|file| file.ends_with(".rs") && file.contains("/src/")) {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let has_block = text.lines().any(|line| {
            !line.trim_start().starts_with("//") && UNSAFE.iter().any(|word| line.contains(word))
        });
        if has_block {
            // The files in a module's folder belong to that module.
            let (name, path) = file.split_once("/src/").unwrap();
            let module = path.split('/').next().unwrap().trim_end_matches(".rs");
            modules.entry(name.to_owned()).or_default().insert(module.to_owned());
        }
    }
    for (name, found) in modules {
        assert_eq!(found.len(), 1, "{name} has unsafe code in several modules: {found:?}");
    }
}

#[test]
fn unsafe_blocks_stay_few() {
    // The words are joined here, so that this file is not counted.
    let words = ["{", "impl"].map(|what| format!("unsafe {what}"));
    let mut found = Vec::new();
    for file in tracked_files().into_iter().filter(|file| file.ends_with(".rs")) {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let blocks = code.filter(|(_, line)| words.iter().any(|word| line.contains(word.as_str())));
        found.extend(blocks.map(|(number, _)| format!("{file}:{}", number + 1)));
    }
    found.retain(|place| !place.starts_with("tests/e2e/tidy.rs:"));
    assert!(found.len() <= MAX_UNSAFE_BLOCKS, "{} unsafe blocks: {found:#?}", found.len());
}
