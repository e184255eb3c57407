//! Knowledge on both databases: access, publishing of versions, and the rows left after a kill or a deletion.

mod upkeep;

use super::*;
use crate::{CollectionId, DocumentId, Name, Store, UserId, testing};

async fn user(store: &Store, name: &str) -> UserId {
    store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id
}

fn words(text: &str) -> WordsQuery {
    let words: Vec<_> = text.split(' ').collect();
    let fts5 = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
    WordsQuery { fts5, tsqueries: words.iter().map(|word| format!("'{word}' | '={word}'")).collect() }
}

fn page(text: &str) -> NewPage {
    let end = text.len() as i64;
    let (headings, others) = (String::new(), String::new());
    let passage = NewPassage { start: 0, end, headings, words: text.to_lowercase(), others };
    NewPage { page: 1, title: String::new(), text: text.to_owned(), passages: vec![passage] }
}

async fn upload(
    store: &Store,
    owner: UserId,
    collection: CollectionId,
    name: &str,
    text: &str,
) -> DocumentId {
    let job = store.begin_upload(owner, collection).await.unwrap();
    store.add_upload_part(job, 0, text.as_bytes()).await.unwrap();
    store.finish_upload(owner, collection, job, name, text.len() as i64).await.unwrap()
}

/// The first job in any lane.
async fn next(store: &Store) -> Option<IndexJob> {
    let lane = store.index_lanes().await.unwrap().into_iter().next()?;
    store.next_index_job(&lane).await.unwrap()
}

/// Pairs every passage that has no vector with this vector.
async fn bare(store: &Store, model: i64, vector: &[u8]) -> Vec<PassageVector> {
    let mut ids = Vec::new();
    for (_, collection) in store.all_collections().await.unwrap() {
        let start = (DocumentId(0), crate::ChunkId(0));
        let bare = store.bare_passages(model, collection, start, 100).await.unwrap();
        assert_eq!(store.bare_passage_count(model, collection).await.unwrap(), bare.len() as i64);
        ids.extend(bare.into_iter().map(|one| PassageVector {
            id: one.id,
            document_id: one.document_id,
            version: one.version,
            vector: vector.to_vec(),
        }));
    }
    ids
}

async fn index(store: &Store) -> IndexJob {
    let job = next(store).await.unwrap();
    let content = store.upload_part(job.id, 0).await.unwrap().unwrap();
    let text = String::from_utf8(content).unwrap();
    assert!(store.add_pages(&job, &[page(&text)]).await.unwrap());
    job
}

fn published(sha256: &str) -> Published<'_> {
    Published { kind: "text", pages: 1, sha256, size_bytes: 1, modified_ms: 0, note: "" }
}

async fn found(store: &Store, user: UserId, text: &str) -> Vec<String> {
    let ranked = store.search_passages(user, &SearchScope::All, &words(text), 20).await.unwrap();
    let mut texts = Vec::new();
    for hit in ranked {
        texts.push(store.passage(user, hit.id).await.unwrap().unwrap().text().to_owned());
    }
    texts
}

/// A collection with one indexed document.
async fn filled(store: &Store, owner: UserId, name: &str, text: &str) -> (CollectionId, DocumentId) {
    let collection = store.add_collection(owner, name, None).await.unwrap();
    let document = upload(store, owner, collection, "a.txt", text).await;
    let job = index(store).await;
    assert!(store.publish(&job, &published("h")).await.unwrap());
    (collection, document)
}

