//! Conversations that are bound to a group of people and agents: messages of members there are posted to the group's log.
//!
//! ```text
//!   /group use NAME ─▶ binding ─▶ a member's message with a mention ─▶ the log, once (the send id begins with the binding's mark)
//!                                 the log's entries by others (`showing`) ─▶ the conversation, once each
//! ```
//! Everybody in the conversation can read the log, so only an owner of the group can create a binding. A binding is ended by `/group on` and `/group
//! off`, on the page (`bindings`), when the group is deleted, when the bot leaves the conversation, and when the bot's owner is no longer an owner of
//! the group.

use std::sync::Arc;

use platforms::event::Message;
use sha2::{Digest as _, Sha256};
use store::{ChannelBinding, User, hex};

use crate::error::{Error, Result};
use crate::gates::gate_command;
use crate::house::{Inner, Live};
use crate::incoming::{Handled, Incoming};
use crate::limits::{MARK_DIGITS, SEND_ID_DIGITS};
use crate::logs::GroupLogs;
use crate::words::quoted_for_group;

/// The answer to `/help` in a conversation that is bound to a group.
const HELP: &str = "Messages here that mention me are posted to the group, and @NAME asks an agent; everything else in the group's log is shown here.\n/approve NUMBER, /edit NUMBER TEXT, /redo NUMBER TEXT, /more NUMBER, /stop NUMBER  answer a question of a chain\n/group off  stop this (only for the owner of this bot)";

/// The reply to a message with files.
const NO_FILES: &str = "Files are not posted to the group, only text.";

/// A valid binding, with the data that handling messages needs.
pub(crate) struct Bound {
    pub(crate) binding: ChannelBinding,
    /// The owner of the bot, who is an owner of the group.
    pub(crate) owner: User,
}

impl Inner {
    /// Returns the interface to groups, once it is set.
    pub(crate) fn logs(&self) -> Option<&Arc<dyn GroupLogs>> {
        self.logs.get()
    }

    /// Checks a binding, and returns it if it is still valid; ends it if the owner of the bot may no longer show the log.
    pub(crate) async fn holds(&self, live: &Live, binding: ChannelBinding) -> Result<Option<Bound>> {
        let Some(logs) = self.logs() else { return Ok(None) };
        let Some(owner) = self.store.user_by_id(live.account.user).await? else { return Ok(None) };
        match logs.shown(&owner, binding.group).await {
            Ok(_) => Ok(Some(Bound { binding, owner })),
            Err(error) if matches!(error.kind(), "forbidden" | "not_found") => {
                let text = "This conversation no longer belongs to its group: the owner of this bot is no longer an owner of the group.";
                self.end_binding(&live.account, &binding, &owner.name, text).await?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Handles `/group use`: binds a conversation to a group for the owner of the bot.
    pub(crate) async fn bind(&self, incoming: &Incoming<'_>, user: &User, name: &str) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let (account, conversation) = (&live.account, &event.conversation.id);
        let say = |text: &str| Ok(incoming.say(None, self.chats.language(user.id), text));
        if name.is_empty() {
            return say("Write the group's title or number after the command, as in /group use Work");
        }
        if live.platform.caps().reply_window_ms.is_some() {
            return say(
                "On this messenger bots can only reply, so the messages of a group cannot be shown here.",
            );
        }
        let Some(logs) = self.logs() else { return Ok(Handled::silent()) };
        let group = match logs.named(user, name).await {
            Ok(group) => group,
            Err(error) => return self.refused(incoming, user, error),
        };
        let before = self.store.channel_binding(account.id, conversation).await?;
        // After a crash the messenger delivers the same command again.
        if before.as_ref().is_none_or(|before| before.group != group.id) {
            let text = format!(
                "{} now shows this log on {} (channel {}): from now on everybody in a conversation there can read it.",
                user.name, account.kind, account.name
            );
            logs.note(group.id, &text).await?;
            let mark = format!("{:0digits$x}", rand::random::<u64>(), digits = MARK_DIGITS);
            self.store.bind_conversation(account, conversation, group.id, &mark).await?;
            if let Some(before) = &before {
                self.note_end(account, before, &user.name).await;
            }
            let target = format!("{} in {conversation}: group {}", account.name, group.id);
            self.audit(Some(&user.name), "channel.group.bind", &target, "ok").await;
        }
        let title = &group.title;
        say(&format!(
            "This conversation belongs to the group {title:?} now: messages here that mention me are posted there, and everybody here can read everything that is said there. Only people who are linked and in the group can write. /group off stops this."
        ))
    }

    /// Handles a linked person's message that mentions the bot, in a conversation that is bound to a group.
    pub(crate) async fn hear_bound(
        &self,
        incoming: &Incoming<'_>,
        user: &User,
        message: &Message,
        binding: ChannelBinding,
    ) -> Result<Handled> {
        let Incoming { live, row, is_behind, .. } = incoming;
        let Some(Bound { binding, .. }) = self.holds(live, binding).await? else {
            return Ok(Handled::silent());
        };
        let Some(logs) = self.logs() else { return Ok(Handled::silent()) };
        if *is_behind {
            return Ok(Handled::Later);
        }
        let say = |text: &str| Ok(incoming.say(None, self.chats.language(user.id), text));
        let text = message.text.trim();
        if text == "/help" {
            return say(HELP);
        }
        if let Some(answer) = gate_command(text) {
            return self.write_gate(incoming, user, binding.group, answer).await;
        }
        if text.is_empty() {
            return if message.media.is_empty() { Ok(Handled::silent()) } else { say(NO_FILES) };
        }
        let said = quoted_for_group(text, message.quoted.as_ref());
        let event = hex(&Sha256::digest(&row.platform_id));
        let send_id = format!("{}{}", binding.mark, &event[..SEND_ID_DIGITS - MARK_DIGITS]);
        match logs.post(user, binding.group, said, send_id).await {
            Ok(mut notes) => {
                if !message.media.is_empty() {
                    notes.push(NO_FILES.to_owned());
                }
                if notes.is_empty() { Ok(Handled::silent()) } else { say(&notes.join("\n")) }
            }
            Err(error) => self.refused(incoming, user, error),
        }
    }

    /// Turns an error into a reply that gives the reason, or schedules another try.
    pub(crate) fn refused(&self, incoming: &Incoming<'_>, user: &User, error: Error) -> Result<Handled> {
        match error {
            Error::Refused { kind: "busy" | "unavailable", .. } => Ok(Handled::Later),
            Error::Store(error) if !error.is_callers() => Err(error.into()),
            error => Ok(incoming.say(None, self.chats.language(user.id), &error.of_group())),
        }
    }
}
