//! SearXNG, which is self-hosted: `GET /search?format=json`. Source: docs.searxng.org, "Search API"; its settings must allow
//! the format `json`.

use reqwest::{RequestBuilder, Url};
use serde::Deserialize;
use serde_json::Value;

use super::{Hit, Provider, Searcher};

pub(super) struct Searxng;

#[derive(Deserialize)]
struct Answer {
    results: Vec<Hit>,
}

impl Provider for Searxng {
    fn address(&self) -> Option<&'static str> {
        None
    }

    fn wants_key(&self) -> bool {
        false
    }

    fn request(
        &self,
        client: &reqwest::Client,
        base: &Url,
        key: &str,
        query: &str,
        _max_results: usize,
    ) -> RequestBuilder {
        let address =
            Url::parse_with_params(&Searcher::path(base, "/search"), [("q", query), ("format", "json")]);
        let request = client.get(address.map_or_else(|_| String::new(), String::from));
        // A key is only needed for an instance behind a proxy that requires one.
        if key.is_empty() { request } else { request.bearer_auth(key) }
    }

    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error> {
        serde_json::from_value(answer).map(|Answer { results }| results)
    }
}
