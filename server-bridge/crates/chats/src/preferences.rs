//! A user's settings for all of their agents.

use store::{APPROVAL, LANGUAGE, Store, User, UserId};

use crate::limits::{LANGUAGE_CHARS, OWN_INSTRUCTIONS_BYTES};
use crate::{ChatService, Error, Result};
use agent::approval::Mode;

const INSTRUCTIONS: &str = "agent_instructions";

/// A user's settings for their agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Instructions for every agent, in all chats; at most 32 KiB.
    pub instructions: Option<String>,
    /// The language to answer in, as free text of at most 64 characters on one line; the user's own language if not set.
    pub language: Option<String>,
    /// The mode of a new chat; `ask` if not set.
    pub approval: Option<Mode>,
}

impl ChatService {
    /// The user's settings for their agents.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn preferences(&self, user: UserId) -> Result<Preferences> {
        let store = &self.0.store;
        let (instructions, language) = (instructions(store, user).await?, language(store, user).await?);
        let approval = store.setting(user, APPROVAL).await?.and_then(|mode| mode.parse().ok());
        Ok(Preferences { instructions, language, approval })
    }

    /// Replaces all settings; a missing or empty one is reset. They take effect with the next turn. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] for a setting that is too long; [`Error::Store`].
    pub async fn set_preferences(&self, user: &User, wanted: &Preferences) -> Result<Preferences> {
        let kept = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (instructions, language) = (kept(&wanted.instructions), kept(&wanted.language));
        if instructions.as_ref().is_some_and(|text| text.len() > OWN_INSTRUCTIONS_BYTES) {
            return Err(Error::refused("invalid", "the instructions are longer than 32 KiB; shorten them"));
        }
        let is_name =
            |text: &String| text.chars().count() <= LANGUAGE_CHARS && !text.contains(char::is_control);
        if !language.iter().all(is_name) {
            return Err(Error::refused(
                "invalid",
                "that is not the name of a language; write a name on one line, such as German",
            ));
        }
        let store = &self.0.store;
        store.set_setting(user.id, INSTRUCTIONS, instructions.as_deref()).await?;
        store.set_setting(user.id, LANGUAGE, language.as_deref()).await?;
        store.set_setting(user.id, APPROVAL, wanted.approval.map(Mode::as_str)).await?;
        self.0.note(user, "settings.agent", None, "", "ok").await;
        Ok(Preferences { instructions, language, approval: wanted.approval })
    }

    /// The permissions that a user gave for good, in all of their chats; the newest first.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn approval_rules(&self, user: UserId) -> Result<Vec<store::ApprovalRule>> {
        Ok(self.0.store.approval_rules(user).await?)
    }

    /// Revokes a permission given for good: the next such call needs approval again. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] for a permission that was revoked or belongs to another user; [`Error::Store`].
    pub async fn revoke_approval_rule(&self, user: &User, rule: i64) -> Result<()> {
        let Some(tool) = self.0.store.revoke_approval_rule(user.id, rule).await? else {
            return Err(Error::refused(
                "not_found",
                "this approval was already revoked, or its chat was deleted",
            ));
        };
        self.0.note(user, "approval.revoke", None, &tool, "ok").await;
        Ok(())
    }
}

pub(crate) async fn instructions(store: &Store, user: UserId) -> store::Result<Option<String>> {
    store.setting(user, INSTRUCTIONS).await
}

pub(crate) async fn language(store: &Store, user: UserId) -> store::Result<Option<String>> {
    store.setting(user, LANGUAGE).await
}
