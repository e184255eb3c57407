//! Listing, adding, changing and choosing models for clients.

use store::{CHOSEN_MODEL, ChatId, KeyChange, User};

use super::Trial;
use super::trial::trial;
use crate::limits::{KEY_HIDDEN_CHARS, KEY_SHOWN_CHARS};
use crate::models::{Choice, Known, SERVER, Secret, Subscription, refuse, subscription_name};
use crate::{ChatService, Result};

/// A subscription as its user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// The subscription's name.
    pub name: String,
    /// The subscription itself.
    pub subscription: Subscription,
    /// The last four characters of the key; empty for a short key. `None` if the subscription has no key.
    pub key_end: Option<String>,
}

/// A change to the key of a subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyGiven {
    /// The request contains nothing about the key.
    #[default]
    Absent,
    /// The key is removed.
    None,
    /// The key is set to this one.
    Key(Secret),
}

/// A subscription to add, or to replace another one.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSubscription {
    /// The subscription itself.
    pub subscription: Subscription,
    /// The key; a subscription that is changed keeps its old key if none is given.
    pub key: KeyGiven,
}

impl ChatService {
    /// A user's subscriptions and the server's.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub async fn models(&self, user: &User) -> Result<Known> {
        self.0.models.known(&self.0, user).await
    }

    /// A user's own subscription.
    ///
    /// # Errors
    /// [`crate::Error::UnknownModel`], also for another user's.
    pub async fn subscription(&self, user: &User, name: &str) -> Result<Owned> {
        let known = self.models(user).await?;
        let subscription = own(&known, name)?.clone();
        // A key that can no longer be decrypted still counts as present.
        let key_end = match self.0.store.subscription_key(user.id, name).await {
            Ok(key) => key.as_deref().map(shown_end),
            Err(store::Error::Sealed) => Some(String::new()),
            Err(error) => return Err(error.into()),
        };
        Ok(Owned { name: name.to_owned(), subscription, key_end })
    }

    /// Adds a subscription for a user. Audited.
    ///
    /// # Errors
    /// [`crate::Error::Refused`] and [`crate::Error::Model`] with the reason; [`crate::Error::Store`] for a name that is
    /// taken or invalid.
    pub async fn add_subscription(&self, user: &User, name: &str, new: &NewSubscription) -> Result<Owned> {
        let added = self.add(user, name, new).await;
        self.note(user, "model.add", name, added.is_ok()).await;
        added
    }

    async fn add(&self, user: &User, name: &str, new: &NewSubscription) -> Result<Owned> {
        let name = subscription_name(name)?;
        self.check(user, &new.subscription).await?;
        let key = match key_change(None, new)? {
            KeyChange::Set(key) => Some(key),
            KeyChange::Keep | KeyChange::Remove => None,
        };
        self.0.store.add_subscription(user.id, &name, &new.subscription.to_json(), key).await?;
        self.subscription(user, name.as_str()).await
    }

    /// Replaces a subscription. A key stays only with the address for which it was given, so that an intruder who took over a session
    /// cannot obtain a key by naming a different address.
    ///
    /// # Errors
    /// As for [`ChatService::add_subscription`], and [`crate::Error::UnknownModel`].
    pub async fn change_subscription(&self, user: &User, name: &str, new: &NewSubscription) -> Result<Owned> {
        let changed = self.change(user, name, new).await;
        self.note(user, "model.change", name, changed.is_ok()).await;
        changed
    }

    async fn change(&self, user: &User, name: &str, new: &NewSubscription) -> Result<Owned> {
        let old = self.subscription(user, name).await?;
        self.check(user, &new.subscription).await?;
        let key = key_change(Some(&old), new)?;
        self.0.store.change_subscription(user.id, name, &new.subscription.to_json(), key).await?;
        self.subscription(user, name).await
    }

    /// Removes a user's subscription with its key. It is no longer the user's chosen model either; chats for which it was chosen report this until they
    /// are given another model.
    ///
    /// # Errors
    /// [`crate::Error::UnknownModel`].
    pub async fn remove_subscription(&self, user: &User, name: &str) -> Result<()> {
        let removed = self.remove(user, name).await;
        self.note(user, "model.remove", name, removed.is_ok()).await;
        removed
    }

    async fn note(&self, user: &User, action: &str, name: &str, is_done: bool) {
        self.0.note(user, action, None, name, if is_done { "ok" } else { "refused" }).await;
    }

    async fn remove(&self, user: &User, name: &str) -> Result<()> {
        own(&self.models(user).await?, name)?;
        Ok(self.0.store.remove_subscription(user.id, name).await?)
    }

    /// The choice of a model for a chat, or for a user's chats that have no choice of their own; `None` if nothing was chosen and the
    /// first subscription answers.
    ///
    /// # Errors
    /// [`crate::Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn chosen_model(&self, user: &User, chat: Option<&ChatId>) -> Result<Option<String>> {
        self.0.models.chosen(&self.0, user, chat).await
    }

    /// Chooses the model of a chat, or of all of a user's chats that have no choice of their own; `None` resets the choice. Returns the
    /// choice in full.
    ///
    /// # Errors
    /// [`crate::Error::Refused`] and [`crate::Error::UnknownModel`] for an invalid choice; [`crate::Error::Store`] for a chat that was
    /// deleted or belongs to another user.
    pub async fn choose_model(
        &self,
        user: &User,
        chat: Option<&ChatId>,
        choice: Option<&str>,
    ) -> Result<Option<String>> {
        let choice = match choice {
            Some(choice) => Some(self.in_full(user, chat, choice).await?),
            None => None,
        };
        match chat {
            Some(chat) => {
                self.0.store.set_chat_model(user.id, chat, choice.as_deref()).await?;
                self.0.tell_chat(user.id, chat).await?;
            }
            None => {
                self.0.store.set_setting(user.id, CHOSEN_MODEL, choice.as_deref()).await?;
                self.note(user, "settings.model", choice.as_deref().unwrap_or("auto"), true).await;
            }
        }
        Ok(choice)
    }

    /// Asks a model for one word, once.
    ///
    /// # Errors
    /// [`crate::Error::Model`], if the model does not answer.
    pub async fn try_model(&self, user: &User, choice: &str) -> Result<Trial> {
        trial(&self.0, user, choice).await
    }

    async fn in_full(&self, user: &User, chat: Option<&ChatId>, choice: &str) -> Result<String> {
        let known = self.models(user).await?;
        let current = self.chosen_model(user, chat).await?;
        // The chosen model may have been removed; then a tier refers to the first subscription.
        let current = current
            .and_then(|current| known.pick(Some(&Choice::parse(&current).ok()?), None).ok())
            .map(|picked| picked.subscription);
        known.in_full(&Choice::parse(choice)?, current.as_deref())
    }

    pub(super) async fn check(&self, user: &User, subscription: &Subscription) -> Result<()> {
        subscription.check(self.0.models.reach(user))?;
        self.check_runner(user, subscription).await
    }

    /// Checks that the runner that relays belongs to the user.
    pub(super) async fn check_runner(&self, user: &User, subscription: &Subscription) -> Result<()> {
        if let Some(runner) = &subscription.runner {
            let registered = self.0.store.runners(user.id).await?;
            if !registered.iter().any(|known| known.name == *runner) {
                return refuse(
                    "you have no runner with that name; `sandbridge runner list` lists your runners",
                );
            }
        }
        Ok(())
    }
}