async fn who_may_see_what(store: Store) {
    let owner = user(&store, "owner").await;
    let named = user(&store, "named").await;
    let other = user(&store, "other").await;
    let admin = store.add_user(&Name::parse("admin").unwrap(), "correct horse", true).await.unwrap().id;
    let mut cases = 0;
    for (how, seers) in
        [("private", vec![owner]), ("shared", vec![owner, named]), ("all", vec![owner, named, other, admin])]
    {
        for who in [owner, named, other, admin] {
            let (collection, document) = filled(&store, owner, &format!("{how} {who}"), "needle").await;
            if how == "shared" {
                store.share_collection(owner, collection, Sharing::User(named), true).await.unwrap();
            } else if how == "all" {
                store.share_collection(owner, collection, Sharing::All, true).await.unwrap();
            }
            let may = seers.contains(&who);
            let scope = SearchScope::Collections(vec![collection]);
            // Reading.
            assert_eq!(store.document(who, document).await.is_ok(), may, "{who} reads {how}");
            assert_eq!(store.collection(who, collection).await.is_ok(), may);
            assert_eq!(store.documents(who, collection, "", 10).await.unwrap().len(), usize::from(may));
            // Searching.
            let hits = store.search_passages(who, &scope, &words("needle"), 20).await.unwrap();
            assert_eq!(hits.len(), usize::from(may), "{who} searches {how}");
            // Opening a citation.
            let pages = store.document_pages(who, document, 1, 1).await.unwrap();
            assert_eq!(pages.len(), usize::from(may), "{who} cites {how}");
            let hit = store.search_passages(owner, &scope, &words("needle"), 20).await.unwrap()[0];
            assert_eq!(store.passage(who, hit.id).await.unwrap().is_some(), may);
            // Changing.
            let is_own = who == owner;
            let shared = store.share_collection(who, collection, Sharing::All, true).await;
            assert_eq!(shared.is_ok(), is_own);
            assert_eq!(store.begin_upload(who, collection).await.is_ok(), is_own);
            assert_eq!(store.remove_documents(who, collection, &[document]).await.is_ok(), is_own);
            assert_eq!(
                store.remove_collection(who, collection).await.unwrap(),
                is_own,
                "{who} deletes {how}"
            );
            let _ = store.remove_collection(owner, collection).await.unwrap();
            cases += 4;
        }
    }
    assert_eq!(cases, 48);
    let (collection, _) = filled(&store, owner, "taken back", "needle").await;
    for with in [Sharing::User(named), Sharing::All] {
        store.share_collection(owner, collection, with, true).await.unwrap();
        assert_eq!(found(&store, named, "needle").await, ["needle"]);
        store.share_collection(owner, collection, with, false).await.unwrap();
        assert!(found(&store, named, "needle").await.is_empty(), "access ends at once");
    }
    store.share_collection(owner, collection, Sharing::User(named), true).await.unwrap();
    assert_eq!(store.collection_readers(owner, collection).await.unwrap(), ["named"]);
    assert!(store.collection_readers(named, collection).await.is_err());
}

