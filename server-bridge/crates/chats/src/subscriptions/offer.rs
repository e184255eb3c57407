//! A subscription before it is stored: trying its model, and listing its provider's models.

use std::collections::HashSet;

use llm::Model;
use llm::slots::Kind;
use store::{KeyChange, User};
use tokio::time::timeout;

use super::manage::key_change;
use agent::models::ModelSetup;

use super::trial::ask_for_a_word;
use super::{NewSubscription, Trial};
use crate::limits::{MODEL_LIST_TIMEOUT, MODELS_LISTED};
use crate::models::{check_model_name, refuse, subscription_name};
use crate::{ChatService, Error, Result};

/// The models that a provider lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The models' names in the provider's order, each once; names that could not be chosen are left out.
    pub names: Vec<String>,
    /// True if the list is complete; false if it was cut to the first [`MODELS_LISTED`].
    pub is_complete: bool,
}

impl ChatService {
    /// Asks a model of a subscription that is not stored yet for one word, once. `name` is the subscription's intended name: if a stored
    /// subscription has this name and the same address, and no key is given, the stored key is used.
    ///
    /// # Errors
    /// As for [`ChatService::change_subscription`], and [`Error::Model`] if the model does not answer.
    pub async fn try_subscription(
        &self,
        user: &User,
        name: Option<&str>,
        new: &NewSubscription,
    ) -> Result<Trial> {
        self.check(user, &new.subscription).await?;
        let model = self.provider_of(user, name, new).await?;
        let Some((_, tier_model)) = new.subscription.of_tier(new.subscription.tier()) else {
            return refuse("name a model to try");
        };
        let setup = ModelSetup {
            model,
            name: tier_model.name.clone(),
            subscription: name.unwrap_or_default().to_owned(),
            kind: Kind::Personal,
            window_tokens: tier_model.window_tokens(),
            reply_tokens: tier_model.reply_tokens(),
            thinking_tokens: tier_model.thinking_tokens,
            price: tier_model.price.unwrap_or_default(),
        };
        ask_for_a_word(&self.0, user.id, setup).await
    }

    /// Asks a provider for its models, with the key as for [`ChatService::try_subscription`]; `None` if the provider has no list. The
    /// subscription's own models are ignored.
    ///
    /// # Errors
    /// As for [`ChatService::try_subscription`]; [`llm::Error::Timeout`] after [`MODEL_LIST_TIMEOUT`].
    pub async fn offered_models(
        &self,
        user: &User,
        name: Option<&str>,
        new: &NewSubscription,
    ) -> Result<Option<Offered>> {
        let models = &self.0.models;
        new.subscription.check_place(models.reach(user))?;
        self.check_runner(user, &new.subscription).await?;
        let model = self.provider_of(user, name, new).await?;
        let seat = models.seat(user.id, Kind::Personal);
        let asked = async {
            let _slot = seat.take().await;
            model.list().await
        };
        let late = || {
            let limit_s = MODEL_LIST_TIMEOUT.as_secs();
            Error::Model(llm::Error::Timeout(format!("no list of its models within {limit_s} s")))
        };
        let listed = timeout(MODEL_LIST_TIMEOUT, asked).await.map_err(|_| late())??;
        Ok(listed.map(offered))
    }

    async fn provider_of(&self, user: &User, name: Option<&str>, new: &NewSubscription) -> Result<Model> {
        let name = name.map(subscription_name).transpose()?;
        let old = match &name {
            Some(name) => match self.subscription(user, name.as_str()).await {
                Ok(old) => Some(old),
                Err(Error::UnknownModel { .. }) => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let key = match (key_change(old.as_ref(), new)?, &name) {
            (KeyChange::Set(key), _) => Some(key.to_owned()),
            (KeyChange::Keep, Some(name)) => self.0.store.subscription_key(user.id, name.as_str()).await?,
            (KeyChange::Keep, None) | (KeyChange::Remove, _) => None,
        };
        self.0.models.provider(&self.0, user, &new.subscription, key.as_deref(), false).await
    }
}

fn offered(listed: Vec<String>) -> Offered {
    let mut known = HashSet::new();
    let mut names: Vec<String> = listed
        .into_iter()
        .filter(|name| check_model_name(name).is_ok() && known.insert(name.clone()))
        .take(MODELS_LISTED + 1)
        .collect();
    let is_complete = names.len() <= MODELS_LISTED;
    names.truncate(MODELS_LISTED);
    Offered { names, is_complete }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_chosen_are_left_out_and_a_long_list_is_cut() {
        let listed = ["b", "a", "b", "", " a", "a\u{1b}[31m", "a\n"].map(str::to_owned).to_vec();
        let expected = Offered { names: vec!["b".to_owned(), "a".to_owned()], is_complete: true };
        assert_eq!(offered(listed), expected);
        let many = (0..10_000).map(|number| format!("m{number}"));
        let Offered { names, is_complete } = offered(many.collect());
        assert_eq!((names.len(), is_complete), (MODELS_LISTED, false));
        assert_eq!(names[1], "m1");
    }
}
