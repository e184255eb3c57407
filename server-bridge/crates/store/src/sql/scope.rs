//! The owner of the rows that a change touches. On PostgreSQL, changes in the same scope take turns.

use metrics::counter;
use sqlx::{AssertSqlSafe, Postgres, SqlSafeStr, SqlStr, Transaction};

use crate::away::{Connections, answer};
use crate::error::is_fenced;
use crate::membership::Membership;
use crate::patience;
use crate::tokens::TokenHash;
use crate::{ChatId, ItemId, MessageId, RunnerId, TurnId, UserId};

/// The name of the counter of changes that failed because this node is not the user's home, or is considered dead.
pub const REFUSED_FENCES: &str = "sandbridge_refused_fences_total";

/// The namespace of the locks of groups, which keeps them apart from the locks of users.
const GROUP_LOCKS: i32 = 1;

/// The owner of the rows that a change touches: one user, named directly or by one of the user's rows, or the whole server.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// This user's rows.
    User(UserId),
    /// The rows of this user's logins, which any node may change: a login happens before it is known where the user's home is.
    Login(UserId),
    /// The rows of the user who owns this conversation.
    Chat(&'a ChatId),
    /// The rows of the user who owns this turn's conversation.
    Turn(TurnId),
    /// The rows of the user who owns this item's conversation.
    Item(ItemId),
    /// The rows of the user who owns this message's conversation.
    Message(MessageId),
    /// The rows of the user who owns this runner.
    Runner(RunnerId),
    /// The rows of the user whose runner this token is for.
    Token(&'a TokenHash),
    /// A group's rows, which belong to several users.
    Group(i64),
    /// A row that no other change depends on, and that depends on no other row: no lock is taken.
    Alone,
    /// Accounts, settings of the server, and changes across all users.
    System,
}

/// The changes of one scope, which are made one at a time.
pub(crate) struct Locked<'e> {
    pub(crate) connections: &'e Connections,
    pub(crate) scope: Scope<'e>,
    /// The node that makes the change; `None` if the server works alone.
    pub(crate) node: Option<&'e Membership>,
}

impl Locked<'_> {
    /// Begins a change when no other change of its scope is in progress. The lock ends with the change. A node that is not the user's home yet
    /// becomes the home, or the change fails as fenced.
    pub(crate) async fn begin(self) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
        let mut has_claimed = false;
        loop {
            let statement = match self.node {
                Some(node) => begin_at_node(self.scope, node),
                None => begin(self.scope),
            };
            let begun = begin_to_the_end(self.connections, statement).await;
            if let (Some(node), Err(error)) = (self.node, &begun)
                && is_fenced(error)
            {
                if !has_claimed && node.claim_for(error).await {
                    has_claimed = true;
                    continue;
                }
                counter!(REFUSED_FENCES).increment(1);
                return begun;
            }
            if patience::is_over(begun.as_ref().err()).await {
                return begun;
            }
        }
    }
}

/// Begins a transaction, and completes its beginning even if the caller is dropped meanwhile. Otherwise sqlx would return the connection to the pool
/// inside a transaction that it does not know of, with its lock held and the next user's changes in it (sqlx-postgres 0.9.0, `transaction.rs`: the
/// rollback of a begin that was dropped looks at a depth that is still 0).
pub(crate) async fn begin_to_the_end(
    connections: &Connections,
    statement: SqlStr,
) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
    let connections = connections.clone();
    let begin = async move { connections.pool().begin_with(statement).await };
    match tokio::spawn(Box::pin(answer(begin))).await {
        Ok(begun) => begun,
        Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
        // The task was dropped because the process is ending.
        Err(_) => Err(sqlx::Error::PoolClosed),
    }
}

/// `BEGIN` and the lock in one round trip to the server. All locks of changes are taken here and nowhere else.
///
/// Every later statement sees the commits of the previous holder: at the level READ COMMITTED, each statement reads the rows as they are when it
/// begins.
fn begin(scope: Scope<'_>) -> SqlStr {
    match lock_of(scope) {
        Lock::None => "BEGIN".into_sql_str(),
        Lock::Of(lock) => AssertSqlSafe(format!("BEGIN; SELECT {lock}")).into_sql_str(),
        Lock::OfOwner(owner) => {
            AssertSqlSafe(format!("BEGIN; SELECT pg_advisory_xact_lock(o.user_id) FROM {owner}"))
                .into_sql_str()
        }
    }
}

/// Like [`begin`], but for a node, which must be the user's home, or, for rows that belong to no user, be alive.
///
/// `BEGIN` is last: a statement before it joins the transaction that it begins, and if that statement fails, no transaction is left open
/// (PostgreSQL's documentation, 55.2.2.1).
fn begin_at_node(scope: Scope<'_>, node: &Membership) -> SqlStr {
    // The id of a node consists of hexadecimal digits.
    let id = node.id();
    let text = match lock_of(scope) {
        Lock::None => format!("SELECT check_node('{id}'); BEGIN"),
        Lock::Of(lock) => format!("SELECT {lock}; SELECT check_node('{id}'); BEGIN"),
        Lock::OfOwner(owner) => {
            let fence = match scope {
                Scope::User(user) => node.fence(user).unwrap_or_default().to_string(),
                _ => "NULL".to_owned(),
            };
            format!("SELECT lock_home(o.user_id, '{id}', {fence}) FROM {owner}; BEGIN")
        }
    };
    AssertSqlSafe(text).into_sql_str()
}

/// The lock of a scope, as a part of a statement.
enum Lock {
    /// No lock.
    None,
    /// A lock that is taken by this call of a function.
    Of(String),
    /// The lock of the user whose id is `o.user_id` in these tables.
    OfOwner(String),
}

fn lock_of(scope: Scope<'_>) -> Lock {
    // Ids of 128 bits and hashes are hexadecimal digits, the other ids are numbers: no user-supplied text is in the statement.
    Lock::OfOwner(match scope {
        Scope::Alone => return Lock::None,
        Scope::Login(user) => return Lock::Of(format!("pg_advisory_xact_lock({user})")),
        Scope::System => return Lock::Of("pg_advisory_xact_lock(0)".to_owned()),
        // A lock with two numbers is in a different namespace from a lock with one number.
        Scope::Group(group) => {
            return Lock::Of(format!(
                "pg_advisory_xact_lock({GROUP_LOCKS}, CAST({group} % 2147483647 AS INTEGER))"
            ));
        }
        Scope::User(user) => format!("(SELECT CAST({user} AS BIGINT) AS user_id) o"),
        Scope::Chat(chat) => format!("chats o WHERE o.id = '{chat}'"),
        Scope::Turn(turn) => format!("turns t JOIN chats o ON o.id = t.chat_id WHERE t.id = {turn}"),
        Scope::Item(item) => format!(
            "turn_items i JOIN turns t ON t.id = i.turn_id JOIN chats o ON o.id = t.chat_id WHERE i.id = {}",
            item.0
        ),
        Scope::Message(message) => {
            format!("messages m JOIN chats o ON o.id = m.chat_id WHERE m.id = {message}")
        }
        Scope::Token(hash) => format!(
            "runner_tokens t JOIN runners o ON o.id = t.runner_id WHERE t.token_sha256 = '{}'",
            hash.as_str()
        ),
        Scope::Runner(runner) => format!("runners o WHERE o.id = {runner}"),
    })
}
