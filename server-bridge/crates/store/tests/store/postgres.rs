//! What only PostgreSQL can show: the same schema, one winner of each race, a server that goes away.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions};
use store::{Enrolment, Error, KeyScope, MessageId, MessageRole, Name, RunnerName, Said, Store, UserId};
use testkit::postgres::Postgres;

use crate::support::{add_user, postgres_url};

/// Tables with their columns, and the number of the last step.
async fn schema_of_sqlite() -> (BTreeSet<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    Store::open(&path).await.unwrap().close().await;
    let mut connection = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let columns = "SELECT m.name || '.' || c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE '_sqlx%'
        UNION SELECT 'index ' || name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite%'";
    let columns: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(columns)).fetch_all(&mut connection).await.unwrap();
    let last: i64 = sqlx::query_scalar("SELECT MAX(version) FROM _sqlx_migrations")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    (columns.into_iter().collect(), last.to_string())
}

#[tokio::test]
async fn both_databases_have_the_same_tables_columns_and_indexes() {
    let url = postgres_url();
    let database = url.rsplit('/').find(|part| part.contains("?host=")).map(|part| part.split('?').next());
    let database = database.flatten().unwrap();
    let server = Postgres::shared();
    let columns = server.ask(
        database,
        "SELECT table_name || '.' || column_name FROM information_schema.columns
         WHERE table_schema = 'public' AND table_name NOT LIKE '\\_sqlx%'
         UNION SELECT 'index ' || indexname FROM pg_indexes
         WHERE schemaname = 'public' AND indexname NOT LIKE '%\\_key' AND indexname NOT LIKE '%\\_pkey'",
    );
    let columns: BTreeSet<String> = columns.lines().map(str::to_owned).collect();
    let last = server.ask(database, "SELECT MAX(version) FROM _sqlx_migrations");
    let (of_sqlite, last_of_sqlite) = schema_of_sqlite().await;
    assert_eq!(columns, of_sqlite);
    assert_eq!(last.trim(), last_of_sqlite, "each step stands in both folders, under one number");
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_said_in_one_line_and_one_that_goes_away_later_comes_back() {
    let server = Postgres::own();
    let url = server.empty();
    let store = Store::connect(&url).await.unwrap();
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    server.stop();
    for _ in 0..2 {
        let failed = store.append_message(ann, &chat, MessageRole::User, "lost", None).await.unwrap_err();
        assert!(failed.is_away() && !failed.is_callers(), "{failed}");
    }
    let error = Store::connect(&url).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.is_away(), "{error}");
    let text = error.to_string();
    assert!(text.contains("cannot connect to the database") && !text.contains('\n'), "{text}");
    server.start();
    store.append_message(ann, &chat, MessageRole::User, "kept", None).await.unwrap();
    let texts: Vec<String> = store
        .messages(ann, &chat, None, 9)
        .await
        .unwrap()
        .0
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(texts, ["kept"]);
}

#[tokio::test]
async fn what_is_no_address_and_what_is_no_database_is_said() {
    for url in ["postgres//nowhere", "mysql://localhost/x"] {
        let error = Store::connect(url).await.unwrap_err();
        assert!(matches!(error, Error::DatabaseUrl { .. }), "{url}: {error}");
    }
    let missing = Store::connect(&Postgres::shared().url("nowhere")).await.unwrap_err();
    assert!(missing.to_string().contains("nowhere"), "{missing}");
}

/// Pairs of each race.
const PAIRS: usize = 200;

/// Two stores of one database, as two processes have them, with a user in it.
async fn two_stores() -> ([Store; 2], UserId) {
    let url = postgres_url();
    let stores = [Store::connect(&url).await.unwrap(), Store::connect(&url).await.unwrap()];
    let ann = add_user(&stores[0], "ann").await.id;
    (stores, ann)
}

/// What two give that begin at once.
async fn both<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    stores: &[Store; 2],
    run: impl Fn(Store) -> F,
) -> [T; 2] {
    let [one, other] = stores.each_ref().map(|store| tokio::spawn(run(store.clone())));
    [one.await.unwrap(), other.await.unwrap()]
}

