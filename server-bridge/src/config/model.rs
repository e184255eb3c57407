//! The model that answers in chats.

use std::fs;
use std::path::PathBuf;

use agent::ModelSetup;
use agent::limits::{REPLY_TOKENS, WINDOW_TOKENS};
use llm::anthropic::Anthropic;
use llm::http::{Http, KeyHeader};
use llm::openai::OpenAi;
use llm::price::Price;
use llm::{Dialect, Model};

use super::{ConfigError, Settings};

/// The flags of the model. The key itself has none: a command line is no secret.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct ModelArgs {
    /// What the model's provider speaks: openai (chat completions) or anthropic (messages)
    #[arg(long, value_name = "openai|anthropic")]
    pub llm_provider: Option<String>,
    /// Where the provider is [default: the provider's own address]
    #[arg(long, value_name = "URL")]
    pub llm_base_url: Option<String>,
    /// File that holds the provider's key; or set SANDBRIDGE_LLM_API_KEY
    #[arg(long, value_name = "FILE")]
    pub llm_api_key_file: Option<PathBuf>,
    /// The model's name, as the provider knows it; without one, chats only run commands
    #[arg(long, value_name = "NAME")]
    pub llm_model: Option<String>,
    /// How many tokens the model may answer with at once [default: 16384]
    #[arg(long, value_name = "TOKENS")]
    pub llm_max_tokens: Option<u32>,
    /// How many tokens the model's window holds, conversation and answer together [default: 200000]
    #[arg(long, value_name = "TOKENS")]
    pub llm_window_tokens: Option<u32>,
    /// How much the model shall think before it answers, in tokens [default: as its provider does]
    #[arg(long, value_name = "TOKENS")]
    pub llm_thinking_tokens: Option<u32>,
}

/// Which model answers, and how it is reached. Its key is shown to its provider alone.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelConfig {
    provider: Provider,
    base_url: String,
    key: Option<String>,
    name: String,
    window_tokens: u32,
    reply_tokens: u32,
    thinking_tokens: Option<u32>,
}

impl std::fmt::Debug for ModelConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provider, base_url, name, .. } = self;
        formatter
            .debug_struct("ModelConfig")
            .field("provider", provider)
            .field("base_url", base_url)
            .field("name", name)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    OpenAi,
    Anthropic,
}

impl Provider {
    fn address(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }
}

impl ModelConfig {
    /// Joins the flags with the files and the environment; `None` where no model is named.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub(super) fn from_settings(
        options: ModelArgs,
        settings: &Settings,
    ) -> Result<Option<Self>, ConfigError> {
        let text = |flag: Option<String>, key| flag.or_else(|| settings.value(key));
        let Some(name) = text(options.llm_model, "llm_model") else { return Ok(None) };
        let provider = match text(options.llm_provider, "llm_provider").as_deref() {
            Some("openai") => Provider::OpenAi,
            Some("anthropic") => Provider::Anthropic,
            other => {
                return Err(ConfigError::Value {
                    key: "llm_provider",
                    value: other.unwrap_or_default().to_owned(),
                    rule: "a model is named, so say openai or anthropic".to_owned(),
                });
            }
        };
        let base_url =
            text(options.llm_base_url, "llm_base_url").unwrap_or_else(|| provider.address().to_owned());
        let file = options.llm_api_key_file.or_else(|| settings.value("llm_api_key_file").map(PathBuf::from));
        let key = match file {
            Some(file) => Some(read_key(&file)?),
            None => settings.value("llm_api_key"),
        };
        let tokens = |flag: Option<u32>, key| match flag {
            Some(tokens) => Ok(Some(tokens)),
            None => settings.value(key).map(|value| parse_tokens(key, value)).transpose(),
        };
        Ok(Some(Self {
            provider,
            base_url,
            key,
            name,
            window_tokens: tokens(options.llm_window_tokens, "llm_window_tokens")?.unwrap_or(WINDOW_TOKENS),
            reply_tokens: tokens(options.llm_max_tokens, "llm_max_tokens")?.unwrap_or(REPLY_TOKENS),
            thinking_tokens: tokens(options.llm_thinking_tokens, "llm_thinking_tokens")?,
        }))
    }

    /// The model, ready to be asked.
    ///
    /// # Errors
    /// An address that is none, or a key that cannot be one.
    pub fn setup(&self) -> Result<ModelSetup, llm::Error> {
        let model = match self.provider {
            Provider::OpenAi => self.model(OpenAi, KeyHeader::Bearer)?,
            Provider::Anthropic => self.model(Anthropic, KeyHeader::ApiKey)?,
        };
        let Self { name, window_tokens, reply_tokens, thinking_tokens, .. } = self.clone();
        Ok(ModelSetup { model, name, window_tokens, reply_tokens, thinking_tokens, price: Price::default() })
    }

    fn model(&self, dialect: impl Dialect + 'static, header: KeyHeader) -> Result<Model, llm::Error> {
        let key = self.key.as_deref().map(|key| (header, key));
        Ok(Model::new(dialect, Http::new(Http::client()?, &self.base_url, key)?))
    }
}

