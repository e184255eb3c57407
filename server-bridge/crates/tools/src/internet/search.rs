//! Searching the internet with a provider that the server's operator configured.
//!
//! To add a provider, add a file next to these with its `Provider`, and a row to `Searcher::PROVIDERS`.

mod brave;
mod searxng;
mod tavily;

use std::sync::{Arc, OnceLock};

use guard::cause;
use guard::limits::CONNECT_PATIENCE;
use reqwest::{RequestBuilder, Url};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::limits::{SEARCH_ANSWER_BYTES, SEARCH_PATIENCE, SEARCH_SNIPPET_CHARS};

/// A provider's requests and responses.
trait Provider: Send + Sync {
    /// The provider's default address; `None` if one must be configured.
    fn address(&self) -> Option<&'static str>;

    /// True if the provider needs a key.
    fn wants_key(&self) -> bool;

    /// The request for a search.
    fn request(
        &self,
        client: &reqwest::Client,
        base: &Url,
        key: &str,
        query: &str,
        max_results: usize,
    ) -> RequestBuilder;

    /// The results in the provider's response.
    ///
    /// Fails if the response has a different form.
    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error>;
}

/// A search result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Hit {
    /// The page's title.
    pub title: String,
    /// The page's address.
    pub url: String,
    /// The provider's excerpt or summary for the query.
    #[serde(alias = "description")]
    pub content: String,
}

/// The reason why a search failed. Each text advises what to do.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// No provider has this name.
    #[error("there is no search provider {0:?}; use tavily, brave or searxng")]
    Provider(String),
    /// The provider needs a key, and none was given.
    #[error(
        "the search provider needs a key: give it with --search-api-key-file or SANDBRIDGE_SEARCH_API_KEY"
    )]
    Key,
    /// The provider needs an address, and none was given, or not a valid one.
    #[error(
        "the search provider needs an address: give it with --search-base-url, starting with http:// or https://"
    )]
    Address,
    /// The provider refused the request.
    #[error(
        "the search provider refused the request ({0}); the server's administrator should check the key and the quota"
    )]
    Refused(reqwest::StatusCode),
    /// The provider's response is invalid.
    #[error("the search provider's response cannot be parsed ({0}); try again later")]
    Nonsense(String),
    /// The provider did not respond in time.
    #[error("the search provider did not respond within {} s", SEARCH_PATIENCE.as_secs())]
    Timeout,
    /// The provider cannot be reached.
    #[error("the search provider cannot be reached: {0}")]
    Network(String),
}

/// Searches with a provider that the server asks directly. Holds the key, and sends it to no one else. Cheap to clone.
#[derive(Clone)]
pub struct Searcher {
    /// Created on first use, because that reads this machine's certificates.
    client: Arc<OnceLock<reqwest::Client>>,
    provider: Arc<dyn Provider>,
    base: Url,
    key: String,
}

impl std::fmt::Debug for Searcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Searcher").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// A provider's name, and its constructor.
type Row = (&'static str, fn() -> Arc<dyn Provider>);

impl Searcher {
    const PROVIDERS: [Row; 3] = [
        ("tavily", || Arc::new(tavily::Tavily)),
        ("brave", || Arc::new(brave::Brave)),
        ("searxng", || Arc::new(searxng::Searxng)),
    ];

    /// A searcher with this provider, at its default address unless another is given. A TLS provider must be installed in the process.
    ///
    /// # Errors
    /// [`SearchError::Provider`], [`SearchError::Key`] and [`SearchError::Address`] if something is missing.
    pub fn new(provider: &str, base_url: Option<&str>, key: Option<&str>) -> Result<Self, SearchError> {
        let row = Self::PROVIDERS.iter().find(|(name, _)| *name == provider);
        let (_, make) = row.ok_or_else(|| SearchError::Provider(provider.to_owned()))?;
        let provider = make();
        let key = key.map(str::trim).unwrap_or_default().to_owned();
        if provider.wants_key() && key.is_empty() {
            return Err(SearchError::Key);
        }
        let base = base_url.or(provider.address()).and_then(|base| Url::parse(base).ok());
        let base = base.filter(|base| matches!(base.scheme(), "http" | "https") && base.has_host());
        Ok(Self { client: Arc::default(), provider, base: base.ok_or(SearchError::Address)?, key })
    }

    fn client(&self) -> Result<&reqwest::Client, SearchError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_PATIENCE)
            // A redirect could send the key elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("sandbridge/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| SearchError::Network(cause(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The results of a search, at most `max_results`, the best first.
    ///
    /// # Errors
    /// [`SearchError`], if the provider cannot be reached or refuses.
    pub async fn search(&self, query: &str, max_results: usize) -> Result<Vec<Hit>, SearchError> {
        let answer = timeout(SEARCH_PATIENCE, self.ask(query, max_results)).await;
        let answer = answer.map_err(|_| SearchError::Timeout)??;
        let nonsense = |error: serde_json::Error| SearchError::Nonsense(error.to_string());
        let mut hits =
            self.provider.read(serde_json::from_slice(&answer).map_err(nonsense)?).map_err(nonsense)?;
        hits.truncate(max_results);
        hits.iter_mut().for_each(Hit::tidy);
        Ok(hits)
    }

    async fn ask(&self, query: &str, max_results: usize) -> Result<Vec<u8>, SearchError> {
        let unreached = |error: reqwest::Error| SearchError::Network(cause(&error));
        let request = self.provider.request(self.client()?, &self.base, &self.key, query, max_results);
        let mut response = request.header("accept", "application/json").send().await.map_err(unreached)?;
        if !response.status().is_success() {
            return Err(SearchError::Refused(response.status()));
        }
        let mut answer = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreached)? {
            answer.extend_from_slice(&piece);
            if answer.len() > SEARCH_ANSWER_BYTES {
                return Err(SearchError::Nonsense("the response is too long".to_owned()));
            }
        }
        Ok(answer)
    }

    /// Appends a path to the provider's address.
    fn path(base: &Url, path: &str) -> String {
        format!("{}{path}", base.as_str().trim_end_matches('/'))
    }
}

impl Hit {
    /// Puts each text on one line and limits its length; some providers mark matches with HTML.
    fn tidy(&mut self) {
        for text in [&mut self.title, &mut self.url, &mut self.content] {
            let plain = text.replace("<strong>", "").replace("</strong>", "");
            let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
            *text = line.chars().take(SEARCH_SNIPPET_CHARS).collect();
        }
    }
}

#[cfg(test)]
mod tests;
