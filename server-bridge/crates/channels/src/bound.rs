//! Conversations that belong to a group of people and agents: what members say there is posted to its log.
//!
//! ```text
//!   /group use NAME ─▶ binding ─▶ a member's message with a mention ─▶ the log, once (its send id begins with the binding's mark)
//!                                 the log's entries by others (`showing`) ─▶ the conversation, once each
//! ```
//! Everybody in the conversation reads the log, so a binding needs an owner of the group. It ends with `/group on` and `/group off`, on the page
//! (`bindings`), with the group, when the bot leaves the conversation, and when the bot's owner is no longer an owner of the group.

use std::sync::Arc;

use platforms::Styled;
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

/// What works in such a conversation.
const HELP: &str = "What you write here with a mention of me is posted to the group, and @NAME asks an agent; everything else that is said in the group is shown here.\n/approve NUMBER, /edit NUMBER TEXT, /redo NUMBER TEXT, /more NUMBER, /stop NUMBER  answer a question of a chain\n/group off  end this, for the owner of this bot";

/// Said if a message has files.
const NO_FILES: &str = "Files are not posted to the group, only texts.";

/// A binding that holds.
pub(crate) struct Bound {
    pub(crate) binding: ChannelBinding,
    /// The owner of the bot, who is an owner of the group.
    pub(crate) owner: User,
}

impl Inner {
    /// The groups, once the server has them.
    pub(crate) fn logs(&self) -> Option<&Arc<dyn GroupLogs>> {
        self.logs.get()
    }

    /// A binding, if it still holds; ends it if the owner of the bot may no longer show the log.
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

    /// Has a conversation belong to a group, as the owner of the bot wishes.
    pub(crate) async fn bind(&self, incoming: &Incoming<'_>, user: &User, name: &str) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let (account, conversation) = (&live.account, &event.conversation.id);
        let say = |text: &str| Ok(incoming.say(None, self.chats.language(user.id), text));
        if name.is_empty() {
            return say("Write the group's title or number after the command, as in /group use Work");
        }
        if live.platform.caps().reply_window_ms.is_some() {
            return say(
                "This messenger lets the bot only reply, so the messages of a group cannot come here.",
            );
        }
        let Some(logs) = self.logs() else { return Ok(Handled::silent()) };
        let group = match logs.named(user, name).await {
            Ok(group) => group,
            Err(error) => return self.refused(incoming, user, error),
        };
        let before = self.store.channel_binding(account.id, conversation).await?;
        // After a crash the same command comes again.
        if before.as_ref().is_none_or(|before| before.group != group.id) {
            let text = format!(
                "{} has this log shown on {} (channel {}): everybody in a conversation there reads it from now on.",
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
            "This conversation belongs to the group {title:?} now: what you write here with a mention of me is posted there, and everybody here reads all that is said there. Only those who are linked and in the group can write. /group off ends that."
        ))
    }

    /// Handles what a person who is linked wrote, with a mention, in a conversation that belongs to a group.
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

    /// Says why something was refused, or has it tried again later.
    pub(crate) fn refused(&self, incoming: &Incoming<'_>, user: &User, error: Error) -> Result<Handled> {
        match error {
            Error::Refused { kind: "busy" | "unavailable", .. } => Ok(Handled::Later),
            Error::Store(error) if !error.is_callers() => Err(error.into()),
            error => Ok(incoming.say(None, self.chats.language(user.id), &error.of_group())),
        }
    }
}
