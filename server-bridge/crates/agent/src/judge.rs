//! Judgements: a model's answer, outside of a turn's conversation, about an action that the turn is about to take. Hooks ask for them.

use futures_util::future::BoxFuture;
use records::{ChatId, TurnId, User};

use crate::models::Tier;
use crate::tool::Subject;

/// A call that a hook itself wants to make.
#[derive(Clone, Copy, Debug)]
pub struct HookCall<'a> {
    /// The user whose rules apply.
    pub user: &'a User,
    /// The user's chat.
    pub root: &'a ChatId,
    /// The turn in which the hook runs.
    pub turn: TurnId,
    /// The tool's name in permission rules.
    pub tool: &'a str,
    /// The subject of the call.
    pub subject: Subject<'a>,
}

/// A question about a turn.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The user, who pays for the answer.
    pub user: &'a User,
    /// The user's chat, whose models and machine are used.
    pub root: &'a ChatId,
    /// The agent's own chat, to whose directory paths are relative.
    pub chat: &'a ChatId,
    /// The turn for which the cost is recorded.
    pub turn: TurnId,
    /// The instructions for the model.
    pub system: &'a str,
    /// The text of the question.
    pub text: &'a str,
    /// The tier of the model; the swift tier if there is no model of this one.
    pub tier: Tier,
    /// True if the model may read files of the workspace before it answers.
    pub reads: bool,
}

/// Access to models that answer such questions. Dropping the future ends the work.
pub trait Judge: Send + Sync {
    /// Returns the text of the answer.
    ///
    /// Fails with the reason in words.
    fn judge<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Result<String, String>>;

    /// Checks a hook's call against the user's permission rules. A call that the rules ask about is denied, because no one can be asked.
    ///
    /// Fails with the reason in words.
    fn permits<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<(), String>>;
}
