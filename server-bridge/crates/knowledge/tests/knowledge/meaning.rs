//! Passages get vectors of a scripted embedder over real connections, whatever it answers; and what is found by them, by whom.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use knowledge::Knowledge;
use llm::embed::{Embedder, Embedders, Guarded, Protocol, Rest};
use llm::http::{Connections, Http, Reach};
use llm::retry::Patience;
use store::{CollectionId, DocumentId, Name, NewPage, NewPassage, Published, Sharing, Store, User};
use tests::{Mood, ScriptedEmbedder};
use tokio_util::sync::CancellationToken;

const TOPICS: &[&[&str]] = &[&["guarantee", "warranty", "保修"], &["kettle", "boil"], &["garden", "flower"]];

/// A server's knowledge with a scripted embedder.
struct World {
    store: Store,
    knowledge: Knowledge,
    provider: Arc<ScriptedEmbedder>,
    /// The model that is set; `None` for none.
    model: Arc<Mutex<Option<&'static str>>>,
    running: CancellationToken,
}

impl World {
    async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store = Store::open_in_memory().await.unwrap();
        let provider = Arc::new(ScriptedEmbedder::start(TOPICS));
        let model = Arc::new(Mutex::new(Some("m")));
        let knowledge = Knowledge::new(
            store.clone(),
            extract::Extractor::default(),
            Arc::new(|_, _| Box::pin(async { Err("there are no machines".to_owned()) })),
            embedders(&provider, &model),
        );
        Self { store, knowledge, provider, model, running: CancellationToken::new() }
    }

    async fn user(&self, name: &str) -> User {
        self.store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap()
    }

    /// A collection whose documents are these texts, each a passage.
    async fn filled(&self, owner: &User, name: &str, texts: &[String]) -> (CollectionId, Vec<DocumentId>) {
        let collection = self.store.add_collection(owner.id, name, None).await.unwrap();
        let mut documents = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            documents.push(self.add(owner, collection, &format!("{at}.txt"), text).await);
        }
        (collection, documents)
    }

    async fn add(&self, owner: &User, collection: CollectionId, name: &str, text: &str) -> DocumentId {
        let job = self.store.begin_upload(owner.id, collection).await.unwrap();
        let size = text.len() as i64;
        self.store.add_upload_part(job, 0, text.as_bytes()).await.unwrap();
        let document = self.store.finish_upload(owner.id, collection, job, name, size).await.unwrap();
        let lane = self.store.index_lanes().await.unwrap().remove(0);
        let job = self.store.next_index_job(&lane).await.unwrap().unwrap();
        let words = search::tokens::document(text);
        let passage = NewPassage {
            start: 0,
            end: size,
            headings: String::new(),
            words: words.words(),
            others: words.others(),
        };
        let page = NewPage { page: 1, title: String::new(), text: text.to_owned(), passages: vec![passage] };
        self.store.add_pages(&job, &[page]).await.unwrap();
        let published =
            Published { kind: "text", pages: 1, sha256: name, size_bytes: size, modified_ms: 0, note: "" };
        self.store.publish(&job, &published).await.unwrap();
        document
    }

    fn run(&self) {
        let (knowledge, running) = (self.knowledge.clone(), self.running.clone());
        tokio::spawn(async move { knowledge.run(running).await });
    }

    /// The texts that are found, each with whether it was found by words and whether by meaning; and the notes.
    async fn found(&self, user: &User, question: &str) -> (Vec<(String, bool, bool)>, Vec<String>) {
        let found = self.knowledge.find(user, question, None, 10).await.unwrap();
        let passages = found.passages.into_iter();
        let told = passages.map(|one| (one.text, one.words_rank.is_some(), one.meaning_rank.is_some()));
        (told.collect(), found.notes)
    }

    async fn note(&self, user: &User, collection: CollectionId) -> String {
        self.knowledge.collection(user, &collection.0.to_string()).await.unwrap().search_note
    }

    /// Waits until a collection's note contains this text, or is empty if the text is.
    async fn noted(&self, user: &User, collection: CollectionId, expected: &str) {
        let wait = async {
            loop {
                let note = self.note(user, collection).await;
                if note.contains(expected) && note.is_empty() == expected.is_empty() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        assert!(waited.is_ok(), "{expected:?} is not {:?}", self.note(user, collection).await);
    }

    /// Waits until every passage of a collection has a vector of the model with this name.
    async fn embedded(&self, collection: CollectionId, model: &str) {
        let wait = async {
            loop {
                let models = self.store.embedding_models().await.unwrap();
                if let Some(found) = models.iter().find(|one| one.name == model)
                    && self.store.bare_passage_count(found.id, collection).await.unwrap() == 0
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(30), wait).await.is_ok(), "{model}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.cancel();
    }
}

fn embedders(provider: &Arc<ScriptedEmbedder>, model: &Arc<Mutex<Option<&'static str>>>) -> Embedders {
    let (provider, model) = (provider.clone(), model.clone());
    let rests: Arc<Mutex<std::collections::HashMap<String, Rest>>> = Arc::default();
    Arc::new(move |earlier: Option<String>| {
        let name = earlier.or_else(|| model.lock().unwrap().map(str::to_owned));
        let embedder = name.map(|name| {
            let http = Http::new(&Connections::default(), Reach::Anywhere, provider.url(), None).unwrap();
            let patience = Patience { attempts: 1, ..Patience::default() };
            let embedder = Embedder::remote(Protocol::OpenAi, http, "p", &name, None).with_patience(patience);
            let rest = rests.lock().unwrap().entry(name.clone()).or_default().clone();
            Guarded::new(embedder, name, rest)
        });
        Box::pin(async move { Ok(embedder) })
    })
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn what_has_the_meaning_of_a_question_is_found_and_only_by_those_who_may() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let manuals =
        texts(&["The guarantee lasts two years.", "The kettle is red.", "Water the plants of the garden."]);
    let (collection, documents) = world.filled(&ada, "manuals", &manuals).await;
    let (other, _) = world.filled(&eve, "mine", &texts(&["My warranty is over."])).await;
    world.run();
    world.embedded(collection, "openai/m@p").await;
    world.embedded(other, "openai/m@p").await;
    world.noted(&ada, collection, "").await;
    let (passages, notes) = world.found(&ada, "保修").await;
    assert_eq!(passages[0], ("The guarantee lasts two years.".to_owned(), false, true));
    assert!(notes.is_empty() && passages.iter().all(|(text, ..)| text != "My warranty is over."));
    let (passages, _) = world.found(&ada, "kettle warranty").await;
    assert!(passages.iter().any(|passage| *passage == ("The kettle is red.".to_owned(), true, true)));
    // Sharing a collection, and no longer sharing it, both take effect with the next question.
    world.store.share_collection(ada.id, collection, Sharing::User(eve.id), true).await.unwrap();
    assert_eq!(world.found(&eve, "保修").await.0.len(), 4);
    world.store.share_collection(ada.id, collection, Sharing::User(eve.id), false).await.unwrap();
    assert_eq!(world.found(&eve, "保修").await.0.len(), 1);
    // A removed document is not found by its meaning either.
    world.knowledge.remove_document(&ada, documents[0].0).await.unwrap();
    let (passages, _) = world.found(&ada, "保修").await;
    assert!(passages.iter().all(|(text, ..)| !text.contains("guarantee")), "{passages:?}");
    world.knowledge.remove_collection(&ada, "manuals").await.unwrap();
    assert!(world.found(&ada, "保修").await.0.is_empty());
    // Empty and very long questions.
    for odd in ["", "  \n", &"保修 ".repeat(20_000), "🫖", "\0"] {
        world.found(&eve, odd).await;
    }
}

#[tokio::test]
async fn a_large_collection_does_not_delay_a_small_one() {
    let world = World::new().await;
    let (ada, eve) = (world.user("ada").await, world.user("eve").await);
    let many: Vec<String> = (0..400).map(|at| format!("Passage {at} of the large one.")).collect();
    world.filled(&ada, "large", &many).await;
    world.filled(&eve, "small", &texts(&["The small one."])).await;
    world.run();
    let at = |texts: &[String]| texts.iter().position(|text| text.contains("The small one"));
    let wait = async {
        while at(&world.provider.texts()).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
    assert!(at(&world.provider.texts()).unwrap() <= 128, "it came after one turn of the large one");
}

#[tokio::test]
async fn whatever_an_embedder_answers_words_are_found_and_a_note_says_so() {
    let moods = [
        (Mood::Refuses(503, ""), "does not answer"),
        (Mood::Refuses(429, "retry-after: 1\r\n"), "does not answer"),
        (Mood::Refuses(401, ""), "cannot be used"),
        (Mood::Refuses(404, ""), "cannot be used"),
        (Mood::Hangs, "does not answer"),
        (Mood::NoNumber, "cannot be used"),
        (Mood::Zero, "cannot be used"),
        (Mood::Fewer, "cannot be used"),
        (Mood::Nonsense, "cannot be used"),
    ];
    for (mood, expected) in moods {
        let world = World::new().await;
        let ada = world.user("ada").await;
        let (collection, _) = world.filled(&ada, "manuals", &texts(&["The guarantee lasts."])).await;
        world.provider.set(mood.clone());
        if mood != Mood::Hangs {
            world.run();
            world.noted(&ada, collection, expected).await;
            let requests = world.provider.requests();
            assert!(requests <= 3, "{mood:?}: it is left alone, not asked {requests} times");
        }
        // Vectors that were made earlier do not help while the question has none.
        let model = world.store.embedding_model("openai/m@p", 67, "m").await.unwrap();
        assert!(model.dimensions == 67);
        let begun = std::time::Instant::now();
        let (passages, notes) = world.found(&ada, "guarantee").await;
        assert_eq!(passages, [("The guarantee lasts.".to_owned(), true, false)], "{mood:?}");
        assert!(notes.len() == 1 && notes[0].contains(expected), "{mood:?}: {notes:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{mood:?}");
    }
}

#[tokio::test]
async fn vectors_of_another_dimension_are_refused_and_those_before_stay() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let (collection, _) = world.filled(&ada, "manuals", &texts(&["The guarantee lasts."])).await;
    world.run();
    world.embedded(collection, "openai/m@p").await;
    assert_eq!(world.found(&ada, "warranty").await.0.len(), 1);
    world.provider.set(Mood::Wider(3));
    let (passages, notes) = world.found(&ada, "warranty").await;
    assert!(passages.is_empty() && notes[0].contains("cannot be used"), "{passages:?} {notes:?}");
    world.provider.set(Mood::Well);
    assert_eq!(world.found(&ada, "warranty").await.0.len(), 1);
}

#[tokio::test]
async fn a_text_that_an_embedder_refuses_keeps_no_other_from_its_vector() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let all = texts(&["The guarantee lasts.", "The zzpoison text.", "The kettle is red."]);
    let (collection, _) = world.filled(&ada, "manuals", &all).await;
    world.provider.set(Mood::ZeroFor("zzpoison"));
    world.run();
    world.noted(&ada, collection, "the server's embedder refuses them: 1").await;
    assert!(world.found(&ada, "warranty").await.0[0].0.contains("guarantee"));
    assert_eq!(world.found(&ada, "zzpoison").await.0[0].0, "The zzpoison text.");
    let model = world.store.embedding_models().await.unwrap().remove(0);
    assert_eq!(world.store.bare_passage_count(model.id, collection).await.unwrap(), 1);
    // It counts as complete: one text does not hold up a change of the model.
    let wait = async {
        while !world.store.embedding_models().await.unwrap()[0].is_complete {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap();
}

#[tokio::test]
async fn another_model_builds_beside_the_one_before_and_then_takes_its_place() {
    let world = World::new().await;
    let ada = world.user("ada").await;
    let all: Vec<String> = (0..70).map(|at| format!("Text {at}: the guarantee lasts.")).collect();
    let (collection, _) = world.filled(&ada, "manuals", &all).await;
    world.run();
    world.embedded(collection, "openai/m@p").await;
    let wait = async |count: usize, name: &str| {
        let wait = async {
            loop {
                let models = world.store.embedding_models().await.unwrap();
                if models.len() == count && models.last().unwrap().name == name && models[0].is_complete {
                    return models;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.expect(name)
    };
    wait(1, "openai/m@p").await;
    // One text is refused until the provider accepts it again, so that the new model is half done for a while.
    *world.model.lock().unwrap() = Some("wide");
    let (passages, _) = world.found(&ada, "warranty").await;
    assert!(passages.iter().all(|(_, _, by_meaning)| *by_meaning), "the one before answers: {passages:?}");
    let models = wait(1, "openai/wide@p").await;
    assert_eq!(models[0].dimensions, 71);
    let (passages, notes) = world.found(&ada, "warranty").await;
    assert!(passages.len() == 10 && notes.is_empty(), "{notes:?}");
    // Without an embedder, search uses words only, and reports no problem.
    *world.model.lock().unwrap() = None;
    let (passages, notes) = world.found(&ada, "warranty").await;
    assert!(passages.is_empty() && notes.is_empty());
}
