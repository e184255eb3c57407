//! The models: the server's own and the users' own, and how a chat's model is chosen among them.
//!
//! ```text
//!   the chat's choice ─or─ its user's ─or─ the server's own ─or─ the user's only one
//!        └─▶ Subscription (provider) + Tier or name (model) ─▶ ModelSetup ─▶ and its stand-ins
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `subscription` | [`Subscription`]: provider, address or runner, models, prices |
//! | `choice` | [`Choice`]: the words that name a model |
//! | `known` | a user's subscriptions and the server's, and how a choice resolves among them |
//! | `relay` | the transport through a runner |

mod choice;
mod known;
mod relay;
mod subscription;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::models::{Admission, ModelChain, ModelSetup, Place};
use llm::anthropic::Anthropic;
use llm::embed::{Embedder, Protocol, Rest, WEIGHTS_FILE};
use llm::http::{Connections, Http, KeyHeader, Reach};
use llm::openai::OpenAi;
use llm::retry::Patience;
use llm::slots::{Kind, Seat, Slots};
use llm::{Deadlines, Dialect, Model};
use store::{CHOSEN_MODEL, ChatId, User};

use crate::Result;
use crate::limits::FALLBACKS;
use agent::limits::TURNS_AT_ONCE;
use execs::sandbox_user;
use tools::Services;

pub use agent::models::Tier;
pub use choice::{Choice, Which};
pub use known::Known;
use known::Picked;
use relay::Relay;
pub use subscription::{Provider, SERVER, Subscription, TierModel, subscription_name};
pub(crate) use subscription::{check_model_name, refuse};

/// The operator's settings for models.
#[derive(Clone, Debug)]
pub struct ModelsConfig {
    /// The server's own subscription and its key, which all users share.
    pub server: Option<(Subscription, Option<Secret>)>,
    /// True if users may name addresses in the server's own network; administrators always may.
    pub private_addresses: bool,
    /// The retries and timeouts of requests to a model.
    pub patience: Patience,
    /// The deadlines of a single request.
    pub deadlines: Deadlines,
    /// Limit on the answers in progress in the whole server.
    pub turns_at_once: usize,
    /// The file of the built-in embedder; if absent, the file in the program's directory.
    pub embedder_weights: Option<PathBuf>,
}

impl Default for ModelsConfig {
    fn default() -> Self {
        let (patience, deadlines) = Default::default();
        Self {
            server: None,
            private_addresses: false,
            patience,
            deadlines,
            turns_at_once: TURNS_AT_ONCE,
            embedder_weights: None,
        }
    }
}

/// A provider's key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The models and the limits that they share.
#[derive(Debug)]
pub(crate) struct Models {
    config: ModelsConfig,
    connections: Connections,
    slots: Slots,
    admission: Admission,
    /// Shared by all users, so that the weights are in memory once.
    built_in_embedder: Embedder,
    /// The pauses of embedders, keyed by the setting that names each.
    embedder_rests: Mutex<HashMap<String, Rest>>,
}

impl ModelsConfig {
    /// True if the server's own model can be asked with its current setup.
    ///
    /// # Errors
    /// An invalid address or key.
    pub fn check(&self) -> Result<()> {
        let Some((subscription, key)) = &self.server else { return Ok(()) };
        subscription.check(Reach::Anywhere)?;
        let key = key.as_ref().map(|key| key.0.as_str());
        direct(&Connections::default(), Reach::Anywhere, subscription, key)?;
        Ok(())
    }
}

impl Models {
    pub(crate) fn new(config: ModelsConfig) -> Self {
        let admission = Admission::new(config.turns_at_once);
        let built_in_embedder =
            Embedder::built_in(config.embedder_weights.clone().unwrap_or_else(beside_program));
        Self {
            config,
            connections: Connections::default(),
            slots: Slots::default(),
            admission,
            built_in_embedder,
            embedder_rests: Mutex::default(),
        }
    }

    /// The pauses of the embedder that this setting names.
    pub(crate) fn embedder_rest(&self, setting: &str) -> Rest {
        self.rests().entry(setting.to_owned()).or_default().clone()
    }

    /// Ends the pause of the embedder that this setting names, so that it is asked again at once.
    pub(crate) fn forget_embedder_rest(&self, setting: &str) {
        self.rests().remove(setting);
    }

    fn rests(&self) -> MutexGuard<'_, HashMap<String, Rest>> {
        // An entry is added or removed in a single step, so the data stays consistent if another thread panics.
        self.embedder_rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The embedder built into this program.
    pub(crate) fn built_in_embedder(&self) -> Embedder {
        self.built_in_embedder.clone()
    }

