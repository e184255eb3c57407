//! The owner of the rows that a change touches. On PostgreSQL changes of one scope take turns.

use sqlx::{AssertSqlSafe, PgPool, Postgres, SqlSafeStr, SqlStr, Transaction};

use crate::patience;
use crate::tokens::TokenHash;
use crate::{ChatId, ItemId, MessageId, RunnerId, TurnId, UserId};

/// The space of the locks of groups, so that a group's lock is no user's.
const GROUP_LOCKS: i32 = 1;

/// The owner of the rows that a change touches: one user, named directly or by something of theirs, or the whole server.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// This user's rows.
    User(UserId),
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
    /// A row that no other change depends on, and that depends on none: no lock is taken.
    Alone,
    /// Accounts, settings of the server, and changes across all users.
    System,
}

/// The changes of one scope, one at a time.
pub(crate) struct Locked<'e> {
    pub(crate) pool: &'e PgPool,
    pub(crate) scope: Scope<'e>,
}

impl Locked<'_> {
    /// Begins a change when no other of its scope is in progress. The lock ends with the change.
    pub(crate) async fn begin(self) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
        loop {
            let begun = self.pool.begin_with(begin(self.scope)).await;
            if patience::is_over(begun.as_ref().err()).await {
                return begun;
            }
        }
    }
}

/// `BEGIN` and the lock in one trip to the server. All locks of changes are taken here and nowhere else.
///
/// Every statement after it sees the previous holder's commits: at the level READ COMMITTED each reads the rows as they are
/// when it begins.
fn begin(scope: Scope<'_>) -> SqlStr {
    // Ids of 128 bits and hashes are hexadecimal digits, the other ids are numbers: no user-supplied text is in the
    // statement.
    let owner = match scope {
        Scope::Alone => return "BEGIN".into_sql_str(),
        Scope::System => return "BEGIN; SELECT pg_advisory_xact_lock(0)".into_sql_str(),
        // Two numbers are another space of locks than one.
        Scope::Group(group) => {
            return AssertSqlSafe(format!(
                "BEGIN; SELECT pg_advisory_xact_lock({GROUP_LOCKS}, CAST({group} % 2147483647 AS INTEGER))"
            ))
            .into_sql_str();
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
    };
    AssertSqlSafe(format!("BEGIN; SELECT pg_advisory_xact_lock(o.user_id) FROM {owner}")).into_sql_str()
}
