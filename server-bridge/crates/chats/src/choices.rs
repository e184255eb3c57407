//! What a person can choose for a chat, as buttons show it: where its commands run, which model answers, and what the model may do
//! without asking. Each choice is made by the chat's own command.

use agent::approval::Mode;
use store::{ChatId, User};

use crate::commands::runner;
use crate::limits::CHOICES_MAX;
use crate::{ChatService, Result};

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The word of the command that chooses it, without the slash.
    pub command: &'static str,
    /// What is chosen now, in the words of the command.
    pub now: String,
    /// What can be chosen, in the words of the command.
    pub options: Vec<String>,
}

impl ChatService {
    /// What can be chosen for a chat: its runner, its model, its approval mode.
    ///
    /// # Errors
    /// [`crate::Error::Store`] for a chat that is gone or another user's.
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

/// Choices with one more that leaves it to the user's own settings.
fn choices(command: &'static str, now: Option<String>, mut options: Vec<String>, none: &str) -> Choices {
    options.truncate(CHOICES_MAX - 1);
    options.push(none.to_owned());
    Choices { command, now: now.unwrap_or_else(|| none.to_owned()), options }
}
