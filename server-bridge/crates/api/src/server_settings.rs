//! The settings of the whole server, which administrators change while it runs.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::words::ContextMode;

/// The settings as they are now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerSettings {
    /// How many answers of models may be in progress on the whole server; others wait.
    #[serde(default)]
    #[schema(required)]
    pub turns_at_once: u64,
    /// The value of `turns_at_once` that the server was started with.
    #[serde(default)]
    #[schema(required)]
    pub turns_at_once_default: u64,
    /// The layers that automatically change what a model sees of its conversation.
    #[serde(default)]
    #[schema(required)]
    pub context_mode: ContextMode,
    /// The file in the server's home directory that replaces the built-in base prompt.
    #[serde(default)]
    #[schema(required)]
    pub base_prompt: Option<String>,
    /// Why that file cannot be used now and the built-in base prompt is used instead, and what to do.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub base_prompt_problem: Option<String>,
    /// The embedder, with which search finds texts by their meaning: `built-in`, `SUBSCRIPTION/MODEL` or `ollama:SUBSCRIPTION/MODEL`; `none`
    /// if search uses words alone.
    #[serde(default)]
    #[schema(required)]
    pub embedder: String,
    /// The reason why it cannot be used now, so that search uses words alone, and what to do.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub embedder_problem: Option<String>,
}

/// The settings to change: absent ones stay as they are, and null restores the value that the server was started with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ServerSettingsChange {
    /// How many answers may be in progress, from 1 to 1,000; applies to answers that begin after the change.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub turns_at_once: Option<Option<u64>>,
    /// The context layers to use; applies to answers that begin after the change.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ContextMode>)]
    pub context_mode: Option<Option<ContextMode>>,
    /// The name of a file in the server's home directory that ends in `.md`: UTF-8, at most 32 KiB; read again for each answer.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub base_prompt: Option<Option<String>>,
    /// `none`, `built-in`, or a model of one of the administrator's subscriptions or of `server`: `SUBSCRIPTION/MODEL`, or
    /// `ollama:SUBSCRIPTION/MODEL` for Ollama's own interface. It is tested with one request. Texts of all users are sent to it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub embedder: Option<Option<String>>,
}

/// Reads a field that is present, even if it is null; serde would read null as an absent field.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_tells_null_from_what_is_left_out() {
        let change = ServerSettingsChange { turns_at_once: Some(None), ..Default::default() };
        assert_eq!(serde_json::to_value(&change).unwrap(), json!({"turns_at_once": null}));
        let read: ServerSettingsChange =
            serde_json::from_value(json!({"turns_at_once": null, "context_mode": "none", "later": 1}))
                .unwrap();
        let context_mode = Some(Some(ContextMode::None));
        assert_eq!(read, ServerSettingsChange { context_mode, ..change });
    }
}
