//! The full-text index of messages.

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use store::{ChatId, ChatSearch, MessageRole, MessageSearch, Store, UserId};

use crate::support::{add_user, empty, store};

const ALL: MessageSearch<'static> =
    MessageSearch { words: &[], chat: None, from_ms: 0, until_ms: i64::MAX, before: None, limit: 1000 };

async fn say(store: &Store, user: UserId, chat: &ChatId, text: &str) -> store::Message {
    store.append_message(user, chat, MessageRole::User, text, None).await.unwrap()
}

async fn find(store: &Store, user: UserId, words: &[&str]) -> Vec<String> {
    let found = store.search_messages(user, &MessageSearch { words, ..ALL }).await.unwrap();
    found.into_iter().map(|message| message.text).collect()
}

/// A repeatable sequence of numbers: Knuth's linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// Characters that are common in chats, some of them traditional.
const CHARACTERS: &str = "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从記憶體臺灣電腦說話學習";

/// 5,000 messages of Chinese with some Latin letters, digits and signs.
fn corpus() -> Vec<String> {
    let characters: Vec<char> = CHARACTERS.chars().collect();
    let mut numbers = Numbers(7);
    (0..5_000)
        .map(|number| {
            let mut text = String::new();
            for _ in 0..3 + numbers.below(30) {
                match numbers.below(20) {
                    0 => text.push('，'),
                    1 => text.push_str(" Rust "),
                    2 => text.push_str(&number.to_string()),
                    _ => text.push(characters[numbers.below(characters.len())]),
                }
            }
            text
        })
        .collect()
}

#[tokio::test]
async fn queries_in_chinese_find_what_a_comparison_of_characters_finds() {
    let store = empty().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    let texts = corpus();
    for text in &texts {
        say(&store, ann, &chat, text).await;
    }
    let simplified: Vec<String> = texts.iter().map(|text| simple(text)).collect();
    let mut numbers = Numbers(11);
    let characters: Vec<char> = CHARACTERS.chars().collect();
    let (mut wanted, mut got) = (0, 0);
    for round in 0..200 {
        let length = if round % 4 == 0 { 1 + round % 3 } else { 2 };
        let word: String = (0..length).map(|_| characters[numbers.below(characters.len())]).collect();
        let expected: Vec<usize> =
            (0..texts.len()).rev().filter(|at| simplified[*at].contains(&simple(&word))).take(1000).collect();
        let found = find(&store, ann, &[&word]).await;
        let expected: Vec<&str> = expected.into_iter().map(|at| texts[at].as_str()).collect();
        assert_eq!(found, expected, "{word}");
        wanted += expected.len();
        got += found.len();
    }
    assert!(wanted > 1_000 && wanted == got, "{got} of {wanted}");
}

/// Replaces the traditional characters of the corpus by simplified ones.
fn simple(text: &str) -> String {
    let pairs = "記记憶忆體体臺台灣湾電电腦脑說说話话學学習习";
    let pairs: Vec<char> = pairs.chars().collect();
    let other = |c: char| pairs.chunks(2).find(|pair| pair[0] == c).map_or(c, |pair| pair[1]);
    text.chars().map(other).collect()
}

#[tokio::test]
async fn words_are_found_by_their_beginning_stem_case_accents_and_script() {
    let store = empty().await;
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    for text in
        ["We deployed the Café service", "parseHttpRequest in snake_case", "臺灣的記憶體", "ship it 🚀"]
    {
        say(&store, ann, &chat, text).await;
    }
    for (words, expected) in [
        (&["depl"][..], "We deployed the Café service"),
        (&["deploying", "CAFE"], "We deployed the Café service"),
        (&["services"], "We deployed the Café service"),
        (&["parsehttp"], "parseHttpRequest in snake_case"),
        (&["HttpRequest"], "parseHttpRequest in snake_case"),
        (&["台湾"], "臺灣的記憶體"),
        (&["台灣", "记忆体"], "臺灣的記憶體"),
        (&["體"], "臺灣的記憶體"),
        (&["🚀"], "ship it 🚀"),
        (&["nake"], "parseHttpRequest in snake_case"),
    ] {
        assert_eq!(find(&store, ann, words).await, [expected], "{words:?}");
    }
    for words in
        [&["台湾", "nothing"][..], &["us"], &["\" OR \"a"], &["owner:u1"], &["u1"], &["a* NEAR b"], &["'|'"]]
    {
        assert!(find(&store, ann, words).await.is_empty(), "{words:?}");
    }
}

