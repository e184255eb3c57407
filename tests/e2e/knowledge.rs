//! Knowledge: agents find and cite documents that are uploaded or in folders of runners, even after kills and among hostile files.

mod hostile;
mod kills;
mod meaning;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Person, Reply, eventually};

use crate::world::World;

/// The timeout for indexing a document.
const PATIENCE: Duration = Duration::from_secs(120);

fn run(person: &Person, arguments: &[&str]) -> String {
    let output = person.run(&[&["knowledge"], arguments].concat());
    assert_eq!(output.code, 0, "{arguments:?}: {output:?}");
    output.stdout
}

fn json_of(person: &Person, arguments: &[&str]) -> Value {
    let output = person.run(&[&["--json", "knowledge"], arguments].concat());
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn documents(person: &Person, collection: &str) -> Vec<Value> {
    json_of(person, &["show", collection])["documents"].as_array().unwrap().clone()
}

fn found(person: &Person, query: &str) -> Vec<String> {
    let found = json_of(person, &["search", query, "--limit", "10"]);
    found["passages"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}

/// Waits until all documents of a collection are indexed, or have failed.
fn indexed(person: &Person, collection: &str) -> Vec<Value> {
    eventually("everything is indexed", PATIENCE, || {
        let documents = documents(person, collection);
        documents.iter().all(|document| document["state"] != "waiting").then_some(documents)
    })
}

fn put(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn documents_are_added_found_cited_shared_and_deleted() {
    let world = World::new(|asked| match asked.results().pop() {
        None => Reply::Call(vec![("knowledge_search", json!({"query": "how long is the guarantee"}))]),
        Some(result) => {
            let from = result.find("[doc:").unwrap_or(0);
            let until = result[from..].find(']').map_or(0, |at| from + at + 1);
            Reply::Say(format!("Two years {}", &result[from..until]))
        }
    });
    let (alice, folder) = (&world.alice, tempfile::tempdir().unwrap());
    run(alice, &["create", "manuals"]);
    let kettle = put(
        folder.path(),
        "kettle.md",
        "# Kettle\n\nBoils water.\n\n## Guarantee\n\nThe guarantee lasts two years.\n",
    );
    let chinese = put(folder.path(), "手册.txt", "这台水壶的保修期是两年。请勿放入洗碗机。");
    let broken = put(folder.path(), "broken.pdf", "%PDF-1.7\nnothing");
    let output = alice.run(&["knowledge", "add", "manuals", "--wait", &kettle, &chinese, &broken]);
    assert_ne!(output.code, 0, "one of them is damaged: {output:?}");
    assert!(output.stdout.contains("broken.pdf: the document is damaged"), "{output:?}");
    assert!(found(alice, "guarantee years")[0].contains("two years"));
    assert!(found(alice, "保修期")[0].contains("两年"));
    assert!(run(alice, &["search", "guarantee"]).contains("by words: rank 1; contains guarantee"));
    for odd in ["\"", "* OR", "NEAR(", "🫖", "'; DROP TABLE", ""] {
        json_of(alice, &["search", odd]);
    }
    // The model in a chat finds the document and cites it; the citation opens the page.
    let answer = world.chat("plan");
    let text = answer.iter().map(Value::to_string).collect::<String>();
    assert!(text.contains("[doc:"), "{text}");
    let told = world.last_result();
    assert!(
        told.contains("Quotations from documents") && told.contains("> The guarantee lasts two years."),
        "{told}"
    );
    let prompt = world.model.asked()[0].raw.clone();
    assert!(
        prompt.contains("12_knowledge") || prompt.contains("which knowledge_search searches"),
        "{prompt}"
    );
    let client = Client::login(&world.server, "alice");
    let hit = json_of(alice, &["search", "guarantee years"])["passages"][0].clone();
    let path = format!("/knowledge/documents/{}?page={}", hit["document_id"], hit["page"]);
    let opened = client.call("GET", &path).json();
    let (start, end) = (hit["start"].as_u64().unwrap() as usize, hit["end"].as_u64().unwrap() as usize);
    let page = opened["pages"][0]["text"].as_str().unwrap();
    assert!(page[start..end].contains("two years"), "{opened}");
    // Other users see the collection only while it is shared.
    let bob = world.server.person("bob");
    assert!(found(&bob, "guarantee").is_empty());
    run(alice, &["share", "manuals", "bob"]);
    assert_eq!(found(&bob, "guarantee").len(), 1);
    assert_ne!(bob.run(&["knowledge", "delete", "manuals"]).code, 0, "only the owner may delete it");
    run(alice, &["unshare", "manuals", "bob"]);
    assert!(found(&bob, "guarantee").is_empty());
    assert_eq!(Client::login(&world.server, "bob").call("GET", &path).status, 404);
    run(alice, &["share", "manuals"]);
    assert!(run(&bob, &["list"]).contains("manuals"));
    // A deleted document is not found.
    run(alice, &["delete", "manuals", "kettle.md"]);
    assert!(found(alice, "guarantee").is_empty());
    run(alice, &["delete", "manuals"]);
    assert!(found(alice, "保修期").is_empty());
    assert!(run(alice, &["status"]).contains("nothing is waiting"));
}

#[test]
fn a_folder_of_a_runner_is_synced_and_missing_files_need_confirmation() {
    let mut world = World::new(|_| Reply::Say("ok".to_owned()));
    let docs = world.path("docs");
    for at in 0..12 {
        put(&docs, &format!("part{at}/note.md"), &format!("# Note\n\nThe number of this note is zz{at}zz."));
    }
    put(&docs, ".gitignore", "ignored/\n");
    put(&docs, "ignored/secret.md", "zzignoredzz");
    put(&docs, ".env", "zzhiddenzz");
    let outside = put(world.machine.workspace().parent().unwrap(), "outside.md", "zzoutsidezz");
    std::os::unix::fs::symlink(&outside, docs.join("link.md")).unwrap();
    run(&world.alice, &["add-folder", "laptop:docs"]);
    let synced = |state: &str| {
        eventually(state, PATIENCE, || {
            let list = json_of(&world.alice, &["list"]);
            (list["collections"][0]["sync_state"] == state).then(|| list["collections"][0].clone())
        })
    };
    synced("synced");
    assert_eq!(indexed(&world.alice, "docs").len(), 12);
    assert_eq!(found(&world.alice, "zz7zz").len(), 1);
    for other in ["zzignoredzz", "zzhiddenzz", "zzoutsidezz"] {
        assert!(found(&world.alice, other).is_empty(), "{other}");
    }
    // One file is changed, one is deleted, one is new; the others are not read again.
    let before = documents(&world.alice, "docs");
    put(&docs, "part3/note.md", "# Note\n\nNow it is zzchangedzz, and longer.");
    fs::remove_file(docs.join("part4/note.md")).unwrap();
    // One grew to 500 MB, without taking room on the disk: what was indexed of it stays.
    let grown = fs::OpenOptions::new().write(true).open(docs.join("part5/note.md")).unwrap();
    grown.set_len(500 << 20).unwrap();
    put(&docs, "new.txt", "zznewzz");
    run(&world.alice, &["sync", "docs"]);
    eventually("the change is found", PATIENCE, || {
        let is_there =
            found(&world.alice, "zzchangedzz").len() == 1 && found(&world.alice, "zznewzz").len() == 1;
        is_there.then_some(())
    });
    let after = indexed(&world.alice, "docs");
    assert_eq!(after.len(), 12);
    assert_eq!(found(&world.alice, "zz5zz").len(), 1);
    let told = run(&world.alice, &["show", "docs"]);
    assert!(told.contains("too large and left out: 1, such as part5/note.md; at most 64 MiB"), "{told}");
    let same = after.iter().filter(|document| before.contains(document)).count();
    assert_eq!(same, 10, "only changed files were indexed again: {after:?}");
    assert!(found(&world.alice, "zz4zz").is_empty() && found(&world.alice, "zz3zz").is_empty());
    // The folder is moved away; its documents stay until their owner confirms their removal.
    fs::rename(&docs, world.path("moved")).unwrap();
    run(&world.alice, &["sync", "docs"]);
    synced("gone");
    assert_eq!(found(&world.alice, "zz7zz").len(), 1);
    fs::create_dir(&docs).unwrap();
    run(&world.alice, &["sync", "docs"]);
    eventually("the loss is noticed", PATIENCE, || {
        run(&world.alice, &["show", "docs"]).contains("missing from the folder").then_some(())
    });
    assert_eq!(found(&world.alice, "zz7zz").len(), 1);
    run(&world.alice, &["sync", "docs", "--remove-missing"]);
    eventually("it is confirmed", PATIENCE, || found(&world.alice, "zz7zz").is_empty().then_some(()));
    // The runner is offline, and the collection's state reports that.
    world.machine.stop();
    run(&world.alice, &["sync", "docs"]);
    eventually("the runner is reported as unreachable", PATIENCE, || {
        run(&world.alice, &["show", "docs"]).contains("could not be reached").then_some(())
    });
}