fn parse_tokens(key: &'static str, value: String) -> Result<u32, ConfigError> {
    let rule = || "use a number of tokens, like 16384".to_owned();
    match value.parse() {
        Ok(tokens) if tokens > 0 => Ok(tokens),
        _ => Err(ConfigError::Value { key, value, rule: rule() }),
    }
}

fn read_key(file: &std::path::Path) -> Result<String, ConfigError> {
    let unreadable = |reason: String| ConfigError::File { path: file.to_owned(), reason };
    let key = fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    match key.trim() {
        "" => Err(unreadable("it is empty".to_owned())),
        key => Ok(key.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> Settings {
        let environment =
            values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Settings { environment, ..Settings::default() }
    }

    #[test]
    fn a_named_model_needs_a_provider_and_no_key() {
        let load =
            |values: &[(&str, &str)]| ModelConfig::from_settings(ModelArgs::default(), &settings(values));
        assert_eq!(load(&[("SANDBRIDGE_LLM_PROVIDER", "openai")]).unwrap(), None);
        let error = load(&[("SANDBRIDGE_LLM_MODEL", "m")]).unwrap_err().to_string();
        assert!(error.contains("llm_provider"), "{error}");
        let named = [("SANDBRIDGE_LLM_MODEL", "m"), ("SANDBRIDGE_LLM_PROVIDER", "anthropic")];
        let model = load(&named).unwrap().unwrap();
        assert_eq!((model.base_url.as_str(), model.key.clone()), ("https://api.anthropic.com", None));
        let bad = [&named[..], &[("SANDBRIDGE_LLM_MAX_TOKENS", "0")]].concat();
        assert!(load(&bad).unwrap_err().to_string().contains("llm_max_tokens"));
    }

    #[test]
    fn the_key_comes_from_a_file_or_the_environment_and_is_never_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "sk-secret\n").unwrap();
        let flags = ModelArgs { llm_api_key_file: Some(file.path().to_owned()), ..ModelArgs::default() };
        let values = [
            ("SANDBRIDGE_LLM_MODEL", "m"),
            ("SANDBRIDGE_LLM_PROVIDER", "openai"),
            ("SANDBRIDGE_LLM_API_KEY", "sk-other"),
        ];
        let model = ModelConfig::from_settings(flags, &settings(&values)).unwrap().unwrap();
        assert_eq!(model.key.as_deref(), Some("sk-secret"));
        assert!(!format!("{model:?}").contains("sk-"), "{model:?}");
        let model = ModelConfig::from_settings(ModelArgs::default(), &settings(&values)).unwrap().unwrap();
        assert_eq!(model.key.as_deref(), Some("sk-other"));
        fs::write(file.path(), " \n").unwrap();
        let flags = ModelArgs { llm_api_key_file: Some(file.path().to_owned()), ..ModelArgs::default() };
        assert!(ModelConfig::from_settings(flags, &settings(&values)).is_err());
    }
}