#[tokio::test]
async fn access_is_right_in_forty_eight_cases() {
    who_may_see_what(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_access_is_right_in_forty_eight_cases() {
    who_may_see_what(testing::empty_on_postgres().await).await;
}

async fn versions(store: Store) {
    let ada = user(&store, "ada").await;
    let (collection, document) = filled(&store, ada, "notes", "the old text").await;
    upload(&store, ada, collection, "a.txt", "the new text").await;
    let job = index(&store).await;
    assert_eq!(
        found(&store, ada, "old new").await,
        ["the old text"],
        "searches find the old version until the new one is complete"
    );
    assert!(store.publish(&job, &published("h2")).await.unwrap());
    assert_eq!(found(&store, ada, "old new").await, ["the new text"]);
    store.sweep_versions(ada, document).await.unwrap();
    assert!(!store.publish(&job, &published("h2")).await.unwrap(), "a job ends once");
    // The state after a kill halfway: some rows of the third version exist, and its job.
    upload(&store, ada, collection, "a.txt", "a third text").await;
    let half = index(&store).await;
    store.begin_upload(ada, collection).await.unwrap();
    store.recover_index(None).await.unwrap();
    assert_eq!(found(&store, ada, "new third").await, ["the new text"]);
    let again = index(&store).await;
    assert_eq!((again.id, again.attempts), (half.id, 2));
    // An attempt that failed through no fault of the document.
    for _ in 0..2 {
        store.forgive_attempts(ada, half.id).await.unwrap();
        let lane = &store.index_lanes().await.unwrap()[0];
        assert_eq!(store.next_index_job(lane).await.unwrap().unwrap().attempts, 2);
    }
    assert!(store.publish(&again, &published("h3")).await.unwrap());
    assert_eq!(found(&store, ada, "new third").await, ["a third text"], "neither lost nor doubled");
    assert_eq!(next(&store).await, None, "an upload that did not arrive in full is removed");
    // Newer content replaces waiting content, and a job that is running at the time ends without effect.
    upload(&store, ada, collection, "a.txt", "fourth").await;
    let fourth = index(&store).await;
    upload(&store, ada, collection, "a.txt", "fifth").await;
    assert!(!store.add_pages(&fourth, &[page("more")]).await.unwrap());
    assert!(!store.publish(&fourth, &published("h4")).await.unwrap());
    let fifth = index(&store).await;
    store.fail_job(&fifth, "it is broken", None).await.unwrap();
    let now = store.document(ada, document).await.unwrap();
    assert_eq!((now.state.as_str(), now.note.as_str()), ("failed", "it is broken"));
    store.sweep_versions(ada, document).await.unwrap();
    assert_eq!(found(&store, ada, "third fourth fifth").await, ["a third text"]);
    // The document is removed while it is indexed.
    upload(&store, ada, collection, "a.txt", "sixth").await;
    let sixth = index(&store).await;
    store.remove_documents(ada, collection, &[document]).await.unwrap();
    assert!(!store.publish(&sixth, &published("h6")).await.unwrap());
    assert!(found(&store, ada, "third sixth").await.is_empty());
}

#[tokio::test]
async fn a_version_is_published_completely_and_survives_a_kill() {
    versions(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_a_version_is_published_completely_and_survives_a_kill() {
    versions(testing::empty_on_postgres().await).await;
}

async fn ranks(store: Store) {
    let ada = user(&store, "ada").await;
    let collection = store.add_collection(ada, "notes", None).await.unwrap();
    for (name, text) in [
        ("a", "the door is the red one of the house"),
        ("b", "the house is the one by the lake"),
        (
            "c",
            "a long text about the garden and the trees and the door and the windows and the roof and the paint",
        ),
        ("d", "nothing of the kind"),
    ] {
        upload(&store, ada, collection, name, text).await;
        let job = index(&store).await;
        store.publish(&job, &published(name)).await.unwrap();
    }
    let hits = found(&store, ada, "the door red").await;
    assert!(
        hits[0].contains("red") && hits.last().unwrap() == "the house is the one by the lake"
            || hits.len() == 4,
        "{hits:?}"
    );
    assert!(hits[0].contains("red") && hits[1].contains("garden"), "rare words count more: {hits:?}");
    let nowhere = SearchScope::Collections(vec![CollectionId(collection.0 + 1)]);
    assert!(store.search_passages(ada, &nowhere, &words("door"), 5).await.unwrap().is_empty());
    // The vectors of each model are separate.
    let model = store.embedding_model("m1", 2, "built-in").await.unwrap();
    assert_eq!(store.embedding_model("m1", 2, "built-in").await.unwrap(), model);
    let vectors = bare(&store, model.id, &[1, 2]).await;
    assert_eq!(vectors.len(), 4);
    store.add_vectors(model.id, &vectors[..3]).await.unwrap();
    let start = (DocumentId(0), crate::ChunkId(0));
    let stored = store.collection_vectors(model.id, collection, start).await.unwrap();
    assert_eq!(stored, vectors[..3]);
    let after = (stored[1].document_id, stored[1].id);
    assert_eq!(store.collection_vectors(model.id, collection, after).await.unwrap(), stored[2..]);
    let left = store.bare_passages(model.id, collection, start, 10).await.unwrap();
    assert!(left.len() == 1 && left[0].id == vectors[3].id && left[0].text() == left[0].page_text);
    assert!(store.bare_passages(model.id, collection, left[0].place(), 10).await.unwrap().is_empty());
    let eve = user(&store, "eve").await;
    let all = SearchScope::All;
    assert_eq!(store.searched_collections(ada, &all).await.unwrap(), [collection]);
    assert!(store.searched_collections(ada, &nowhere).await.unwrap().is_empty());
    assert!(store.searched_collections(eve, &all).await.unwrap().is_empty());
    // The vectors of another model are built alongside, and then replace those of the first model.
    let other = store.embedding_model("m2", 3, "mine/m2 of user 1").await.unwrap();
    assert_eq!(bare(&store, other.id, &[]).await.len(), 4);
    assert_eq!(store.embedding_models().await.unwrap(), [model.clone(), other.clone()]);
    store.complete_embedding_model(other.id).await.unwrap();
    let left = store.embedding_models().await.unwrap();
    assert!(left.len() == 1 && left[0].is_complete && left[0].id == other.id);
    assert!(store.collection_vectors(model.id, collection, start).await.unwrap().is_empty());
    // Vectors of a removed model are not stored.
    store.add_vectors(model.id, &vectors).await.unwrap();
    // The owner is removed, with all of their data.
    store.remove_user("ada").await.unwrap();
    assert!(bare(&store, other.id, &[]).await.is_empty());
}

async fn takes_turns(store: Store) {
    let (ada, eve) = (user(&store, "ada").await, user(&store, "eve").await);
    let folder = store.add_collection(ada, "code", Some(("laptop", "src"))).await.unwrap();
    let file = |at: i64| FileSeen { name: format!("{at}.rs"), size_bytes: 3, modified_ms: 5 };
    store.queue_files(ada, folder, &(0..5).map(file).collect::<Vec<_>>()).await.unwrap();
    for owner in [ada, eve] {
        let uploads = store.add_collection(owner, "uploads", None).await.unwrap();
        upload(&store, owner, uploads, "a.txt", "a").await;
        upload(&store, owner, uploads, "b.txt", "b").await;
    }
    let lane = |user_id, place: &str| Lane { user_id, place: place.to_owned() };
    let lanes = store.index_lanes().await.unwrap();
    assert_eq!(lanes, [lane(ada, ""), lane(ada, "laptop"), lane(eve, "")]);
    let names = ["a.txt", "0.rs", "a.txt"];
    for (lane, name) in lanes.iter().zip(names) {
        assert_eq!(store.next_index_job(lane).await.unwrap().unwrap().name, name);
    }
    assert_eq!(store.next_index_job(&lane(eve, "laptop")).await.unwrap(), None);
    assert_eq!(store.index_queue(eve).await.unwrap(), IndexQueue { waiting: 2, ahead: 2 });
    assert_eq!(store.index_queue(ada).await.unwrap(), IndexQueue { waiting: 7, ahead: 2 });
}

#[tokio::test]
async fn each_lane_has_its_own_next_job() {
    takes_turns(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_each_lane_has_its_own_next_job() {
    takes_turns(testing::empty_on_postgres().await).await;
}

async fn memories(store: Store) {
    let ada = user(&store, "ada").await;
    let new = |text| crate::NewMemory {
        kind: crate::MemoryKind::Semantic,
        scope: crate::MemoryScope::User,
        scope_name: "",
        name: "",
        text,
        source: crate::MemorySource::Person,
        chat: None,
        message: None,
        is_proposed: false,
        replaces: None,
        supersedes: &[],
        valid_to_ms: None,
    };
    let first = store.add_memory(ada, &new("likes tea")).await.unwrap();
    let second = store.add_memory(ada, &new("has a cat")).await.unwrap();
    let core = crate::NewMemory { kind: crate::MemoryKind::Core, name: "user", ..new("Ada") };
    store.add_memory(ada, &core).await.unwrap();
    let model = store.embedding_model("m", 2, "built-in").await.unwrap().id;
    let bare = store.bare_memories(model, 0, 10).await.unwrap();
    assert_eq!(bare.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["likes tea", "has a cat"]);
    assert_eq!(store.bare_memories(model, first.id, 10).await.unwrap().len(), 1);
    let vectors = [(first.id, 1, vec![1, 2]), (second.id, 1, vec![3, 4])];
    store.add_memory_vectors(model, &vectors).await.unwrap();
    assert_eq!(
        store.memory_vectors(ada.into(), model).await.unwrap(),
        [(first.id, vec![1, 2]), (second.id, vec![3, 4])]
    );
    // A vector of an earlier text does not count, nor does one that is stored too late.
    let change =
        crate::MemoryChange { name: None, text: Some("likes coffee"), valid_to_ms: None, by: first.source };
    store.change_memory(ada, first.id, &change).await.unwrap();
    store.add_memory_vectors(model, &vectors).await.unwrap();
    assert_eq!(store.memory_vectors(ada.into(), model).await.unwrap(), [(second.id, vec![3, 4])]);
    assert_eq!(store.bare_memories(model, 0, 10).await.unwrap()[0].revision, 2);
    store.forget_memories(ada, &[second.id]).await.unwrap();
    assert!(store.memory_vectors(ada.into(), model).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_vector_of_a_memory_is_that_of_its_present_text() {
    memories(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_the_vector_of_a_memory_is_that_of_its_present_text() {
    memories(testing::empty_on_postgres().await).await;
}

#[tokio::test]
async fn passages_are_ranked_and_vectors_belong_to_their_model() {
    ranks(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_passages_are_ranked_and_vectors_belong_to_their_model() {
    ranks(testing::empty_on_postgres().await).await;
}

async fn folders(store: Store) {
    let ada = user(&store, "ada").await;
    let folder = store.add_collection(ada, "code", Some(("laptop", "src"))).await.unwrap();
    assert!(store.begin_upload(ada, folder).await.is_err());
    let uploads = store.add_collection(ada, "uploads", None).await.unwrap();
    assert!(store.queue_sync(ada, uploads, false).await.is_err());
    store.queue_sync(ada, folder, false).await.unwrap();
    store.queue_sync(ada, folder, true).await.unwrap();
    let sync = next(&store).await.unwrap();
    assert!(sync.accepts_missing && sync.document_id.is_none());
    let file = |name: &str| FileSeen { name: name.to_owned(), size_bytes: 3, modified_ms: 5 };
    store.queue_files(ada, folder, &[file("a.rs"), file("b.rs")]).await.unwrap();
    store.drop_job(sync.id).await.unwrap();
    store.set_collection_sync(folder, SyncState::Synced, "").await.unwrap();
    let first = next(&store).await.unwrap();
    assert_eq!((first.name.as_str(), first.place.as_str(), first.path.as_str()), ("a.rs", "laptop", "src"));
    store.keep_version(&first, 3, 6).await.unwrap();
    let second = next(&store).await.unwrap();
    store.fail_job(&second, "no text", Some((4, 7))).await.unwrap();
    assert_eq!(next(&store).await, None);
    let documents = store.documents(ada, folder, "", 10).await.unwrap();
    let seen: Vec<_> =
        documents.iter().map(|one| (one.state.as_str(), one.size_bytes, one.modified_ms)).collect();
    assert_eq!(seen, [("ready", 3, 6), ("failed", 4, 7)]);
    let collection = store.collection(ada, folder).await.unwrap();
    assert_eq!((collection.documents, collection.failed, collection.sync_state.as_str()), (2, 1, "synced"));
    assert_eq!(store.folder_collections().await.unwrap(), [(ada, folder)]);
    assert_eq!(store.index_queue(ada).await.unwrap(), IndexQueue { waiting: 0, ahead: 0 });
    for bad in ["", " ", "two\nlines"] {
        assert!(store.add_collection(ada, bad, None).await.is_err());
    }
    assert!(matches!(store.add_collection(ada, "code", None).await, Err(crate::Error::Taken { .. })));
}

#[tokio::test]
async fn changed_files_of_a_folder_are_queued() {
    folders(testing::empty().await).await;
}

#[tokio::test]
async fn on_postgres_changed_files_of_a_folder_are_queued() {
    folders(testing::empty_on_postgres().await).await;
}

#[tokio::test]
async fn a_deleted_document_leaves_no_trace_in_the_file() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let store = Store::open(&path).await.unwrap();
    let ada = user(&store, "ada").await;
    let secret = "xyzzyplugh";
    let holds = |what: &str| {
        let files = std::fs::read_dir(home.path())
            .unwrap()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
        let mut files =
            files.filter(|bytes| bytes.windows(what.len()).any(|window| window == what.as_bytes()));
        files.next().is_some()
    };
    let mut documents = Vec::new();
    let collection = store.add_collection(ada, "notes", None).await.unwrap();
    for at in 0..40 {
        let text = format!("{secret} number{at} {}", "filler ".repeat(at * 20));
        documents.push(upload(&store, ada, collection, &format!("{secret}-{at}.txt"), &text).await);
        let job = index(&store).await;
        store.publish(&job, &published("h")).await.unwrap();
    }
    let model = store.embedding_model("m", 10, "built-in").await.unwrap();
    let vectors = bare(&store, model.id, secret.as_bytes()).await;
    store.add_vectors(model.id, &vectors).await.unwrap();
    store.forget_deleted().await.unwrap();
    assert!(holds(secret));
    store.remove_documents(ada, collection, &documents[..20]).await.unwrap();
    assert_eq!(found(&store, ada, secret).await.len(), 20);
    store.remove_collection(ada, collection).await.unwrap();
    store.forget_deleted().await.unwrap();
    assert!(
        !holds(secret),
        "the file still contains the text, the index or the vectors of a deleted document"
    );
    assert!(!holds("number7") && !holds("filler"));
}