#[tokio::test]
async fn the_index_follows_changes_deletion_undo_and_forks() {
    let (store, _) = store().await;
    let (ann, eve) = (add_user(&store, "ann").await.id, add_user(&store, "eve").await.id);
    let chat = store.create_chat(ann).await.unwrap().id;
    let said = say(&store, ann, &chat, "the first needle").await;
    let shown = store.append_message(ann, &chat, MessageRole::Assistant, "", Some("{}")).await.unwrap();
    let turn = store.queue_turn(ann, &chat, Some(said.id), shown.id, "{}").await.unwrap();
    assert_eq!(find(&store, ann, &["needle"]).await.len(), 1);
    assert!(find(&store, eve, &["needle"]).await.is_empty());
    store.update_message(ann, said.id, "the second thread", None).await.unwrap();
    assert!(find(&store, ann, &["needle"]).await.is_empty());
    assert_eq!(find(&store, ann, &["threads"]).await.len(), 1);
    store
        .append_turn_message(ann, &chat, turn, MessageRole::Assistant, "a purple answer", None)
        .await
        .unwrap();
    store.finish_turn(turn, store::TurnStatus::Done, None).await.unwrap();
    let fork = store.fork_chat(ann, &chat, None).await.unwrap().id;
    assert_eq!(find(&store, ann, &["threads"]).await.len(), 2);
    assert_eq!(find(&store, ann, &["purple"]).await.len(), 2);
    store.take_back(ann, &chat, &[turn]).await.unwrap();
    assert_eq!(find(&store, ann, &["purple"]).await.len(), 1);
    store.delete_chat(ann, &fork).await.unwrap();
    assert!(find(&store, ann, &["purple"]).await.is_empty());
    store.delete_chat(ann, &chat).await.unwrap();
    assert!(find(&store, ann, &["threads"]).await.is_empty());
    let search = ChatSearch { words: &["threads"], before: None, limit: 9 };
    assert!(store.search_chats(ann, &search).await.unwrap().is_empty());
}

/// Brings the database into the state after an update from an earlier version, in which nothing is indexed.
async fn not_indexed(path: &std::path::Path) {
    let mut raw = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    for statement in [
        "DELETE FROM search_messages",
        "INSERT INTO search_progress SELECT c.user_id, MAX(m.id) + 1 FROM messages m JOIN chats c ON c.id = m.chat_id GROUP BY c.user_id",
    ] {
        sqlx::query(statement).execute(&mut raw).await.unwrap();
    }
}

#[tokio::test]
async fn older_messages_are_found_before_and_after_they_are_indexed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).await.unwrap();
    let (ann, eve) = (add_user(&store, "ann").await.id, add_user(&store, "eve").await.id);
    let (hers, other) = (store.create_chat(ann).await.unwrap().id, store.create_chat(eve).await.unwrap().id);
    let mut said = Vec::new();
    for number in 0..300 {
        said.push(say(&store, ann, &hers, &format!("old lantern {number}")).await);
        say(&store, eve, &other, "her lantern").await;
    }
    not_indexed(&path).await;
    assert!(!store.is_message_index_whole(ann).await.unwrap());
    say(&store, ann, &hers, "new lantern").await;
    store.update_message(ann, said[0].id, "changed lantern", None).await.unwrap();
    let all = find(&store, ann, &["lantern"]).await;
    assert_eq!((all.len(), all[0].as_str(), all[300].as_str()), (301, "new lantern", "changed lantern"));
    let mut before = None;
    let mut paged = Vec::new();
    loop {
        let page = MessageSearch { words: &["lantern"], before, limit: 7, ..ALL };
        let page = store.search_messages(ann, &page).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.id);
        paged.extend(page.into_iter().map(|message| message.text));
    }
    assert_eq!(paged, all);
    let mut steps = 0;
    while store.index_older_messages().await.unwrap() {
        steps += 1;
        assert_eq!(find(&store, ann, &["lantern"]).await, all, "{steps}");
    }
    assert!(steps >= 4, "200 rows a step");
    assert!(store.is_message_index_whole(ann).await.unwrap());
    assert_eq!(find(&store, ann, &["lanterns", "changing"]).await, ["changed lantern"]);
    store.update_message(ann, said[0].id, "something else", None).await.unwrap();
    assert!(find(&store, ann, &["changing"]).await.is_empty());
    assert_eq!(find(&store, eve, &["lanterns"]).await.len(), 300);
}