fn own<'a>(known: &'a Known, name: &str) -> Result<&'a Subscription> {
    if name == SERVER {
        return refuse(
            "the server's own model can be changed only in the settings with which the server is started",
        );
    }
    known.subscription(name)
}

/// The change of the key for a subscription that replaces `old`, or for a new one.
pub(super) fn key_change<'a>(old: Option<&Owned>, new: &'a NewSubscription) -> Result<KeyChange<'a>> {
    let Subscription { provider, runner, .. } = &new.subscription;
    let is_same_place = |old: &Subscription| {
        old.address() == new.subscription.address() && (old.provider, &old.runner) == (*provider, runner)
    };
    Ok(match (&new.key, old) {
        (KeyGiven::Key(key), _) => KeyChange::Set(checked(&new.subscription, &key.0)?),
        (KeyGiven::None, _) | (KeyGiven::Absent, None) => KeyChange::Remove,
        (KeyGiven::Absent, Some(old)) if old.key_end.is_none() || is_same_place(&old.subscription) => {
            KeyChange::Keep
        }
        (KeyGiven::Absent, Some(_)) if runner.is_some() => KeyChange::Remove,
        (KeyGiven::Absent, Some(_)) => {
            return refuse("the address has changed, so give the key again");
        }
    })
}

/// Checks that a header can contain the key.
fn checked<'a>(subscription: &Subscription, key: &'a str) -> Result<&'a str> {
    let key = key.trim();
    if subscription.runner.is_some() {
        return refuse("the runner has the key; do not give one here");
    }
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return refuse("the key is empty or contains characters that a key cannot have; paste it again");
    }
    Ok(key)
}

/// The end of a key, by which its owner can recognise the key.
fn shown_end(key: &str) -> String {
    if key.len() < KEY_HIDDEN_CHARS + KEY_SHOWN_CHARS {
        return String::new();
    }
    key[key.len() - KEY_SHOWN_CHARS..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_key_is_shown() {
        assert_eq!(shown_end("sk-0123456789abcd"), "abcd");
        assert_eq!(shown_end("sk-01234567"), "");
        assert_eq!(shown_end("sk-012345678"), "5678");
    }
}
