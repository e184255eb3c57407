//! Brave Search: `GET /res/v1/web/search`. Source: api-dashboard.search.brave.com, "Web Search API".

use reqwest::{RequestBuilder, Url};
use serde::Deserialize;
use serde_json::Value;

use super::{Hit, Provider, Searcher};

pub(super) struct Brave;

/// Brave leaves out the field for web results if there are none.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    web: Found,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Found {
    results: Vec<Hit>,
}

impl Provider for Brave {
    fn address(&self) -> Option<&'static str> {
        Some("https://api.search.brave.com")
    }

    fn wants_key(&self) -> bool {
        true
    }

    fn request(
        &self,
        client: &reqwest::Client,
        base: &Url,
        key: &str,
        query: &str,
        max_results: usize,
    ) -> RequestBuilder {
        let address = Url::parse_with_params(
            &Searcher::path(base, "/res/v1/web/search"),
            [("q", query), ("count", &max_results.to_string())],
        );
        client.get(address.map_or_else(|_| String::new(), String::from)).header("x-subscription-token", key)
    }

    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error> {
        serde_json::from_value(answer).map(|Answer { web }| web.results)
    }
}
