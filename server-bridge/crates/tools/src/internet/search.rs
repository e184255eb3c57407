//! Searching the internet with a provider that the server's operator configured.
//!
//! A new provider: a file beside these with its `Provider`, and a row of `Searcher::PROVIDERS`.

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

/// A provider's words.
trait Provider: Send + Sync {
    /// Its default address; `None` if one must be configured.
    fn address(&self) -> Option<&'static str>;

    /// True if it needs a key.
    fn wants_key(&self) -> bool;

    /// The request to it.
    fn request(
        &self,
        client: &reqwest::Client,
        base: &Url,
        key: &str,
        query: &str,
        max_results: usize,
    ) -> RequestBuilder;

    /// Its results.
    ///
    /// Fails if the answer has another form.
    fn read(&self, answer: Value) -> Result<Vec<Hit>, serde_json::Error>;
}

/// A search result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Hit {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Its text about the query.
    #[serde(alias = "description")]
    pub content: String,
}

/// Why the search failed. Each text has advice on what to do.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// There is no such provider.
    #[error("there is no search provider {0:?}; use tavily, brave or searxng")]
    Provider(String),
    /// It cannot be asked without a key.
    #[error("it needs a key: give it with --search-api-key-file or SANDBRIDGE_SEARCH_API_KEY")]
    Key,
    /// It cannot be asked without an address, or not at that one.
    #[error("it needs an address: --search-base-url with http:// or https://")]
    Address,
    /// It refused.
    #[error(
        "the search provider answered {0}; the server's administrator should check its key and its quota"
    )]
    Refused(reqwest::StatusCode),
    /// Its answer is invalid.
    #[error("the search provider's answer cannot be parsed: {0}")]
    Nonsense(String),
    /// It did not answer in time.
    #[error("the search provider did not answer within {} s", SEARCH_PATIENCE.as_secs())]
    Timeout,
    /// It cannot be reached.
    #[error("the search provider cannot be reached: {0}")]
    Network(String),
}

/// A provider that the server asks directly. Holds the key, and sends it to no one else. Cheap to clone.
#[derive(Clone)]
pub struct Searcher {
    /// Created at first use: it reads this machine's certificates.
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

    /// A searcher with this provider, at its default address unless another is given. A process needs an installed TLS
    /// provider.
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
            // A redirect would send the key elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("sandbridge/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| SearchError::Network(cause(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// The results, at most `max_results`, the best first.
    ///
    /// # Errors
    /// [`SearchError`].
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
                return Err(SearchError::Nonsense("it is too long".to_owned()));
            }
        }
        Ok(answer)
    }

    /// A path of the provider's, appended to its address.
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
