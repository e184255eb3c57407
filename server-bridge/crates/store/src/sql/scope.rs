//! Whose rows a change touches. On PostgreSQL changes of one scope take turns.

use sqlx::{AssertSqlSafe, PgPool, Postgres, SqlSafeStr, SqlStr, Transaction};

use crate::patience;
use crate::tokens::TokenHash;
use crate::{ChatId, ItemId, MessageId, RunnerId, TurnId, UserId};

/// Whose rows a change touches: one user's, named by the user or by what is theirs, or the whole server's.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// What is this user's.
    User(UserId),
    /// What is the user's whose conversation this is.
    Chat(&'a ChatId),
    /// What is the user's whose conversation this turn is a part of.
    Turn(TurnId),
    /// What is the user's whose conversation this item is a part of.
    Item(ItemId),
    /// What is the user's whose conversation this message is a part of.
    Message(MessageId),
    /// What is the user's whose runner this is.
    Runner(RunnerId),
    /// What is the user's whose runner this token is for.
    Token(&'a TokenHash),
    /// A row that no other change depends on, and that depends on none: no lock is taken.
    Alone,
    /// Accounts, settings of the server, and what goes over all users.
    System,
}

/// A place for changes of one scope.
pub(crate) struct Locked<'e> {
    pub(crate) pool: &'e PgPool,
    pub(crate) scope: Scope<'e>,
}

impl Locked<'_> {
    /// Begins a change when no other of its scope is under way. The lock ends with the change.
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
/// Every statement after it sees what the one before had committed: at the level READ COMMITTED each looks at the rows as they
/// are when it begins.
fn begin(scope: Scope<'_>) -> SqlStr {
    // Ids of 128 bits and hashes are hexadecimal digits, the other ids are numbers: nothing here is anybody's text.
    let owner = match scope {
        Scope::Alone => return "BEGIN".into_sql_str(),
        Scope::System => return "BEGIN; SELECT pg_advisory_xact_lock(0)".into_sql_str(),
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