    /// An embedding model of a user's or the server's subscription.
    pub(crate) async fn embedder(
        &self,
        house: &Services,
        user: &User,
        name: &str,
        protocol: Protocol,
        model: &str,
    ) -> Result<Embedder> {
        let known = self.known(house, user).await?;
        let subscription = known.subscription(name)?;
        if subscription.provider != Provider::OpenAi {
            return refuse("this provider has no embeddings; choose a subscription with another provider");
        }
        let (is_server, key) = self.key(house, user, name).await?;
        if let Some(runner) = &subscription.runner {
            let relay = relay(house, user, runner).await?;
            return Ok(Embedder::remote(protocol, relay, &format!("{}/{runner}", user.id), model, None));
        }
        let reach = if is_server { Reach::Anywhere } else { self.reach(user) };
        let key = key.as_deref().map(|key| (KeyHeader::Bearer, key));
        let http = Http::new(&self.connections, reach, subscription.address(), key)?;
        Ok(Embedder::remote(protocol, http, &provider_of(subscription.address()), model, None))
    }

    /// A subscription's key, and a flag that is true if the subscription is the server's.
    async fn key(&self, house: &Services, user: &User, name: &str) -> Result<(bool, Option<String>)> {
        match &self.config.server {
            Some((_, key)) if name == SERVER => Ok((true, key.as_ref().map(|key| key.0.clone()))),
            _ => Ok((name == SERVER, house.store.subscription_key(user.id, name).await?)),
        }
    }

    /// The retries and timeouts of requests to a model.
    pub(crate) fn patience(&self) -> Patience {
        self.config.patience
    }

    /// The place in the queue for a user's calls of a model.
    pub(crate) fn seat(&self, user: store::UserId, kind: Kind) -> Seat {
        self.slots.seat(&user.to_string(), kind)
    }

    /// The limit on answers in progress in the whole server, unless it was set otherwise.
    pub(crate) fn turns_at_once(&self) -> usize {
        self.config.turns_at_once
    }

    /// Sets the limit on answers in progress in the whole server; `None` restores the limit with which the server was started.
    pub(crate) fn set_turns_at_once(&self, number: Option<usize>) {
        self.admission.resize(number.unwrap_or(self.config.turns_at_once));
    }

    /// A place among the answers in progress; it is not taken yet.
    pub(crate) fn place(&self, user: store::UserId, kind: Kind) -> Place {
        self.admission.place(user, kind)
    }

    /// The range of addresses that a user's providers may have.
    pub(crate) fn reach(&self, user: &User) -> Reach {
        if user.admin || self.config.private_addresses { Reach::Anywhere } else { Reach::Public }
    }

    /// True if a model is available to a user.
    pub(crate) async fn has_any(&self, house: &Services, user: &User) -> Result<bool> {
        Ok(!self.known(house, user).await?.is_empty())
    }

    /// A user's subscriptions and the server's.
    pub(crate) async fn known(&self, house: &Services, user: &User) -> Result<Known> {
        let server = self.config.server.as_ref().map(|(subscription, _)| subscription.clone());
        let own = house.store.subscriptions(user.id).await?;
        let own =
            own.into_iter().filter_map(|one| Some((one.name, Subscription::from_json(&one.document_json)?)));
        Ok(Known::new(server, own.collect()))
    }

    /// The choice of a chat's model: the chat's own, or its user's.
    pub(crate) async fn chosen(
        &self,
        house: &Services,
        user: &User,
        chat: Option<&ChatId>,
    ) -> Result<Option<String>> {
        let own = match chat {
            Some(chat) => house.store.chat_model(user.id, chat).await?,
            None => None,
        };
        Ok(match own {
            Some(own) => Some(own),
            None => house.store.setting(user.id, CHOSEN_MODEL).await?,
        })
    }

    /// The model that a chat uses now, or the model of another tier of the same subscription, such as the swift model for simple tasks.
    ///
    /// # Errors
    /// [`crate::Error::NoModel`], [`crate::Error::UnknownModel`] and [`crate::Error::Model`], if the model cannot be asked.
    pub(crate) async fn of_chat(
        &self,
        house: &Services,
        user: &User,
        chat: &ChatId,
        tier: Option<Tier>,
    ) -> Result<ModelChain> {
        let known = self.known(house, user).await?;
        let chosen = self.chosen(house, user, Some(chat)).await?;
        let chosen = chosen.as_deref().map(Choice::parse).transpose()?;
        let mut picked = known.pick(chosen.as_ref(), None)?;
        if let Some(tier) = tier {
            let of_tier = Choice { subscription: Some(picked.subscription), which: Some(Which::Tier(tier)) };
            picked = known.pick(Some(&of_tier), None)?;
        }
        self.chain(house, user, &known, picked).await
    }

