//! Knowledge at full size: searching 100,000 passages during turns, indexing, the memory of the built-in embedder, and a large folder.
//!
//! `SANDBRIDGE_BENCH_PASSAGES` and `SANDBRIDGE_BENCH_FILES` make a shorter run with fewer passages and files.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use search::tokens;
use search::vectors::Vector;
use serde_json::json;
use store::{NewPage, NewPassage, Published, Store};
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedEmbedder, ScriptedModel, Server, eventually, process};

use crate::samples::{Row, Samples, shown};

/// The number of passages, and of files in a folder.
const PASSAGES: usize = 100_000;
const FILES: usize = 10_000;
/// The number of passages in a generated document.
const PER_DOCUMENT: usize = 500;
/// The number of words in a passage, and of words in the vocabulary.
const WORDS: usize = 60;
const VOCABULARY: u32 = 20_000;
/// The users whose turns run during the searches, of whom each can have at most four turns at once; the number of turns; and the length of each
/// answer in bytes.
const USERS: [&str; 4] = ["alice", "bob", "carol", "dave"];
const TURNS: usize = 16;
const ANSWER_BYTES: usize = 20_000;
/// The number of measured searches.
const SEARCHES: usize = 200;
/// The number of documents that are indexed, and the size of each, in bytes.
const DOCUMENTS: usize = 8;
const DOCUMENT_BYTES: usize = 1024 * 1024;
/// The timeout for each part.
const PATIENCE: Duration = Duration::from_secs(1800);
/// The limit on one search.
const SEARCH_LIMIT: Duration = Duration::from_millis(80);
/// The name under which vectors of the built-in embedder are stored.
const MODEL: &str = "built-in/multilingual-e5-small-q4";

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = searched();
    rows.push(indexed());
    rows.push(folder());
    rows
}

fn size(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Pseudorandom numbers that are the same in each run.
struct Numbers(u32);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }

    /// Creates a text in which the first words of the vocabulary are more frequent.
    fn text(&mut self, words: usize) -> String {
        let mut word = || {
            let (one, other) = (self.next() % VOCABULARY, self.next() % VOCABULARY);
            format!("w{}", one.min(other))
        };
        (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
    }

    fn vector(&mut self) -> Vector {
        let mut number = || self.next() as f32 / 16_777_216.0 - 0.5;
        Vector::new(&std::array::from_fn::<f32, { e5::limits::DIMENSIONS }, _>(|_| number()))
            .expect("numbers")
    }
}

/// Writes passages and vectors directly into the database of a server that is not running.
async fn fill(file: &std::path::Path, passages: usize) {
    let store = Store::open(file).await.unwrap();
    let owner = store.users().await.unwrap().remove(0).id;
    let collection = store.add_collection(owner, "generated", None).await.unwrap();
    let model = store.embedding_model(MODEL, e5::limits::DIMENSIONS as i64, "built-in").await.unwrap().id;
    let mut numbers = Numbers(1);
    for document in 0..passages.div_ceil(PER_DOCUMENT) {
        let job = store.begin_upload(owner, collection).await.unwrap();
        store.add_upload_part(job, 0, b"generated").await.unwrap();
        store.finish_upload(owner, collection, job, &format!("{document}.txt"), 9).await.unwrap();
        let lane = store.index_lanes().await.unwrap().remove(0);
        let job = store.next_index_job(&lane).await.unwrap().unwrap();
        let mut text = String::new();
        let mut page = NewPage { page: 1, title: String::new(), text: String::new(), passages: Vec::new() };
        for _ in 0..PER_DOCUMENT {
            let passage = numbers.text(WORDS);
            let words = tokens::document(&passage);
            let start = text.len() as i64;
            text.push_str(&passage);
            let end = text.len() as i64;
            text.push('\n');
            let (headings, words, others) = (String::new(), words.words(), words.others());
            page.passages.push(NewPassage { start, end, headings, words, others });
        }
        page.text = text;
        store.add_pages(&job, &[page]).await.unwrap();
        let published = Published {
            kind: "text",
            pages: 1,
            sha256: "generated",
            size_bytes: 9,
            modified_ms: 0,
            note: "",
        };
        store.publish(&job, &published).await.unwrap();
    }
    let mut after = (store::DocumentId(0), store::ChunkId(0));
    loop {
        let bare = store.bare_passages(model, collection, after, 1000).await.unwrap();
        let Some(last) = bare.last() else { break };
        after = last.place();
        let vectors: Vec<_> = bare
            .iter()
            .map(|one| store::PassageVector {
                id: one.id,
                document_id: one.document_id,
                version: one.version,
                vector: numbers.vector().bytes(),
            })
            .collect();
        store.add_vectors(model, &vectors).await.unwrap();
    }
    store.complete_embedding_model(model).await.unwrap();
    store.close().await;
}

