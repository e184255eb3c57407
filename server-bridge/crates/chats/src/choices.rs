//! The settings of a chat that front ends offer as buttons: its runner, its model and its approval mode. Each choice is made with the
//! chat's own command.

use agent::approval::Mode;
use store::{ChatId, User};

use crate::commands::runner;
use crate::limits::CHOICES_MAX;
use crate::{ChatService, Result};

/// A setting of a chat and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The command that changes the setting, without the slash.
    pub command: &'static str,
    /// The current value, in the form that the command takes.
    pub now: String,
    /// The possible values, in the form that the command takes.
    pub options: Vec<String>,
}

impl ChatService {
    /// The settings of a chat with their options: its runner, its model and its approval mode.
    ///
    /// # Errors
    /// [`crate::Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn choices(&self, user: &User, chat: &ChatId) -> Result<Vec<Choices>> {
        let house = &self.0;
        let bound = house.store.chat(user.id, chat).await?.runner;
        let places = runner::usable_places(house, user).await?;
        let model = house.store.chat_model(user.id, chat).await?;
        let known = house.models.known(house, user).await?;
        let is_one = known.iter().count() == 1;
        let models = known.iter().flat_map(|(name, subscription)| {
            subscription.models.keys().map(move |tier| match is_one {
                true => tier.as_str().to_owned(),
                false => format!("{name}/{}", tier.as_str()),
            })
        });
        let modes = Mode::ALL.map(|mode| mode.to_string()).to_vec();
        Ok(vec![
            choices("runner", bound, places, runner::AUTO),
            choices("model", model, models.collect(), "default"),
            Choices { command: "approval", now: house.store.approval(user.id, chat).await?, options: modes },
        ])
    }
}

/// The choices of a setting, including the option that falls back to the user's own settings.
fn choices(command: &'static str, now: Option<String>, mut options: Vec<String>, none: &str) -> Choices {
    options.truncate(CHOICES_MAX - 1);
    options.push(none.to_owned());
    Choices { command, now: now.unwrap_or_else(|| none.to_owned()), options }
}
