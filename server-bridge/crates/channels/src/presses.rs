//! Handles presses on buttons, according to the person who pressed and the choice that the button stands for.

use std::sync::Arc;
use std::time::Duration;

use api::language::Language;
use platforms::event::Press as Pressed;
use sha2::{Digest as _, Sha256};
use store::{Press, User, hex};
use tokio::time::timeout;

use crate::asks::asked;
use crate::document::Document;
use crate::error::Result;
use crate::house::Inner;
use crate::incoming::{Handled, Incoming};
use crate::questions::{Choice, FOR_OTHERS, NO_LONGER};

/// How long the messenger may take to show the outcome of a button press.
const PRESS_TIMEOUT: Duration = Duration::from_secs(10);

impl Inner {
    /// Handles the event of a press on a button, and shows its outcome to the person who pressed.
    pub(crate) async fn pressed(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        pressed: &Pressed,
    ) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let (account, conversation) = (&live.account, &event.conversation);
        let bound = self.store.channel_binding(account.id, &conversation.id).await?;
        let is_heard = Document::of(account).allows(&event.sender.id)
            && (bound.is_some()
                || !conversation.is_group
                || self.store.is_channel_group(account.id, &conversation.id).await?);
        if !is_heard {
            return Ok(Handled::silent());
        }
        let user = self.linked(incoming).await?;
        let (text, handled) = match bound {
            Some(bound) => {
                (self.press_gate(incoming, user.as_ref(), pressed, bound).await?, Handled::silent())
            }
            None => self.press(incoming, user.as_ref(), pressed).await?,
        };
        let language = user.map_or(Language::English, |user| self.chats.language(user.id));
        let text = language.translated(&text);
        let answering = live.platform.answer_press(&pressed.handle, &text);
        if !matches!(timeout(PRESS_TIMEOUT, answering).await, Ok(Ok(()))) {
            tracing::debug!(event = event.id, "the outcome of a button press could not be shown");
        }
        Ok(handled)
    }

    /// Returns the recorded choice that a press stands for, if it belongs to this message of this conversation.
    pub(crate) async fn known_press(
        &self,
        incoming: &Incoming<'_>,
        pressed: &Pressed,
    ) -> Result<Option<Press>> {
        let known = self.store.channel_press(&hex(&Sha256::digest(&pressed.token))).await?;
        let is_there = |press: &Press| {
            press.account_id == incoming.live.account.id
                && press.conversation == incoming.event.conversation.id
                && press.platform_id.as_ref().is_none_or(|id| *id == pressed.message)
        };
        Ok(known.filter(is_there))
    }

    /// Handles a button press; returns the text for the person who pressed.
    async fn press(
        self: &Arc<Self>,
        incoming: &Incoming<'_>,
        user: Option<&User>,
        pressed: &Pressed,
    ) -> Result<(String, Handled)> {
        let none = |text: &str| Ok((text.to_owned(), Handled::silent()));
        let event = incoming.event;
        let Some(press) = self.known_press(incoming, pressed).await? else { return none(NO_LONGER) };
        let is_asked = user.is_some_and(|user| press.user == Some(user.id));
        let choice = Choice::of(&press);
        if !is_asked && let (Some(user), Some(Choice::Card(_))) = (user, &choice) {
            self.refused_card(incoming, user, &press, "for somebody else").await;
        }
        let Some(user) = user.filter(|_| is_asked) else {
            return none(FOR_OTHERS);
        };
        if press.used_at_ms.is_some() || press.expires_at_ms <= self.store.now_ms() {
            if let Some(Choice::Card(_)) = &choice {
                self.refused_card(incoming, user, &press, "too late").await;
            }
            return none(NO_LONGER);
        }
        let label = press.label.clone();
        match choice {
            Some(Choice::Card(reply)) => self.press_card(incoming, user, &press, reply).await,
            Some(Choice::Setting(setting)) => {
                let text = self.press_setting(incoming, user, &press, &setting).await?;
                Ok((text, Handled::silent()))
            }
            Some(Choice::Ask(reply)) => {
                let ask = asked(press, event.conversation.is_group);
                let text = self.take(incoming, user, &ask, reply, &label).await?;
                Ok((text, Handled::silent()))
            }
            // A gate can be answered only in conversations that are bound to its group.
            Some(Choice::Gate(_)) | None => none(NO_LONGER),
        }
    }
}
