//! Takes back turns, with the files that they changed.
//!
//! ```text
//! rest ─▶ choose turns ─▶ check their files ──all as they were left──▶ restore them ─▶ mark the turns ─▶ add a notice
//!                              └── one is not, or its machine cannot be reached: nothing is done, and the reason is reported
//! ```
//! Files are restored on their own machines, wherever the chat works now. The changes of commands are unknown; the notice states that they stay.

mod files;
mod plan;
mod words;

use std::sync::Arc;

use store::limits::PAGE_MAX_ROWS;
use store::{ChatId, Message, MessageId, MessageRole, PastTurn, User};

use crate::house::House;
use crate::{ChatEvent, ChatService, Error, Result, turns};
use files::Restored;
pub(crate) use words::said;

/// The turns to take back, and the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakeBack {
    /// The turns to take back.
    pub turns: Turns,
    /// True if the turns' files are restored too.
    pub files: bool,
    /// True if files are restored even if something else has changed them since.
    pub force: bool,
}

/// Some of the last turns of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// The last turns, this many.
    Last(usize),
    /// The turn with this message, and all turns after it.
    From(MessageId),
}

/// The result of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// The first of the user's messages that were taken back, to be changed and sent again.
    pub text: String,
    /// The number of turns that were taken back.
    pub turns: usize,
    /// The restored files.
    pub restored: Vec<RestoredFile>,
    /// The files that were not restored, with the reasons.
    pub not_restored: Vec<(RestoredFile, String)>,
    /// The number of commands that ran in these turns; their changes stay.
    pub commands: i64,
    /// The notice in the chat about the undo.
    pub notice: Message,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredFile {
    /// The machine that has the file.
    pub place: String,
    /// The file's path on that machine.
    pub path: String,
}

impl ChatService {
    /// Takes back the last turns of a user's chat.
    ///
    /// # Errors
    /// [`Error::Refused`] with `invalid` for a sub-agent's chat, `busy` if an answer is in progress, `not_found` if there is no such
    /// turn, `conflict` if a file was changed since, and with the sandbox's error if a file's machine cannot be reached; in all of these
    /// cases, nothing is changed. With `not_restored`, some files are restored and the conversation stays. [`Error::Store`] for a chat
    /// that was deleted or belongs to another user; [`Error::Stopping`].
    pub async fn take_back(&self, user: &User, chat: &ChatId, wanted: TakeBack) -> Result<TakenBack> {
        let _tracked = self.0.tasks.token();
        if self.0.is_stopping(user.id) {
            return Err(Error::Stopping);
        }
        take_back(&self.0, user, chat, wanted).await
    }
}

pub(crate) async fn take_back(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    wanted: TakeBack,
) -> Result<TakenBack> {
    service.store.chat(user.id, chat).await?;
    if service.store.sub_agent(user.id, chat).await?.is_some() {
        let text =
            "This is a sub-agent's chat; to take back what it did, go to the chat whose agent called it.";
        return Err(Error::refused("invalid", text));
    }
    let Some(_rest) = turns::rest(service, user, chat).await else {
        let text = "An answer is under way in this chat. Wait until it ends, or stop it with /cancel, before you take anything back.";
        return Err(Error::refused("busy", text));
    };
    let turns = chosen(service, user, chat, wanted.turns).await?;
    let Some(first) = turns.last() else {
        return Err(Error::refused("not_found", "There is nothing to take back in this chat."));
    };
    let at_work = service.store.background_open(user.id, chat).await?;
    if at_work.iter().any(|open| turns.iter().any(|turn| turn.id == open.root)) {
        let text = "A sub-agent of that answer is still at work in the background. Wait until it ends, or stop it with /cancel, before you take anything back.";
        return Err(Error::refused("busy", text));
    }
    let mut restored = Restored::default();
    if wanted.files {
        let checkpoints = service.store.checkpoints(user.id, chat, first.id).await?;
        let restore = files::Restore { service, user, chat, turns: turns.len() };
        restored = restore.all(plan::of(checkpoints), wanted.force).await?;
    }
    let ids: Vec<_> = turns.iter().map(|turn| turn.id).collect();
    for message in service.store.take_back(user.id, chat, &ids).await? {
        service.tell(user.id, ChatEvent::Message(message));
    }
    let commands = turns.iter().map(|turn| turn.commands).sum();
    let said = words::taken_back(&turns, wanted.files, &restored, commands);
    let notice = service.say(user.id, chat, MessageRole::Notice, &said).await?;
    let Restored { files, not_restored } = restored;
    // A turn that began by itself has no text of the user.
    let text = if first.by_itself { String::new() } else { first.text.clone() };
    let turns = turns.len();
    let restored = files.into_iter().map(|(file, _)| file).collect();
    Ok(TakenBack { text, turns, restored, not_restored, commands, notice })
}

/// The chosen turns, the last one first.
async fn chosen(service: &House, user: &User, chat: &ChatId, turns: Turns) -> Result<Vec<PastTurn>> {
    let mut past = service.store.past_turns(user.id, chat, PAGE_MAX_ROWS).await?;
    match turns {
        Turns::Last(count) if count > past.len() && count > 1 => {
            let text = format!("Only {} of the messages in this chat can be taken back.", past.len());
            return Err(Error::refused("not_found", text));
        }
        Turns::Last(count) => past.truncate(count),
        Turns::From(message) => {
            let unknown = || {
                let text = format!(
                    "Message #{message} cannot be taken back in this chat; /rewind lists those that can."
                );
                Error::refused("not_found", text)
            };
            let turn = match service.store.turn_of_message(user.id, chat, message).await {
                Ok(turn) => turn,
                Err(store::Error::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            let of_turn = |past: &PastTurn| Some(past.id) == turn || past.message == Some(message);
            let at = past.iter().position(of_turn).ok_or_else(unknown)?;
            past.truncate(at + 1);
        }
    }
    Ok(past)
}

/// Parses `N`, for the last N messages, or `#ID`, for a message and all after it.
pub(crate) fn address(word: &str) -> Option<Turns> {
    match word.strip_prefix('#') {
        Some(id) => id.parse().ok().map(|id| Turns::From(MessageId(id))),
        None => word.parse().ok().filter(|count| *count > 0).map(Turns::Last),
    }
}
