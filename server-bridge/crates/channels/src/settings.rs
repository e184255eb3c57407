//! The settings of a chat as buttons: its runner, its model and its approval mode.
//!
//! ```text
//!   /settings ─▶ a message with buttons for each setting ─▶ pressed ─▶ the chat's own command, posted once ─▶ the message shows its answer
//! ```
//! A press counts once, for the person who asked, and only while the conversation is still connected to the same chat.

use std::sync::Arc;

use chats::{Author, Choices, NewPost};
use platforms::Styled;
use sha2::{Digest as _, Sha256};
use store::{MessageRole, OpenAsk, Press, User, hex};

use crate::answers::message;
use crate::error::Result;
use crate::house::Inner;
use crate::incoming::{Handled, Incoming};
use crate::limits::PLACES_MAX;
use crate::offers::offer;
use crate::questions::{Choice, NO_LONGER, Setting};

fn title(choices: &Choices) -> String {
    let Choices { command, now, .. } = choices;
    match *command {
        "runner" => format!("Runner: {now}"),
        "model" => format!("Model: {now}"),
        _ => format!("Approval mode: {now}"),
    }
}

impl Inner {
    /// Shows the settings of a conversation's chat.
    pub(crate) async fn show_settings(&self, incoming: &Incoming<'_>, user: &User) -> Result<Handled> {
        let Incoming { live, event, row, .. } = incoming;
        let (account, conversation, language) =
            (live.account.id, &event.conversation.id, self.chats.language(user.id));
        let chat = self.store.channel_chat(account, conversation, user.id).await?;
        let found = match self.chats.choices(user, &chat).await {
            Ok(found) => found,
            Err(chats::Error::Store(error)) if !error.is_callers() => return Err(error.into()),
            Err(error) => return Ok(incoming.say(Some(user), language, &error.message())),
        };
        let mut last = self.store.last_press_place(account, conversation, user.id).await?;
        let mut rows = Vec::new();
        for choices in &found {
            let first = if last >= PLACES_MAX { 1 } else { last + 1 };
            let options = choices.options.iter().map(|option| {
                let command = format!("/{} {option}", choices.command);
                (option.clone(), Choice::Setting(Setting { chat: chat.to_string(), command }))
            });
            let options: Vec<_> = options.collect();
            last = first + i64::try_from(options.len()).unwrap_or(0) - 1;
            let offer = offer(&*live.platform, language, first, &options, self.ask_until_ms());
            let text = format!("{}{}", language.translated(&title(choices)), offer.numbers);
            let rendered = live.platform.render(&Styled::plain(&text), &offer.buttons);
            let source = format!("settings/{}/{}", row.id, choices.command);
            let payloads = rendered.into_iter().map(message).collect();
            let mut made = incoming.target(Some(user)).rows(account, &source, payloads);
            if let Some(last) = made.last_mut() {
                last.presses = offer.presses;
            }
            rows.extend(made);
        }
        Ok(Handled::Done(Vec::new(), rows))
    }

    /// Handles a press on a setting; returns the text for the person who pressed.
    pub(crate) async fn press_setting(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: &User,
        press: &Press,
        setting: &Setting,
    ) -> Result<String> {
        let Incoming { live, event, row, .. } = incoming;
        let conversation = &event.conversation.id;
        let chat = self.store.channel_chat(live.account.id, conversation, user.id).await?;
        if chat.as_str() != setting.chat {
            return Ok(NO_LONGER.to_owned());
        }
        // After a crash the press is handled again with the same id, so the chat posts the command once.
        let send_id = hex(&Sha256::digest(format!("channel/{}/{}", live.account.id, row.platform_id)));
        let post = NewPost {
            text: &setting.command,
            send_id: Some(&send_id),
            attachments: &[],
            author: Author::Owner,
            client: None,
        };
        let text = match self.chats.say(user, &chat, post).await {
            Ok(answered) => {
                let answers = self.answers_to(user, &chat, &answered).await?;
                let notices = answers.into_iter().filter(|answer| answer.role == MessageRole::Notice);
                notices.map(|notice| notice.text).collect::<Vec<_>>().join("\n\n")
            }
            Err(chats::Error::Store(error)) if !error.is_callers() => return Err(error.into()),
            Err(error) => error.message(),
        };
        let ask = OpenAsk {
            outbox_id: press.outbox_id,
            account_id: press.account_id,
            conversation: press.conversation.clone(),
            is_group: event.conversation.is_group,
            user: press.user,
            ask: None,
        };
        self.show_outcome(&ask, &text, Some(event)).await?;
        self.store.use_presses(press.outbox_id).await?;
        Ok(press.label.clone())
    }
}