/// Measures the searches, and the memory of the server before the first one and after the last one.
fn searched() -> Vec<Row> {
    let passages = size("SANDBRIDGE_BENCH_PASSAGES", PASSAGES);
    let weights = std::env::var("SANDBRIDGE_E5_WEIGHTS").expect("scripts/bench names the weights");
    let habits = Habits { remembers: false, counts: false, pauses: true };
    let model = ScriptedModel::start_with(habits, |_| Reply::Say("word ".repeat(ANSWER_BYTES / 5)));
    let with = [&["--docker", "off", "--embedder-weights", &weights], &model.options("openai")[..]].concat();
    let without = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let mut server = Server::start_in_a_file(&without);
    let people = USERS.map(|name| server.person(name));
    let alice = &people[0];
    server.kill();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(fill(&server.home().join("sandbridge.db"), passages));
    let question = |numbers: &mut Numbers| json!({"query": numbers.text(4)}).to_string();
    let mut numbers = Numbers(7);
    let mut used_kib = |server: &Server| {
        let client = Client::login(server, &alice.name);
        let before = process::resident_kib(server.pid());
        for _ in 0..10 {
            let found = client.send("POST", "/knowledge/search", question(&mut numbers).as_bytes());
            assert_eq!(found.status, 200);
        }
        process::resident_kib(server.pid()).saturating_sub(before)
    };
    server.restart(&without);
    let by_words = used_kib(&server);
    server.restart(&with);
    let by_meaning = used_kib(&server);
    let stop = AtomicBool::new(false);
    let samples = thread::scope(|scope| {
        for person in people.iter().cycle().take(TURNS) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let ran = person.run(&["chat", "--new", "--json", "--approval", "plan", "go"]);
                    assert_eq!(ran.code, 0, "{ran:?}");
                }
            });
        }
        let client = Client::login(&server, &alice.name);
        let mut samples = Vec::new();
        for _ in 0..SEARCHES {
            let begun = Instant::now();
            let found = client.send("POST", "/knowledge/search", question(&mut numbers).as_bytes()).json();
            samples.push(begun.elapsed());
            let ranks = found["passages"].as_array().unwrap().iter();
            assert!(ranks.clone().any(|one| one["meaning_rank"].is_number()), "{}", found["notes"]);
        }
        stop.store(true, Ordering::Relaxed);
        samples
    });
    let p95 = {
        let mut sorted = samples.clone();
        sorted.sort_unstable();
        sorted[sorted.len() * 95 / 100]
    };
    let searches = Row {
        against: format!("80 ms at p95: {}", shown(p95)),
        ratio: format!("{:.2} ×", p95.as_secs_f64() / SEARCH_LIMIT.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
        ..Samples::new(samples)
            .row(&format!("search of {passages} passages by words and meaning, beside {TURNS} turns"))
    };
    let mib = |kib: u64| format!("{:.0} MiB", kib as f64 / 1024.0);
    let memory = Row {
        p50: mib(by_meaning),
        against: format!("by words alone: {}", mib(by_words)),
        target: "≤ 120 MiB more".to_owned(),
        ..empty("server, after 10 searches of them with the built-in embedder, more than before")
    };
    vec![searches, memory]
}

