//! Judgements: a model's answer about something that a turn is about to do, outside of its conversation. Hooks ask for them.

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
    /// The tool, by the name that rules know.
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
    /// The turn that the cost is recorded for.
    pub turn: TurnId,
    /// The instructions.
    pub system: &'a str,
    /// The question.
    pub text: &'a str,
    /// The tier of the model; the swift one if there is none of it.
    pub tier: Tier,
    /// True if the model may read files of the workspace before it answers.
    pub reads: bool,
}

/// Models that answer such questions. Dropping the future ends the work.
pub trait Judge: Send + Sync {
    /// The text of the answer.
    ///
    /// Fails with the reason in words.
    fn judge<'a>(&'a self, question: &'a Question<'a>) -> BoxFuture<'a, Result<String, String>>;

    /// Checks a hook's call by the user's permission rules. What they ask about is denied: nobody is asked.
    ///
    /// Fails with the reason in words.
    fn permits<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<(), String>>;
}
