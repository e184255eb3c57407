//! The models for chats: the server's own, and the settings shared by all models.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::model::PriceDocument;
use chats::ModelsConfig;
use chats::models::{Provider, Secret, Subscription, Tier, TierModel};
use llm::Deadlines;
use llm::limits::{ATTEMPT_LIMIT, ATTEMPT_TIMEOUT};
use llm::price::Price;
use llm::retry::Patience;
use store::EncryptionKey;

use super::{ConfigError, Settings};
use crate::limits::{ENCRYPTION_KEY_MIN_CHARS, RETRY_ATTEMPTS_MAX};

/// The flags of the models. Keys have no flags, because other users can see a command line.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct ModelArgs {
    /// The API that the model's provider speaks: openai (chat completions) or anthropic (messages)
    #[arg(long, value_name = "openai|anthropic")]
    pub llm_provider: Option<String>,
    /// The address of the provider's API [default: the provider's own address]
    #[arg(long, value_name = "URL")]
    pub llm_base_url: Option<String>,
    /// File that holds the provider's key; or set SANDBRIDGE_LLM_API_KEY
    #[arg(long, value_name = "FILE")]
    pub llm_api_key_file: Option<PathBuf>,
    /// The name of the model that answers unless a chat chooses another; without one, users need models of their own
    #[arg(long, value_name = "NAME")]
    pub llm_model: Option<String>,
    /// The most capable model, for `/model vanguard`
    #[arg(long, value_name = "NAME")]
    pub llm_model_vanguard: Option<String>,
    /// A fast and cheap model, for `/model swift`
    #[arg(long, value_name = "NAME")]
    pub llm_model_swift: Option<String>,
    /// The fallback if the model is unavailable: vanguard, balance, swift, or a name
    #[arg(long, value_name = "TIER|NAME")]
    pub llm_fallback: Option<String>,
    /// What a model's tokens cost, in dollars per million: input, output and, optionally, reads from and writes to its cache;
    /// may be repeated
    #[arg(long, value_name = "NAME=IN/OUT[/CACHED[/CACHING]]")]
    pub llm_price: Vec<String>,
    /// How many tokens one answer of the model may have [default: 16384]
    #[arg(long, value_name = "TOKENS")]
    pub llm_max_tokens: Option<u32>,
    /// How many tokens the model's window holds, conversation and answer together [default: 200000]
    #[arg(long, value_name = "TOKENS")]
    pub llm_window_tokens: Option<u32>,
    /// How much the model may think before it answers, in tokens [default: the provider's own]
    #[arg(long, value_name = "TOKENS")]
    pub llm_thinking_tokens: Option<u32>,
    /// Whether users may add models at addresses in this server's own network, on or off; admins always may [default: off]
    #[arg(long, value_name = "on|off")]
    pub llm_private: Option<String>,
    /// How many times a model is asked in total before it counts as unavailable [default: 5]
    #[arg(long, value_name = "N")]
    pub llm_retry_attempts: Option<u32>,
    /// The pause before it is asked again, in milliseconds; it doubles each time [default: 1000]
    #[arg(long, value_name = "MS")]
    pub llm_retry_delay_ms: Option<u32>,
    /// The longest of those pauses, in milliseconds [default: 30000]
    #[arg(long, value_name = "MS")]
    pub llm_retry_max_delay_ms: Option<u32>,
    /// How long a model may be silent, in milliseconds; an answer may take five times as long [default: 120000]
    #[arg(long, value_name = "MS")]
    pub llm_retry_timeout_ms: Option<u32>,
    /// How many answers may be in progress on the whole server; others wait [default: 16]
    #[arg(long, value_name = "N")]
    pub turns_at_once: Option<u32>,
    /// The weights of the built-in embedder, with which search finds texts by their meaning [default: e5-small-q4.bin in the directory of
    /// this program]
    #[arg(long, value_name = "FILE")]
    pub embedder_weights: Option<PathBuf>,
    /// File that holds a passphrase, which seals the keys of users' models; or set SANDBRIDGE_ENCRYPTION_KEY
    /// [default: the server's own key, in sandbridge.key in the home directory]
    #[arg(long, value_name = "FILE")]
    pub encryption_key_file: Option<PathBuf>,
    /// Remove keys of users' models that can no longer be decrypted because their encryption key is lost
    #[arg(long)]
    pub forget_sealed_keys: bool,
}

/// Combines the flags with the files and the environment.
pub(super) fn models_config(options: &ModelArgs, settings: &Settings) -> Result<ModelsConfig, ConfigError> {
    let number = |flag: Option<u32>, key| match flag {
        Some(number) => Ok(Some(number)),
        None => settings.value(key).map(|value| parse_number(key, value)).transpose(),
    };
    let ms = |flag, key, default: Duration| {
        number(flag, key).map(|ms| ms.map_or(default, |ms| Duration::from_millis(ms.into())))
    };
    let usual = Patience::default();
    let attempts = number(options.llm_retry_attempts, "llm_retry_attempts")?.unwrap_or(usual.attempts);
    let patience = Patience {
        attempts: attempts.min(RETRY_ATTEMPTS_MAX),
        pause: ms(options.llm_retry_delay_ms, "llm_retry_delay_ms", usual.pause)?,
        pause_limit: ms(options.llm_retry_max_delay_ms, "llm_retry_max_delay_ms", usual.pause_limit)?,
    };
    let silence = ms(options.llm_retry_timeout_ms, "llm_retry_timeout_ms", ATTEMPT_TIMEOUT)?;
    let whole = silence * (ATTEMPT_LIMIT.as_secs() / ATTEMPT_TIMEOUT.as_secs()) as u32;
    let private = options.llm_private.clone().or_else(|| settings.value("llm_private"));
    let weights = options.embedder_weights.clone();
    let mut models = ModelsConfig {
        embedder_weights: weights.or_else(|| settings.value("embedder_weights").map(PathBuf::from)),
        server: server(options, settings)?,
        private_addresses: match private.as_deref() {
            None | Some("off") => false,
            Some("on") => true,
            Some(other) => return Err(wrong("llm_private", other, "use on or off")),
        },
        patience,
        deadlines: Deadlines { silence, whole },
        ..ModelsConfig::default()
    };
    if let Some(turns) = number(options.turns_at_once, "turns_at_once")? {
        models.turns_at_once = turns as usize;
    }
    Ok(models)
}