/// Measures the time from the first byte of text until all of it is found by its words.
fn indexed() -> Row {
    let server = Server::start_in_a_file(&["--docker", "off"]);
    let alice = server.person("alice");
    let client = Client::login(&server, &alice.name);
    let made = client.send("POST", "/knowledge/collections", br#"{"name": "texts"}"#);
    assert_eq!(made.status, 201);
    let mut numbers = Numbers(3);
    let mut texts = Vec::new();
    for _ in 0..DOCUMENTS {
        let mut text = String::new();
        while text.len() < DOCUMENT_BYTES {
            text.push_str(&numbers.text(WORDS));
            text.push_str(".\n\n");
        }
        texts.push(text);
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    let begun = Instant::now();
    for (at, text) in texts.iter().enumerate() {
        let path = format!("/knowledge/collections/texts/documents?name={at}.txt");
        assert_eq!(client.send("POST", &path, text.as_bytes()).status, 202);
    }
    eventually("everything is indexed", PATIENCE, || {
        let collection = client.call("GET", "/knowledge/collections/texts").json();
        assert_eq!(collection["failed"], 0, "{collection}");
        (collection["waiting"] == 0).then_some(())
    });
    let rate = bytes as f64 / 1e6 / begun.elapsed().as_secs_f64();
    Row {
        p50: format!("{rate:.1} MB/s"),
        target: "≥ 5 MB/s".to_owned(),
        ..empty("indexing of text, until it is found by its words")
    }
}

/// Changes one file of a folder, and measures the time from the request to sync it until the change is found by words and meaning. The embedder is
/// scripted, so that only the server's own work counts.
fn folder() -> Row {
    let files = size("SANDBRIDGE_BENCH_FILES", FILES);
    let embedder = ScriptedEmbedder::start(&[&["zzchangedzz"]]);
    let model = ScriptedModel::start(|_| Reply::Say("ok".to_owned()));
    let server = Server::start_in_a_file(&[&["--docker", "off"], &model.options("openai")[..]].concat());
    let alice = server.person("alice");
    let added =
        ["model", "add", "mine", "--provider", "openai", "--base-url", embedder.url(), "--model", "m"];
    for arguments in [&added[..], &["server", "settings", "--embedder", "mine/m"]] {
        let ran = alice.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let machine = Machine::start(&server, &alice, "laptop");
    let folder = machine.workspace().join("docs");
    let mut numbers = Numbers(5);
    for at in 0..files {
        let directory = folder.join(format!("{}", at / 100));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("{at}.md")), format!("# File {at}\n\n{}\n", numbers.text(WORDS)))
            .unwrap();
    }
    let client = Client::login(&server, &alice.name);
    let draft = json!({"name": "docs", "place": "laptop", "path": "docs"}).to_string();
    let begun = Instant::now();
    assert_eq!(client.send("POST", "/knowledge/collections", draft.as_bytes()).status, 201);
    let state = || client.call("GET", "/knowledge/collections/docs").json();
    eventually("the folder is indexed", PATIENCE, || {
        let now = state();
        (now["sync_state"] == "synced" && now["waiting"] == 0 && now["documents"] == files).then_some(())
    });
    eventually("all have vectors", PATIENCE, || (embedder.texts().len() >= files).then_some(()));
    let first = begun.elapsed();
    let known = embedder.texts().len();
    let changed = folder.join("0/0.md");
    fs::write(&changed, "# File 0\n\nzzchangedzz\n").unwrap();
    let begun = Instant::now();
    assert_eq!(client.send("POST", "/knowledge/collections/docs/sync", b"{}").status, 202);
    let meant = |one: &serde_json::Value| {
        one["meaning_rank"].is_number()
            && one["text"].as_str().is_some_and(|text| text.contains("zzchangedzz"))
    };
    eventually("the change is found, by its meaning too", PATIENCE, || {
        let found = client.send("POST", "/knowledge/search", br#"{"query": "zzchangedzz"}"#).json();
        found["passages"].as_array().is_some_and(|passages| passages.iter().any(meant)).then_some(())
    });
    let took = begun.elapsed();
    assert_eq!(state()["documents"], files);
    let embedded = embedder.texts().split_off(known).into_iter().filter(|text| text.contains("File"));
    assert_eq!(embedded.count(), 1, "only the changed file is embedded");
    Row {
        p50: shown(took),
        against: format!("3 s; all of them the first time: {:.0} s", first.as_secs_f64()),
        ratio: format!("{:.2} ×", took.as_secs_f64() / 3.0),
        target: "≤ 1.0 ×".to_owned(),
        ..empty(&format!("a folder of {files} files with one changed, until that is found"))
    }
}

fn empty(what: &str) -> Row {
    let none = String::new;
    Row {
        what: what.to_owned(),
        min: none(),
        p50: none(),
        p99: none(),
        against: none(),
        ratio: none(),
        target: none(),
    }
}