    /// The swift model of the subscription that a chat uses; `None` if the subscription has none.
    ///
    /// # Errors
    /// As [`Models::of_chat`].
    pub(crate) async fn swift_of_chat(
        &self,
        house: &Services,
        user: &User,
        chat: &ChatId,
    ) -> Result<Option<ModelSetup>> {
        let known = self.known(house, user).await?;
        let chosen = self.chosen(house, user, Some(chat)).await?;
        let chosen = chosen.as_deref().map(Choice::parse).transpose()?;
        let subscription = known.pick(chosen.as_ref(), None)?.subscription;
        let Some(model) = known.subscription(&subscription)?.models.get(&Tier::Swift).cloned() else {
            return Ok(None);
        };
        self.setup(house, user, &known, &Picked { subscription, model }).await.map(Some)
    }

    /// A model and its stand-ins.
    async fn chain(&self, house: &Services, user: &User, known: &Known, first: Picked) -> Result<ModelChain> {
        let setup = self.setup(house, user, known, &first).await?;
        let (mut others, mut last) = (Vec::<ModelSetup>::new(), first);
        for _ in 0..FALLBACKS {
            let Some(next) = known.fallback(&last) else { break };
            match self.setup(house, user, known, &next).await {
                Ok(other) => {
                    let origin = other.origin();
                    if setup.origin() == origin || others.iter().any(|known| known.origin() == origin) {
                        break;
                    }
                    others.push(other);
                }
                Err(error) => tracing::warn!(%error, "a model cannot be used as a fallback"),
            }
            last = next;
        }
        Ok(ModelChain { setup, others })
    }

    /// Prepares a model to be asked.
    pub(crate) async fn setup(
        &self,
        house: &Services,
        user: &User,
        known: &Known,
        picked: &Picked,
    ) -> Result<ModelSetup> {
        let Picked { subscription: name, model: tier_model } = picked;
        let subscription = known.subscription(name)?;
        let (is_server, key) = self.key(house, user, name).await?;
        let model = self.provider(house, user, subscription, key.as_deref(), is_server).await?;
        Ok(ModelSetup {
            model,
            name: tier_model.name.clone(),
            subscription: name.clone(),
            kind: if is_server { Kind::Shared } else { Kind::Personal },
            window_tokens: tier_model.window_tokens(),
            reply_tokens: tier_model.reply_tokens(),
            thinking_tokens: tier_model.thinking_tokens,
            price: tier_model.price.unwrap_or_default(),
        })
    }

    /// A subscription's provider, with this key.
    pub(crate) async fn provider(
        &self,
        house: &Services,
        user: &User,
        subscription: &Subscription,
        key: Option<&str>,
        is_server: bool,
    ) -> Result<Model> {
        let model = match &subscription.runner {
            Some(runner) => {
                let relay = relay(house, user, runner).await?;
                match subscription.provider {
                    Provider::OpenAi => Model::new(OpenAi, relay),
                    Provider::Anthropic => Model::new(Anthropic, relay),
                }
            }
            None => {
                let reach = if is_server { Reach::Anywhere } else { self.reach(user) };
                direct(&self.connections, reach, subscription, key)?
            }
        };
        Ok(model.with_deadlines(self.config.deadlines))
    }
}

/// The endpoint of a user's runner.
async fn relay(house: &Services, user: &User, runner: &str) -> Result<Relay> {
    let registered = house.store.runners(user.id).await?.into_iter().map(|runner| runner.name);
    Ok(Relay::new(house.router.clone(), sandbox_user(user), runner, registered.collect()))
}

/// The name of a provider in the keys of vectors: the address without its scheme, password and query.
fn provider_of(address: &str) -> String {
    let after = address.split_once("://").map_or(address, |(_, after)| after);
    let path = after.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = path.split_once('/').unwrap_or((path, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    format!("{host}/{path}").trim_end_matches('/').to_owned()
}

/// The path where the build puts the file of the built-in embedder.
fn beside_program() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.with_file_name(WEIGHTS_FILE)
}

/// A provider that the server asks directly.
fn direct(
    connections: &Connections,
    reach: Reach,
    subscription: &Subscription,
    key: Option<&str>,
) -> Result<Model, llm::Error> {
    let http = |header| Http::new(connections, reach, subscription.address(), key.map(|key| (header, key)));
    fn model(dialect: impl Dialect + 'static, http: Result<Http, llm::Error>) -> Result<Model, llm::Error> {
        Ok(Model::new(dialect, http?))
    }
    match subscription.provider {
        Provider::OpenAi => model(OpenAi, http(KeyHeader::Bearer)),
        Provider::Anthropic => model(Anthropic, http(KeyHeader::ApiKey)),
    }
}

#[cfg(test)]
mod tests {
    use super::provider_of;

    #[test]
    fn a_provider_is_its_address_without_secrets() {
        let cases = [
            ("https://API.example.com/v1/", "api.example.com/v1"),
            ("http://user:p@ss@host:8080/A?key=secret#x", "host:8080/A"),
            ("https://host/v1/@team", "host/v1/@team"),
            ("host", "host"),
        ];
        for (address, provider) in cases {
            assert_eq!(provider_of(address), provider, "{address}");
        }
    }
}
