//! The model for this directory: the environment's, or one stored for this or another directory, or else one that the user is
//! asked for, once.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use chats::models::{Provider, Secret, Subscription, Tier, TierModel};
use chats::subscriptions::{KeyGiven, NewSubscription};
use client::failure::Failure;
use client::output;
use home::Settings;
use store::{Location, Name, User};
use tokio::time::timeout;

use super::limits::{KEY_QUESTIONS, MODEL_PATIENCE};
use super::place::Place;
use super::server::OwnServer;
use crate::config::{Config, database};
use crate::failure::failure_of;
use crate::serve::open_store;

/// The setting that records that the user was asked.
const ASKED: &str = "here_asked";

/// Built-in information about a provider.
struct Known {
    provider: Provider,
    /// The prefix of its keys.
    prefix: &'static str,
    /// The variables in which other programs look for its key and for its address.
    variables: (&'static str, &'static str),
    /// The default model.
    model: &'static str,
}

/// The known providers. A prefix that begins with another provider's prefix precedes it.
const KNOWN: [Known; 2] = [
    Known {
        provider: Provider::Anthropic,
        prefix: "sk-ant-",
        variables: ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        model: "claude-sonnet-4-5",
    },
    Known {
        provider: Provider::OpenAi,
        prefix: "sk-",
        variables: ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        model: "gpt-5",
    },
];

/// Completes the environment's settings for a model: the provider of a key follows from the key's prefix, or from the variable
/// that contains the key.
pub(super) fn fill_in(settings: &mut Settings) {
    fill_in_from(settings, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
}

fn fill_in_from(settings: &mut Settings, variable: &impl Fn(&str) -> Option<String>) {
    let has_key = settings.value("llm_api_key").is_some() || settings.value("llm_api_key_file").is_some();
    if !has_key {
        let said = settings.value("llm_provider");
        let is_wanted = |known: &&Known| said.as_deref().is_none_or(|said| said == known.provider.as_str());
        let found =
            KNOWN.iter().filter(is_wanted).find_map(|known| Some((known, variable(known.variables.0)?)));
        // Without a key in the environment, no model is configured.
        let Some((known, key)) = found else { return };
        settings.set_default("llm_api_key", &key);
        settings.set_default("llm_provider", known.provider.as_str());
        // A key is sent only to the address that it belongs to.
        if let Some(address) = variable(known.variables.1) {
            settings.set_default("llm_base_url", &address);
        }
    }
    let key = settings.value("llm_api_key").unwrap_or_default();
    if let Some(provider) = provider(&key, settings.value("llm_provider").as_deref()) {
        settings.set_default("llm_provider", provider.as_str());
        settings.set_default("llm_model", default_model(provider));
    }
}

/// The provider of a key: the configured one, or the one with its prefix.
fn provider(key: &str, said: Option<&str>) -> Option<Provider> {
    match said {
        Some(said) => said.parse().ok(),
        None => KNOWN.iter().find(|known| key.starts_with(known.prefix)).map(|known| known.provider),
    }
}

fn default_model(provider: Provider) -> &'static str {
    KNOWN.iter().find(|known| known.provider == provider).map_or("", |known| known.model)
}

/// Finds a model for a user without one: copies another directory's, or asks the user for one.
pub(super) async fn find(
    server: &OwnServer,
    user: &User,
    place: &Place,
    (settings, config): (&Settings, &Config),
    may_ask: bool,
) -> Result<(), Failure> {
    let failed = |error: store::Error| failure_of(&error.into());
    let known = server.state.chats.models(user).await.map_err(|error| failure_of(&error.into()))?;
    if !known.is_empty() || take_from_another(server, user, place, config).await {
        return Ok(());
    }
    let store = &server.store;
    let is_asked = store.setting(user.id, ASKED).await.map_err(failed)?.is_some();
    if is_asked || !may_ask || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Ok(());
    }
    ask(server, user, settings).await;
    store.set_setting(user.id, ASKED, Some("yes")).await.map_err(failed)
}

/// Copies the model of another directory, with its key; returns true if there was one.
async fn take_from_another(server: &OwnServer, user: &User, place: &Place, config: &Config) -> bool {
    for home in place.others() {
        let file = database(&home);
        if !file.is_file() {
            continue;
        }
        let other = Config { home, database: Location::File(file), ..config.clone() };
        match copy(server, user, &other).await {
            Ok(true) => return true,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(home = %other.home.display(), "cannot use the model of another directory: {error:#}");
            }
        }
    }
    false
}

async fn copy(server: &OwnServer, user: &User, other: &Config) -> anyhow::Result<bool> {
    let store = open_store(other).await?.store;
    let found = async {
        for owner in store.users().await? {
            for known in store.subscriptions(owner.id).await? {
                let document: Subscription = serde_json::from_str(&known.document_json)?;
                // A subscription that a runner relays belongs to that runner.
                if document.runner.is_some() {
                    continue;
                }
                let key = store.subscription_key(owner.id, &known.name).await?;
                return anyhow::Ok(Some((known, key)));
            }
        }
        Ok(None)
    };
    let found = found.await;
    store.close().await;
    let Some((known, key)) = found? else { return Ok(false) };
    let name = Name::parse(&known.name)?;
    server.store.add_subscription(user.id, &name, &known.document_json, key.as_deref()).await?;
    Ok(true)
}

