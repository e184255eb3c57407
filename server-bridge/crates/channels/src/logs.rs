//! The interface to the logs of groups of people and agents. Its implementation checks the rights in a group.

use api::chain::{GateAnswer, GateView};
use futures_util::future::BoxFuture;
use store::User;

use crate::error::Result;

/// A group whose log may be shown on a messenger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownGroup {
    /// The group's id.
    pub id: i64,
    /// The group's title.
    pub title: String,
}

/// A gate that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenGate {
    /// The name of the chain that the gate belongs to.
    pub chain: String,
    /// The gate, with its question and the possible answers.
    pub gate: GateView,
}

/// Gives access to the groups of all users.
pub trait GroupLogs: Send + Sync {
    /// Finds a group by number or title, if the user may show its log on a messenger.
    ///
    /// # Errors
    /// [`crate::Error`] with the reason why the user may not.
    fn named<'a>(&'a self, user: &'a User, name: &'a str) -> BoxFuture<'a, Result<ShownGroup>>;

    /// Returns a group if the user may show its log on a messenger.
    ///
    /// # Errors
    /// [`crate::Error`] of the kind `forbidden` or `not_found` if the user no longer may.
    fn shown<'a>(&'a self, user: &'a User, group: i64) -> BoxFuture<'a, Result<ShownGroup>>;

    /// Returns true if the user, who may read a group's log, may also show it on a messenger.
    ///
    /// # Errors
    /// [`crate::Error`] of the kind `not_found` if the user is not in the group.
    fn may_show<'a>(&'a self, user: &'a User, group: i64) -> BoxFuture<'a, Result<bool>>;

    /// Adds a message from the server to a group's log.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    fn note<'a>(&'a self, group: i64, text: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Posts a person's message and asks the agents that it mentions; nothing is posted for a repeated send id. Returns a note for the author, if
    /// there is one.
    ///
    /// # Errors
    /// [`crate::Error`] of the kind `not_found` if the user is not in the group; otherwise an error that states what to change.
    fn post<'a>(
        &'a self,
        user: &'a User,
        group: i64,
        text: String,
        send_id: String,
    ) -> BoxFuture<'a, Result<Vec<String>>>;

    /// Returns the gates of a group that wait for an answer and have a higher id than `after`, in order.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    fn open_gates(&self, group: i64, after: i64) -> BoxFuture<'_, Result<Vec<OpenGate>>>;

    /// Answers a gate. The first answer counts; the same answer from the same person again changes nothing.
    ///
    /// # Errors
    /// [`crate::Error`] with the reason why the answer does not count.
    fn answer_gate<'a>(
        &'a self,
        user: &'a User,
        group: i64,
        gate: i64,
        answer: GateAnswer,
    ) -> BoxFuture<'a, Result<()>>;
}
