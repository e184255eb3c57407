//! Sends the messages in the outbox, in order within a conversation, at the messenger's pace.
//!
//! | the messenger … | next step |
//! |---|---|
//! | accepted the message | the next message, after the messenger's pause |
//! | could not be reached, or requires a pause | the same message again, later; this does not count as a try |
//! | did not confirm | the same message again with the same key, at most 20 tries; without keys, once more with a mark |
//! | did not confirm, and may have forgotten the key since | the same message again, with a mark |
//! | refuses the message | it is not sent, and the reason is recorded. An answer that cannot replace its draft is sent as a new message |

use std::time::{Duration, Instant};

use platforms::{Conversation, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{ChannelLane, ChatId, Outgoing};
use tokio::time::timeout;

use crate::error::Result;
use crate::house::Inner;
use crate::house::Live;
use crate::limits::{EDIT_TRIES, FILE_TIMEOUT, KEYED_TRIES, SEND_TIMEOUT, UNKEYED_TRIES, WAIT_MAX};
use crate::notice::Notice;
use crate::pace::Pace;

/// The content of a row of the outbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Payload {
    /// A message that its platform has rendered.
    Message {
        /// The rendered message.
        message: platforms::Outgoing,
        /// For a question: its text, which is shown again with the outcome later.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// A file of a chat's workspace, which is read when it is sent.
    File {
        /// The chat's id.
        chat: String,
        /// The file's path.
        path: String,
    },
    /// A notice of the server for an administrator.
    Notice {
        /// The notice, whose text is composed when it is sent.
        notice: Notice,
    },
}

/// The next step after a try.
enum Next {
    /// The next message, after the messenger's pause.
    GoOn,
    /// The same message again, after the regular pause between tries.
    Again,
    /// The same message again, after this pause.
    After(Duration),
}

/// The outcome of a try.
enum Tried {
    Sent(String),
    Failed(Failure),
    /// Nothing was sent: the file cannot be read, for this reason.
    NoFile(String),
}

/// Returns the maximum number of tries for a message whose earlier tries have no known outcome.
fn tries_max(is_edit: bool, is_keyed: bool) -> i64 {
    match (is_edit, is_keyed) {
        (true, _) => EDIT_TRIES,
        (false, true) => KEYED_TRIES,
        (false, false) => UNKEYED_TRIES,
    }
}

/// The prefix of the `source` of answers.
pub(crate) const ANSWER: &str = "answer/";

/// The prefix of the `source` of entries of a group's log; the binding's mark follows it.
pub(crate) const LOG: &str = "log/";

/// Returns the mark of the binding that a row belongs to, if the row shows the log of a group.
fn mark_of(row: &Outgoing) -> Option<&str> {
    row.source.strip_prefix(LOG)?.split('/').next()
}

/// The prefix of the `source` of drafts.
const DRAFT: &str = "draft/";

/// Returns true for the part of an answer that replaces its draft. If the edit fails, the part is sent as a new message.
fn must_arrive(row: &Outgoing) -> bool {
    row.edit_of.is_some() && row.source.starts_with(ANSWER)
}

impl Inner {
    /// Sends all waiting messages to a conversation.
    pub(crate) async fn send_all(&self, lane: &ChannelLane) -> Result<()> {
        let mut pace = Pace::default();
        let mut is_of_log = false;
        // The current row, and when its first try began, if that was in this task.
        let mut first: Option<(i64, Instant)> = None;
        loop {
            let Some(live) = self.usable(lane.account_id) else { return Ok(()) };
            // A server process that was killed may have sent something just before this one started.
            let distance = Duration::from_millis(live.platform.caps().send_every_ms);
            self.pause(distance.saturating_sub(self.begun.elapsed())).await;
            let Some(row) = self.store.next_outgoing(lane).await? else {
                if is_of_log {
                    // Further entries of the log may be waiting for space in the outbox.
                    self.wake.notify_one();
                }
                return Ok(());
            };
            is_of_log |= mark_of(&row).is_some();
            if first.is_none_or(|(id, _)| id != row.id) {
                first = (row.tries == 0).then(|| (row.id, Instant::now()));
            }
            let tried_for = first.map(|(_, begun)| begun.elapsed());
            let pause = match self.send_row(&live, &row, tried_for).await? {
                Next::GoOn => {
                    pace.reset();
                    distance
                }
                Next::Again => pace.next(rand::random()),
                Next::After(pause) => pause.clamp(Duration::from_millis(50), WAIT_MAX),
            };
            self.pause(pause).await;
            if self.stop.is_cancelled() {
                return Ok(());
            }
        }
    }

    /// Tries once to send a row; `tried_for` is the time since its first try, if that is known.
    async fn send_row(&self, live: &Live, row: &Outgoing, tried_for: Option<Duration>) -> Result<Next> {
        // An earlier try has no known outcome: the messenger did not confirm it, or the server died. Other tries do not count.
        let is_unknown = row.tries > 0;
        let is_edit = row.edit_of.is_some();
        let key_lifetime_ms = live.platform.caps().key_lifetime_ms;
        let is_keyed = key_lifetime_ms.is_some();
        // A retry could show the draft twice, and only one copy would be edited later.
        let is_lost_draft = is_unknown && !is_keyed && row.source.starts_with(DRAFT);
        if is_lost_draft || (is_unknown && row.tries >= tries_max(is_edit, is_keyed)) {
            if must_arrive(row) {
                return self.send_anew(row, true).await;
            }
            let why = format!(
                "the messenger did not confirm whether it accepted the message, even after {} tries",
                row.tries
            );
            return self.give_up(live, row, &why).await;
        }
        if let Some(user) = row.user
            && !self.store.may_reach(&live.account, user, &row.conversation, row.is_group).await?
        {
            let why = "the person is no longer linked, or the group is turned off";
            return self.give_up(live, row, why).await;
        }
        if let Some(mark) = mark_of(row)
            && !self.is_still_bound(live, row, mark).await?
        {
            return self.give_up(live, row, "the conversation no longer belongs to the group").await;
        }
        let Ok(mut payload) = serde_json::from_str::<Payload>(&row.payload_json) else {
            return self.give_up(live, row, "the stored message cannot be read").await;
        };
        if let Payload::Notice { notice } = payload {
            let taker = match row.user {
                Some(user) if self.store.takes_notices(row.account_id, &row.conversation, user).await? => {
                    user
                }
                _ => {
                    let why = "the user is no longer an administrator, or has turned notices off in this conversation";
                    return self.give_up(live, row, why).await;
                }
            };
            let message = notice.message(&*live.platform, self.chats.language(taker));
            payload = Payload::Message { message, text: String::new() };
        }
        if is_edit && row.edited_id.is_none() && must_arrive(row) {
            return self.send_anew(row, false).await;
        }
        if is_edit && row.edited_id.is_none() {
            return self.give_up(live, row, "the message that it was to replace was never sent").await;
        }
        // The time of an earlier process's first try is not on record; it was after the row was made.
        let age = || Duration::from_millis(self.store.now_ms().abs_diff(row.created_at_ms));
        let tried_for = tried_for.unwrap_or_else(age);
        let is_remembered = key_lifetime_ms.is_some_and(|ms| tried_for < Duration::from_millis(ms));
        let is_unsure = row.is_unsure || (is_unknown && !is_edit && !is_remembered);
        if !self.store.begin_send(row.id, is_unsure).await? {
            return Ok(Next::GoOn);
        }
        match self.try_row(live, row, &payload).await {
            Tried::Sent(id) => {
                self.store.mark_sent(row.id, &id).await?;
                Ok(Next::GoOn)
            }
            Tried::NoFile(why) => {
                self.give_up(live, row, &why).await?;
                self.tell_no_file(live, row, &why).await?;
                Ok(Next::GoOn)
            }
            Tried::Failed(failure) => self.failed(live, row, failure).await,
        }
    }

    async fn try_row(&self, live: &Live, row: &Outgoing, payload: &Payload) -> Tried {
        let to = Conversation { id: row.conversation.clone(), is_group: row.is_group };
        let reply: Value = serde_json::from_str(&row.reply_json).unwrap_or_default();
        let platform = &live.platform;
        let sent = async {
            match (payload, &row.edited_id) {
                (Payload::Message { message, .. }, Some(edited)) => {
                    platform.edit(&to, edited, message).await.map(|()| edited.clone())
                }
                (Payload::Message { message, .. }, None) => {
                    platform.send(&to, message, &reply, &row.send_key).await.map(|sent| sent.id)
                }
                (Payload::File { .. } | Payload::Notice { .. }, _) => {
                    Err(Failure::Message("this row is not a message".to_owned()))
                }
            }
        };
        let sent = match payload {
            Payload::Message { .. } | Payload::Notice { .. } => timeout(SEND_TIMEOUT, sent).await,
            Payload::File { chat, path } => {
                let chat = ChatId::parse(chat).ok();
                let Ok(_place) = self.files_out.acquire().await else {
                    return Tried::Failed(Failure::Away("the server is stopping".to_owned()));
                };
                let file = match (row.user, chat) {
                    (Some(user), Some(chat)) => {
                        self.file(user, &chat, path, platform.caps().file_max_bytes).await
                    }
                    _ => Err("the chat was deleted".to_owned()),
                };
                let file = match file {
                    Ok(file) => file,
                    Err(why) => return Tried::NoFile(why),
                };
                let sending = platform.send_file(&to, &file, &reply, &row.send_key);
                timeout(FILE_TIMEOUT, async { sending.await.map(|sent| sent.id) }).await
            }
        };
        match sent {
            Ok(Ok(id)) => Tried::Sent(id),
            Ok(Err(failure)) => Tried::Failed(failure),
            Err(_) => Tried::Failed(Failure::Unknown("the transfer took too long".to_owned())),
        }
    }

    /// Queues an answer that cannot replace its draft as a new message.
    async fn send_anew(&self, row: &Outgoing, is_unsure: bool) -> Result<Next> {
        self.store.send_anew(row.id, is_unsure).await?;
        Ok(Next::GoOn)
    }

    /// Records that a row will not be sent.
    async fn give_up(&self, live: &Live, row: &Outgoing, why: &str) -> Result<Next> {
        let (channel, source) = (&live.account.name, &row.source);
        if source.starts_with(DRAFT) {
            tracing::debug!(channel, source, why, "a draft is not shown");
        } else {
            tracing::warn!(channel, source, why, "a message was not sent");
        }
        self.store.mark_failed(row.id, why).await?;
        Ok(Next::GoOn)
    }

    async fn failed(&self, live: &Live, row: &Outgoing, failure: Failure) -> Result<Next> {
        let channel = &live.account.name;
        let text = failure.to_string();
        live.note(|status| status.last_error.clone_from(&text));
        Ok(match failure {
            // The row stays in the state "sending".
            Failure::Unknown(_) => {
                tracing::warn!(channel, text, "the messenger did not confirm whether it accepted a message");
                Next::Again
            }
            Failure::TooFast { wait_ms } => {
                self.store.unsend(row.id, &row.reply_json).await?;
                Next::After(Duration::from_millis(wait_ms))
            }
            Failure::Away(_) | Failure::Account(_) => {
                self.store.unsend(row.id, &row.reply_json).await?;
                Next::Again
            }
            Failure::Expired | Failure::Message(_) if must_arrive(row) => {
                tracing::info!(
                    channel,
                    text,
                    "a draft cannot be changed, so the answer is sent as a new message"
                );
                return self.send_anew(row, false).await;
            }
            // The message is sent again without reply data, which works on messengers that accept messages other than replies.
            Failure::Expired if row.reply_json != "null" => {
                self.store.unsend(row.id, "null").await?;
                Next::After(Duration::ZERO)
            }
            Failure::Expired | Failure::Message(_) | Failure::Closed(_) => {
                self.give_up(live, row, &text).await?;
                if matches!(failure, Failure::Closed(_)) && row.is_group {
                    self.close(live, &row.conversation).await?;
                }
                Next::GoOn
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_is_tried_without_end() {
        assert_eq!([tries_max(false, true), tries_max(false, false), tries_max(true, true)], [20, 2, 5]);
        assert!(FILE_TIMEOUT > platforms::limits::TRANSFER_TIMEOUT, "the platform's own limit comes first");
    }
}
