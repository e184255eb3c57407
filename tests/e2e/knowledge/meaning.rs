//! Documents and memories are found by their meaning, even across kills and changes of the embedder, and only by the user who owns them.

use serde_json::json;
use tests::http::Client;
use tests::{Mood, Reply, ScriptedEmbedder, ScriptedModel, Server, eventually};

use super::{PATIENCE, found, json_of, put, run};

const TOPICS: &[&[&str]] =
    &[&["guarantee", "warranty"], &["kettle", "boil"], &["indent", "tabs"], &["cat", "pet"]];

/// The text of the first passage, and whether it was found by words and by meaning.
fn first(person: &tests::Person, query: &str) -> (String, bool, bool) {
    let found = json_of(person, &["search", query]);
    let one = &found["passages"][0];
    let text = one["text"].as_str().unwrap_or_default().to_owned();
    (text, one["words_rank"].is_number(), one["meaning_rank"].is_number())
}

#[test]
fn search_by_meaning_survives_kills_and_an_unavailable_embedder() {
    let model = ScriptedModel::start(|asked| match asked.results().pop() {
        None => Reply::Call(vec![("knowledge_search", json!({"query": "warranty"}))]),
        Some(_) => Reply::Say("done".to_owned()),
    });
    let embedder = ScriptedEmbedder::start(TOPICS);
    let options: Vec<String> = model.options("openai").into_iter().map(str::to_owned).collect();
    let options: Vec<&str> =
        ["--docker", "off"].into_iter().chain(options.iter().map(String::as_str)).collect();
    let mut server = Server::start_with(&options);
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let folder = tempfile::tempdir().unwrap();
    run(&alice, &["create", "manuals"]);
    let kettle = put(folder.path(), "kettle.md", "The guarantee lasts two years.\n");
    run(&alice, &["add", "manuals", &kettle, "--wait"]);
    // The built-in embedder lacks its file here: passages are found by words, and a note gives the reason.
    assert!(run(&alice, &["search", "guarantee"]).contains("this server has no embedder installed"));
    eventually("the collection says so", PATIENCE, || {
        run(&alice, &["show", "manuals"]).contains("note: found by words only").then_some(())
    });
    let added = alice.run(&[
        "model",
        "add",
        "mine",
        "--provider",
        "openai",
        "--base-url",
        embedder.url(),
        "--model",
        "m",
    ]);
    assert_eq!(added.code, 0, "{added:?}");
    // The server is killed before and after the vectors are stored; each time, embedding resumes.
    for (point, name) in [("index_before_vectors", "one"), ("index_after_vectors", "two")] {
        let set = alice.run(&["server", "settings", "--embedder", "none"]);
        assert_eq!(set.code, 0, "{set:?}");
        server.restart_with(&options, &[("SANDBRIDGE_FAULT", point)]);
        let set = alice.run(&["server", "settings", "--embedder", &format!("mine/{name}")]);
        assert_eq!(set.code, 0, "{set:?}");
        server.wait_killed(PATIENCE);
        server.restart_with(&options, &[]);
        eventually("it is found by its meaning", PATIENCE, || {
            (first(&alice, "warranty") == ("The guarantee lasts two years.".to_owned(), false, true))
                .then_some(())
        });
    }
    eventually("no note is left", PATIENCE, || {
        (!run(&alice, &["show", "manuals"]).contains("note:")).then_some(())
    });
    assert!(run(&alice, &["search", "warranty"]).contains("by meaning: rank 1"));
    let answered = alice.run(&["chat", "--new", "--json", "--approval", "plan", "go"]);
    assert_eq!(answered.code, 0, "{answered:?}");
    let told = model.asked().pop().unwrap().results().pop().unwrap();
    assert!(told.contains("(found by meaning alone)") && told.contains("> The guarantee lasts"), "{told}");
    // New content replaces the old content in the search by meaning too.
    put(folder.path(), "kettle.md", "It makes water boil.\n");
    run(&alice, &["add", "manuals", &kettle, "--wait"]);
    eventually("the new text is found", PATIENCE, || {
        (first(&alice, "kettle").0 == "It makes water boil.").then_some(())
    });
    assert_eq!(found(&alice, "warranty").len(), 1, "only another passage is near");
    // Another user finds the document while it is shared.
    assert!(found(&bob, "kettle").is_empty());
    run(&alice, &["share", "manuals", "bob"]);
    assert_eq!(first(&bob, "pot, kettle").0, "It makes water boil.");
    run(&alice, &["unshare", "manuals", "bob"]);
    assert!(found(&bob, "kettle").is_empty());
    // The provider stops answering, and later recovers.
    embedder.set(Mood::Refuses(503, ""));
    let told = run(&alice, &["search", "boil"]);
    assert!(told.contains("does not answer") && told.contains("It makes water boil."), "{told}");
    embedder.set(Mood::Well);
    eventually("it answers again", PATIENCE, || (first(&alice, "kettle").2).then_some(()));
    // The note in Chinese, as a user of the page reads it.
    embedder.set(Mood::Zero);
    let client = Client::login(&server, "alice");
    let body = json!({"query": "boil"}).to_string();
    let headers = [("content-type", "application/json"), ("accept-language", "zh-CN")];
    let notes =
        client.send_with("POST", "/knowledge/search", &headers, body.as_bytes()).json()["notes"].clone();
    assert!(notes[0].as_str().unwrap().contains("仅按关键词搜索"), "{notes}");
    embedder.set(Mood::Well);
    run(&alice, &["delete", "manuals"]);
    assert!(found(&alice, "kettle").is_empty());
}

#[test]
fn memories_are_recalled_by_their_meaning() {
    let model = ScriptedModel::start(|_| Reply::Say("ok".to_owned()));
    let embedder = ScriptedEmbedder::start(TOPICS);
    let server = Server::start_with(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let ran = |person: &tests::Person, arguments: &[&str]| {
        let output = person.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}: {output:?}");
        output.stdout
    };
    ran(
        &alice,
        &["model", "add", "mine", "--provider", "openai", "--base-url", embedder.url(), "--model", "m"],
    );
    ran(&alice, &["server", "settings", "--embedder", "mine/m"]);
    for text in ["Alice prefers tabs", "Mochi is her cat", "Lives in Lisbon", "Works on trains", "Drinks tea"]
    {
        ran(&alice, &["memory", "add", text]);
    }
    ran(&bob, &["memory", "add", "Bob prefers tabs, too"]);
    eventually("they are found by their meaning", PATIENCE, || {
        ran(&alice, &["memory", "search", "pet"]).contains("Mochi").then_some(())
    });
    ran(&alice, &["chat", "--new", "--approval", "plan", "How wide shall I indent?"]);
    let asked = model.asked().into_iter().rev().find(|asked| asked.raw.contains("How wide shall")).unwrap();
    assert!(asked.raw.contains("found by its meaning"), "{}", asked.raw);
    assert!(asked.raw.contains("Alice prefers tabs") && !asked.raw.contains("Mochi"), "{}", asked.raw);
    assert!(!asked.raw.contains("Bob prefers"));
    ran(&alice, &["chat", "--new", "--approval", "plan", "Explain quicksort"]);
    let asked = model.asked().into_iter().rev().find(|asked| asked.raw.contains("quicksort")).unwrap();
    assert!(!asked.raw.contains("found by its meaning"), "{}", asked.raw);
}