fn successes<T>(given: &[store::Result<T>; 2]) -> usize {
    given.iter().filter(|given| given.is_ok()).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_say_or_enrol_or_name_the_same_at_once_one_wins_and_the_other_is_told() {
    let (stores, ann) = two_stores().await;
    let chat = stores[0].create_chat(ann).await.unwrap().id;
    for number in 0..PAIRS {
        let said = both(&stores, |store| {
            let (chat, id) = (chat.clone(), format!("send {number}"));
            async move { store.say_once(ann, &chat, &id, "hello").await.unwrap() }
        });
        let said = said.await;
        assert_eq!(said.iter().filter(|said| matches!(said, Said::New(_))).count(), 1, "{said:?}");

        let name = RunnerName::parse(&format!("runner-{number}")).unwrap();
        let added = both(&stores, |store| {
            let name = name.clone();
            async move { store.add_runner_to_enrol(ann, &name, 60_000).await }
        });
        let added = added.await;
        assert_eq!(successes(&added), 1);
        let (mut token, mut refused) = (None, 0);
        for added in added {
            match added {
                Ok(added) => token = Some(added.token),
                Err(Error::Taken { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        let (token, boots) = (token.unwrap(), AtomicUsize::new(0));
        let enrolled = both(&stores, |store| {
            let boot = format!("boot {}", boots.fetch_add(1, Ordering::Relaxed));
            let token = token.expose().to_owned();
            async move { store.enrol(&token, &boot).await.unwrap() }
        });
        let enrolled = enrolled.await;
        assert_eq!(refused, 1);
        assert_eq!(enrolled.iter().filter(|given| matches!(given, Enrolment::Enrolled(_))).count(), 1);
        assert_eq!(enrolled.iter().filter(|given| matches!(given, Enrolment::Used)).count(), 1);
    }
    assert_eq!(stores[0].messages(ann, &chat, None, 1000).await.unwrap().0.len(), PAIRS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_take_the_last_place_at_once_one_gets_it() {
    let (stores, ann) = two_stores().await;
    for number in 0..99 {
        stores[0].remember(ann, &format!("kept {number}"), "text").await.unwrap();
        let name = Name::parse(&format!("key-{number}")).unwrap();
        stores[0].add_key(ann, &name, KeyScope::Read, None).await.unwrap();
    }
    for _ in 0..PAIRS {
        let names = AtomicUsize::new(0);
        let remembered = both(&stores, |store| {
            let name = format!("last {}", names.fetch_add(1, Ordering::Relaxed));
            async move { store.remember(ann, &name, "text").await }
        });
        assert_eq!(successes(&remembered.await), 1);
        let added = both(&stores, |store| {
            let name = Name::parse(&format!("last-{}", names.fetch_add(1, Ordering::Relaxed))).unwrap();
            async move { store.add_key(ann, &name, KeyScope::Read, None).await.map(|(key, _)| key.name) }
        });
        let added = added.await;
        assert_eq!(successes(&added), 1);
        stores[0].remove_key(ann, added.iter().flatten().next().unwrap()).await.unwrap();
        for name in ["last 0", "last 1"] {
            stores[0].forget(ann, name).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_is_left_however_two_step_down_at_once() {
    let (stores, _) = two_stores().await;
    add_user(&stores[0], "bob").await;
    for _ in 0..PAIRS {
        stores[0].change_user("ann", Some(true), None).await.unwrap();
        stores[0].change_user("bob", Some(true), None).await.unwrap();
        let names = AtomicUsize::new(0);
        let changed = both(&stores, |store| {
            let name = ["ann", "bob"][names.fetch_add(1, Ordering::Relaxed)];
            async move { store.change_user(name, Some(false), None).await.unwrap() }
        });
        assert_eq!(changed.await.iter().filter(|changed| changed.is_some()).count(), 1);
        let users = stores[1].users().await.unwrap();
        assert_eq!(users.iter().filter(|user| user.admin).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_of_messages_become_visible_in_their_order() {
    let (stores, ann) = two_stores().await;
    let chat = stores[0].create_chat(ann).await.unwrap().id;
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let (store, chat) = (stores[number % 2].clone(), chat.clone());
            tokio::spawn(async move {
                for _ in 0..PAIRS / 4 {
                    store.append_message(ann, &chat, MessageRole::Notice, "text", None).await.unwrap();
                }
            })
        })
        .collect();
    let mut seen = Vec::new();
    while seen.len() < 2 * PAIRS {
        let after = seen.last().copied().unwrap_or(MessageId(0));
        let (new, _) = stores[1].messages_after(ann, &chat, after, 1000).await.unwrap();
        seen.extend(new.into_iter().map(|message| message.id));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let all: Vec<_> = stores[0]
        .messages(ann, &chat, None, 1000)
        .await
        .unwrap()
        .0
        .into_iter()
        .map(|message| message.id)
        .collect();
    assert_eq!(seen, all, "one that reads on from the last id that it saw misses none");
}
