//! A page's address as an argument.

use reqwest::Url;
use serde::{Deserialize, Deserializer};

/// An `http` or `https` URL.
#[derive(Clone, Debug)]
pub(super) struct Address(pub(super) Url);

impl Address {
    /// The requested address: invisible characters in it are percent-encoded.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The address's origin: scheme, host and port.
    pub(super) fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let url = Url::parse(&text).map_err(|error| {
            serde::de::Error::custom(format!(
                "the address is not a URL ({error}); write an address like https://example.com/page"
            ))
        })?;
        guard::check(&url).map_err(serde::de::Error::custom)?;
        Ok(Self(url))
    }
}

impl schemars::JsonSchema for Address {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "uri"})
    }
}