/// Asks for a key until one works or the user gives none.
async fn ask(server: &OwnServer, user: &User, settings: &Settings) {
    for _ in 0..KEY_QUESTIONS {
        let question =
            "Key for a model, from Anthropic or OpenAI (Enter: none; !commands work without one): ";
        let key = match rpassword::prompt_password(question) {
            Ok(key) => key,
            // If no key can be read, the chat still works, with `!` commands only.
            Err(error) => {
                output::warn(&format!("cannot read a key: {error}"));
                break;
            }
        };
        let key = key.trim();
        if key.is_empty() {
            break;
        }
        match add(server, user, settings, key).await {
            Ok(model) => {
                output::warn(&format!("{model} answers here; its key is stored encrypted for the next time"));
                return;
            }
            Err(why) => output::warn(&format!("{why}; try again")),
        }
    }
    output::warn(
        "no model is set up yet; add one in the settings of `sandbridge here --web`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY",
    );
}

/// Tries the key, and stores it if it works. Returns the model's name, or the reason.
async fn add(server: &OwnServer, user: &User, settings: &Settings, key: &str) -> Result<String, String> {
    let provider = provider(key, settings.value("llm_provider").as_deref()).ok_or(
        "that does not look like a key from Anthropic (sk-ant-…) or OpenAI (sk-…); for another provider set \
         SANDBRIDGE_LLM_PROVIDER and \
         SANDBRIDGE_LLM_BASE_URL",
    )?;
    let subscription = Subscription {
        provider,
        base_url: settings.value("llm_base_url"),
        runner: None,
        models: BTreeMap::new(),
        default_tier: None,
        fallback: None,
    };
    let mut new = NewSubscription { subscription, key: KeyGiven::Key(Secret(key.to_owned())) };
    let (chats, name) = (&server.state.chats, provider.as_str());
    let tried = async {
        let model = match settings.value("llm_model") {
            Some(model) => model,
            None => {
                let offered = chats.offered_models(user, None, &new).await?;
                choose(provider, &offered.map_or_else(Vec::new, |offered| offered.names))
            }
        };
        let tier_model = TierModel { name: model.clone(), ..TierModel::default() };
        new.subscription.models.insert(Tier::Balance, tier_model);
        chats.try_subscription(user, None, &new).await?;
        chats.add_subscription(user, name, &new).await?;
        Ok::<_, chats::Error>(model)
    };
    match timeout(MODEL_PATIENCE, tried).await {
        Ok(tried) => tried.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{name} did not answer within {} s", MODEL_PATIENCE.as_secs())),
    }
}

/// The choice among a provider's models: the default one, or else the first with a similar name.
fn choose(provider: Provider, offered: &[String]) -> String {
    let usual = default_model(provider);
    let is_listed = offered.is_empty() || offered.iter().any(|name| name == usual);
    let family = usual.trim_end_matches(|end: char| end.is_ascii_digit() || end == '-');
    let alike = || offered.iter().find(|name| name.starts_with(family)).or(offered.first());
    alike().filter(|_| !is_listed).map_or_else(|| usual.to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(given: &[(&str, &str)], variables: &[(&str, &str)]) -> Vec<Option<String>> {
        let mut settings = Settings::default();
        for (key, value) in given {
            settings.set_default(key, value);
        }
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        fill_in_from(&mut settings, &variable);
        ["llm_provider", "llm_model", "llm_api_key", "llm_base_url"].map(|key| settings.value(key)).to_vec()
    }

    fn words(words: [&str; 4]) -> Vec<Option<String>> {
        words.map(|word| Some(word.to_owned()).filter(|word| !word.is_empty())).to_vec()
    }

    #[test]
    fn the_model_follows_from_whose_key_there_is() {
        assert_eq!(filled(&[], &[]), words(["", "", "", ""]));
        assert_eq!(
            filled(&[], &[("ANTHROPIC_API_KEY", "sk-ant-1")]),
            words(["anthropic", "claude-sonnet-4-5", "sk-ant-1", ""])
        );
        assert_eq!(
            filled(&[], &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "http://a.example/v1")]),
            words(["openai", "gpt-5", "k", "http://a.example/v1"])
        );
        assert_eq!(
            filled(&[("llm_api_key", "sk-1"), ("llm_model", "mine")], &[("ANTHROPIC_API_KEY", "sk-ant-1")]),
            words(["openai", "mine", "sk-1", ""])
        );
        assert_eq!(
            filled(&[("llm_provider", "openai")], &[("ANTHROPIC_API_KEY", "sk-ant-1")]),
            words(["openai", "", "", ""])
        );
    }

    #[test]
    fn a_model_is_chosen_that_the_provider_has() {
        let chosen = |provider, offered: &[&str]| {
            choose(provider, &offered.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(chosen(Provider::OpenAi, &[]), "gpt-5");
        assert_eq!(chosen(Provider::OpenAi, &["gpt-9", "gpt-5"]), "gpt-5");
        assert_eq!(chosen(Provider::OpenAi, &["whisper", "gpt-9"]), "gpt-9");
        assert_eq!(chosen(Provider::Anthropic, &["claude-opus-9", "claude-sonnet-9"]), "claude-sonnet-9");
        assert_eq!(chosen(Provider::OpenAi, &["mine"]), "mine");
    }
}
