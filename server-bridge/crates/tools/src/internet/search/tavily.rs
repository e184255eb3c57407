//! Tavily: `POST /search`. Source: docs.tavily.com, "Tavily Search".

use reqwest::{RequestBuilder, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Hit, Provider, Searcher};

pub(super) struct Tavily;

#[derive(Deserialize)]
struct Answer {
    results: Vec<Hit>,
}

impl Provider for Tavily {
    fn address(&self) -> Option<&'static str> {
        Some("https://api.tavily.com")
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
        let body = json!({"query": query, "max_results": max_results});
        client.post(Searcher::path(base, "/search")).bearer_auth(key).json(&body)
    }

    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error> {
        serde_json::from_value(answer).map(|Answer { results }| results)
    }
}
