//! Changes whose callers stopped waiting, for example because the client of a request disconnected.

use std::pin::pin;
use std::time::Duration;

use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};
use store::{MessageRole, Store};

use crate::support::{add_user, postgres_url};

/// The time limit for a change that nothing blocks.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of changes that are abandoned, and of those that follow: more than the pool has connections.
const CHANGES: usize = 40;

async fn number(connection: &mut PgConnection, sql: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn a_change_that_is_given_up_while_it_waits_holds_up_no_other() {
    let url = postgres_url();
    let store = Store::connect(&url).await.unwrap();
    let ann = add_user(&store, "ann").await.id;
    let chat = store.create_chat(ann).await.unwrap().id;
    let mut beside = url.parse::<sqlx::postgres::PgConnectOptions>().unwrap().connect().await.unwrap();
    let waiting = "SELECT COUNT(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted";
    let lock = |name: &str| format!("SELECT 1 FROM (SELECT {name}({})) AS l", ann.0);
    for _ in 0..CHANGES {
        let locked = sqlx::query(AssertSqlSafe(lock("pg_advisory_lock"))).execute(&mut beside);
        let locked = tokio::time::timeout(PATIENCE, locked).await;
        locked.expect("no change that was given up has the lock").unwrap();
        {
            let mut change = pin!(store.append_message(ann, &chat, MessageRole::User, "given up", None));
            tokio::select! {
                done = change.as_mut() => panic!("the lock does not block it: {done:?}"),
                () = async { while number(&mut beside, waiting).await == 0 {} } => {}
            }
        }
        sqlx::query(AssertSqlSafe(lock("pg_advisory_unlock"))).execute(&mut beside).await.unwrap();
    }
    let changes = (0..CHANGES).map(|_| store.append_message(ann, &chat, MessageRole::User, "kept", None));
    let kept = tokio::time::timeout(PATIENCE, futures_util::future::join_all(changes)).await;
    for message in kept.expect("nothing blocks these changes") {
        message.unwrap();
    }
    // Another connection sees the kept messages, so they are committed; and no connection is left inside a transaction.
    assert_eq!(
        number(&mut beside, "SELECT COUNT(*) FROM messages WHERE text = 'kept'").await,
        CHANGES as i64
    );
    assert_eq!(number(&mut beside, "SELECT COUNT(*) FROM messages WHERE text = 'given up'").await, 0);
    let open = "SELECT COUNT(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let none_open = async { while number(&mut beside, open).await > 0 {} };
    tokio::time::timeout(PATIENCE, none_open).await.expect("no transaction stays open");
}