/// The key that seals the keys of users' models, if the operator provided one.
pub(super) fn encryption_key(
    options: &ModelArgs,
    settings: &Settings,
) -> Result<Option<EncryptionKey>, ConfigError> {
    let text = secret(options.encryption_key_file.clone(), "encryption_key", settings)?;
    let Some(text) = text else { return Ok(None) };
    if text.chars().count() < ENCRYPTION_KEY_MIN_CHARS {
        let rule = format!("use a random text of {ENCRYPTION_KEY_MIN_CHARS} characters or more");
        return Err(wrong("encryption_key", "…", &rule));
    }
    Ok(Some(EncryptionKey::Passphrase(text)))
}

/// The server's own subscription and its key; `None` if no model is named.
fn server(
    options: &ModelArgs,
    settings: &Settings,
) -> Result<Option<(Subscription, Option<Secret>)>, ConfigError> {
    let text = |flag: &Option<String>, key| flag.clone().or_else(|| settings.value(key));
    let named = [
        (Tier::Vanguard, text(&options.llm_model_vanguard, "llm_model_vanguard")),
        (Tier::Balance, text(&options.llm_model, "llm_model")),
        (Tier::Swift, text(&options.llm_model_swift, "llm_model_swift")),
    ];
    let named: Vec<_> = named.into_iter().filter_map(|(tier, name)| Some((tier, name?))).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let provider = text(&options.llm_provider, "llm_provider").unwrap_or_default();
    let provider: Provider = provider
        .parse()
        .map_err(|rule| wrong("llm_provider", &provider, &format!("a model is named, so {rule}")))?;
    let tokens = |flag: Option<u32>, key| match flag {
        Some(tokens) => Ok(Some(tokens)),
        None => settings.value(key).map(|value| parse_number(key, value)).transpose(),
    };
    let like = TierModel {
        name: String::new(),
        window_tokens: tokens(options.llm_window_tokens, "llm_window_tokens")?,
        reply_tokens: tokens(options.llm_max_tokens, "llm_max_tokens")?,
        thinking_tokens: tokens(options.llm_thinking_tokens, "llm_thinking_tokens")?,
        price: None,
    };
    let prices = prices(&options.llm_price, settings)?;
    let price_of = |name: &str| prices.iter().find(|(known, _)| known == name).map(|(_, price)| *price);
    let models = named
        .into_iter()
        .map(|(tier, name)| (tier, TierModel { price: price_of(&name), name, ..like.clone() }));
    let fallback = text(&options.llm_fallback, "llm_fallback");
    let subscription = Subscription {
        provider,
        base_url: text(&options.llm_base_url, "llm_base_url"),
        runner: None,
        models: models.collect(),
        default_tier: None,
        fallback: fallback.map(|fallback| format!("{}/{fallback}", chats::models::SERVER)),
    };
    let key = secret(options.llm_api_key_file.clone(), "llm_api_key", settings)?;
    Ok(Some((subscription, key.map(Secret))))
}

fn prices(flags: &[String], settings: &Settings) -> Result<Vec<(String, Price)>, ConfigError> {
    let list = match flags {
        [] => settings.value("llm_price").map(|list| super::split_list(&list)).unwrap_or_default(),
        flags => flags.to_vec(),
    };
    let price = |text: &String| {
        let (name, price) = PriceDocument::of_model(text).map_err(|rule| wrong("llm_price", text, rule))?;
        let PriceDocument { input, output, cache_read, cache_write } = price;
        Ok((name, Price { input, cache_read, cache_write, output }))
    };
    list.iter().map(price).collect()
}

fn parse_number(key: &'static str, value: String) -> Result<u32, ConfigError> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(wrong(key, &value, "use a whole number above 0")),
    }
}

fn wrong(key: &'static str, value: &str, rule: &str) -> ConfigError {
    ConfigError::Value { key, value: value.to_owned(), rule: rule.to_owned() }
}

/// Reads a secret from a file that a flag or a setting names, or else from the settings.
fn secret(
    flag: Option<PathBuf>,
    key: &'static str,
    settings: &Settings,
) -> Result<Option<String>, ConfigError> {
    match flag.or_else(|| settings.value(&format!("{key}_file")).map(PathBuf::from)) {
        Some(file) => read_secret(&file).map(Some),
        None => Ok(settings.value(key)),
    }
}

pub(super) fn read_secret(file: &Path) -> Result<String, ConfigError> {
    let unreadable = |reason: String| ConfigError::File { path: file.to_owned(), reason };
    let text = fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    match text.trim() {
        "" => Err(unreadable("it is empty".to_owned())),
        secret => Ok(secret.to_owned()),
    }
}

#[cfg(test)]
mod tests;
