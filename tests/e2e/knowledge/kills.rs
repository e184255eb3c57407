//! A server that is killed at many points while it indexes: no document is lost or duplicated, and the index equals that of a server that was
//! never killed.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::http::Client;
use tests::random::count;
use tests::{Server, eventually};

use super::{PATIENCE, documents, found, indexed, put, run};

/// The points at which the server is killed, and how many times the documents of [`TEXTS`] reach each point in one round.
const POINTS: &[(&str, usize)] = &[
    ("index_uploaded", 3),
    ("index_begun", 3),
    ("index_pages", 2),
    ("index_before_swap", 3),
    ("index_after_swap", 3),
];

/// The documents, each with the number of its lines: the second one is stored in three batches of 256 KiB.
const TEXTS: &[(&str, usize)] = &[("one.md", 40), ("large.md", 22_000), ("two.txt", 40)];

/// Prints the index of a database: documents, pages and passages of their current versions; and the number of jobs left, of rows that belong to no
/// current version, and of passages that are in only one of the table and the index of words.
const DUMP: &str = r#"
import hashlib, json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = lambda sql: [list(row) for row in db.execute(sql)]
present = "JOIN documents d ON d.id = x.document_id AND d.version = x.version"
out = {
    "documents": rows("SELECT name, state, note, kind, pages, sha256, size_bytes FROM documents ORDER BY name"),
    "pages": rows(f"SELECT d.name, x.page, x.title, x.text FROM document_pages x {present} ORDER BY d.name, x.page"),
    "passages": rows(f"SELECT d.name, x.page, x.span_start, x.span_end, x.headings, x.words, x.others FROM chunks x {present} "
                     "ORDER BY d.name, x.page, x.span_start"),
}
for name in ["pages", "passages"]:
    digest = hashlib.sha256(json.dumps(out[name]).encode()).hexdigest()
    out[name] = [len(out[name]), digest]
out["left"] = [
    rows("SELECT COUNT(*) FROM index_jobs")[0][0] + rows("SELECT COUNT(*) FROM job_parts")[0][0],
    rows("SELECT COUNT(*) FROM chunks")[0][0] - out["passages"][0],
    rows("SELECT COUNT(*) FROM document_pages")[0][0] - out["pages"][0],
    rows("SELECT COUNT(*) FROM chunks WHERE id NOT IN (SELECT id FROM search_chunks_docsize)")[0][0],
    rows("SELECT COUNT(*) FROM search_chunks_docsize WHERE id NOT IN (SELECT id FROM chunks)")[0][0],
]
print(json.dumps(out))
"#;

fn dump(server: &Server) -> Value {
    let file = server.home().join("sandbridge.db");
    let output = Command::new("python3").args(["-c", DUMP]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts(folder: &Path, version: usize) -> Vec<String> {
    let of = |(name, lines): &(&str, usize)| {
        let line = format!("The text of version v{version}x.\n\n");
        put(folder, name, &format!("# About {name}\n\n{}", line.repeat(*lines)))
    };
    TEXTS.iter().map(of).collect()
}

#[test]
fn a_server_killed_while_indexing_ends_with_the_index_of_one_that_was_not() {
    let options = ["--docker", "off"];
    let mut server = Server::start_in_a_file(&options);
    let alice = server.person("alice");
    let folder = tempfile::tempdir().unwrap();
    run(&alice, &["create", "notes"]);
    for path in texts(folder.path(), 0) {
        run(&alice, &["add", "notes", &path]);
    }
    indexed(&alice, "notes");
    let kills = usize::try_from(count("SANDBRIDGE_INDEX_KILLS", 6)).unwrap();
    // Kills at each point in turn, and in each round at a later document.
    let at = |kill: usize| {
        let (point, documents) = POINTS[kill % POINTS.len()];
        format!("{point}@{}", (kill / POINTS.len()) % documents + 1)
    };
    for kill in 0..kills {
        let (version, point) = (kill + 1, at(kill));
        server.restart_with(&options, &[("SANDBRIDGE_FAULT", &point)]);
        let paths = texts(folder.path(), version);
        // Adding fails while there is no server.
        let was_taken: Vec<bool> =
            paths.iter().map(|path| alice.run(&["knowledge", "add", "notes", path]).code == 0).collect();
        server.wait_killed(PATIENCE);
        server.restart_with(&options, &[]);
        // Before anything is added again, each document has one complete version: the old one or the new one.
        let client = Client::login(&server, "alice");
        for document in documents(&alice, "notes") {
            let path = format!("/knowledge/documents/{}", document["id"]);
            let page = client.call("GET", &path).json()["pages"][0]["text"].as_str().unwrap().to_owned();
            let is_whole = [version, version - 1].iter().any(|version| {
                page.matches("The text of").count() == page.matches(&format!("v{version}x")).count()
            });
            assert!(is_whole && document["is_searched"] == true, "{point}: {document}");
        }
        for (path, _) in paths.iter().zip(&was_taken).filter(|(_, was_taken)| !**was_taken) {
            run(&alice, &["add", "notes", path]);
        }
        let after = indexed(&alice, "notes");
        assert!(
            after.len() == TEXTS.len() && after.iter().all(|one| one["state"] == "ready"),
            "{point}: {after:?}"
        );
        assert!(found(&alice, &format!("v{}x", version - 1)).is_empty(), "{point}");
        assert!(!found(&alice, &format!("v{version}x")).is_empty(), "{point}");
    }
    server.kill();
    let killed = dump(&server);
    let mut undisturbed = Server::start_in_a_file(&options);
    let bob = undisturbed.person("bob");
    run(&bob, &["create", "notes"]);
    for path in texts(folder.path(), kills) {
        run(&bob, &["add", "notes", &path]);
    }
    indexed(&bob, "notes");
    undisturbed.kill();
    let expected = dump(&undisturbed);
    assert_eq!(expected["left"], json!([0, 0, 0, 0, 0]));
    assert_eq!(killed, expected);
}

#[test]
fn words_indexed_by_an_older_version_are_indexed_again_after_a_start() {
    let options = ["--docker", "off"];
    let mut server = Server::start_in_a_file(&options);
    let alice = server.person("alice");
    let folder = tempfile::tempdir().unwrap();
    run(&alice, &["create", "notes"]);
    for path in texts(folder.path(), 0) {
        run(&alice, &["add", "notes", "--wait", &path]);
    }
    server.kill();
    // Restores the state from before titles were indexed, when the index of words did not contain the documents' names.
    let older = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
        db.execute(\"UPDATE documents SET name = 'zztitlezz-' || name, analysis = 0\"); db.commit()";
    let file = server.home().join("sandbridge.db");
    assert!(Command::new("python3").args(["-c", older]).arg(&file).status().unwrap().success());
    server.restart_with(&options, &[]);
    let count = || {
        let found = super::json_of(&alice, &["search", "zztitlezz", "--limit", "10"]);
        found["passages"].as_array().unwrap().len()
    };
    eventually("the titles are found", PATIENCE, || (count() == 10).then_some(()));
    let analysed = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); \
        print(db.execute('SELECT COUNT(*) FROM documents WHERE analysis = 0').fetchone()[0])";
    eventually("all documents are done", PATIENCE, || {
        let output = Command::new("python3").args(["-c", analysed]).arg(&file).output().unwrap();
        (output.stdout == b"0\n").then_some(())
    });
    server.kill();
    assert_eq!(dump(&server)["left"], json!([0, 0, 0, 0, 0]));
}
