//! The models' access to the internet.

use std::path::PathBuf;

use reqwest::Url;
use tools::internet::search::SearchError;
use tools::internet::{Fetcher, Internet, Searcher};

use super::model::read_secret;
use super::{ConfigError, Settings, split_list};

/// The flags of fetching and searching. The key itself has no flag, because other users can see a command line.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct WebArgs {
    /// Whether models may have this server fetch pages from the internet: on or off [default: on]
    #[arg(long, value_name = "on|off")]
    pub fetch: Option<String>,
    /// A host in the server's own network that pages may be fetched from and hooks may call; may be repeated
    #[arg(long, value_name = "HOST")]
    pub fetch_allow: Vec<String>,
    /// The search provider for models: tavily, brave or searxng; without one they cannot search the internet
    #[arg(long, value_name = "tavily|brave|searxng")]
    pub search_provider: Option<String>,
    /// The address of the search provider's API [default: the provider's own address; searxng has none]
    #[arg(long, value_name = "URL")]
    pub search_base_url: Option<String>,
    /// File that holds the search provider's key; or set SANDBRIDGE_SEARCH_API_KEY
    #[arg(long, value_name = "FILE")]
    pub search_api_key_file: Option<PathBuf>,
}

/// Combines the flags with the files and the environment; returns also the hosts of the server's own network that may be reached.
///
/// # Errors
/// [`ConfigError`].
pub(super) fn from_settings(
    options: WebArgs,
    settings: &Settings,
) -> Result<(Internet, Vec<String>), ConfigError> {
    let text = |flag: Option<String>, key| flag.or_else(|| settings.value(key));
    let fetch = match text(options.fetch, "fetch").as_deref() {
        None | Some("on") => true,
        Some("off") => false,
        Some(other) => return Err(refused("fetch", other, "use on or off")),
    };
    let allowed = match options.fetch_allow.is_empty() {
        true => settings.value("fetch_allow").map(|list| split_list(&list)).unwrap_or_default(),
        false => options.fetch_allow,
    };
    let allowed = allowed.iter().map(|host| parse_host(host)).collect::<Result<Vec<_>, _>>()?;
    let key_file =
        options.search_api_key_file.or_else(|| settings.value("search_api_key_file").map(PathBuf::from));
    let key = match key_file {
        Some(file) => Some(read_secret(&file)?),
        None => settings.value("search_api_key"),
    };
    let base_url = text(options.search_base_url, "search_base_url");
    let search = text(options.search_provider, "search_provider").map(|provider| {
        Searcher::new(&provider, base_url.as_deref(), key.as_deref()).map_err(|error| {
            let option = match error {
                SearchError::Address => "search_base_url",
                _ => "search_provider",
            };
            refused(option, &provider, &error.to_string())
        })
    });
    Ok((Internet { fetch: fetch.then(|| Fetcher::new(&allowed)), search: search.transpose()? }, allowed))
}

/// Checks a host and returns it in the form of a URL's host.
fn parse_host(host: &str) -> Result<String, ConfigError> {
    let bracketed =
        if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    let url = Url::parse(&format!("http://{bracketed}/"))
        .ok()
        .filter(|url| url.path() == "/" && url.port().is_none());
    let host_only = url.as_ref().and_then(Url::host_str).filter(|_| !host.contains(['/', '@', '?', '#']));
    host_only
        .map(str::to_owned)
        .ok_or_else(|| refused("fetch_allow", host, "use a host's name or address, without a port"))
}

fn refused(key: &'static str, value: &str, rule: &str) -> ConfigError {
    ConfigError::Value { key, value: value.to_owned(), rule: rule.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(options: WebArgs, values: &[(&str, &str)]) -> Result<Internet, String> {
        let settings = Settings::parse("", "", values.iter().copied()).unwrap();
        from_settings(options, &settings).map(|(internet, _)| internet).map_err(|error| error.to_string())
    }

    #[test]
    fn pages_are_fetched_unless_that_is_off_and_nothing_searches_unless_it_is_set_up() {
        let usual = load(WebArgs::default(), &[]).unwrap();
        assert!(usual.fetch.is_some() && usual.search.is_none());
        let off = WebArgs { fetch: Some("off".to_owned()), ..WebArgs::default() };
        assert!(load(off, &[]).unwrap().fetch.is_none());
        assert!(
            load(WebArgs::default(), &[("SANDBRIDGE_FETCH", "maybe")]).unwrap_err().contains("on or off")
        );
        let brave = [("SANDBRIDGE_SEARCH_PROVIDER", "brave")];
        assert!(load(WebArgs::default(), &brave).unwrap_err().contains("SANDBRIDGE_SEARCH_API_KEY"));
        let with_key = [brave[0], ("SANDBRIDGE_SEARCH_API_KEY", "secret")];
        let searcher = load(WebArgs::default(), &with_key).unwrap().search.unwrap();
        assert!(!format!("{searcher:?}").contains("secret"));
        let searxng = [("SANDBRIDGE_SEARCH_PROVIDER", "searxng")];
        assert!(load(WebArgs::default(), &searxng).unwrap_err().contains("search_base_url"));
        let unknown = [("SANDBRIDGE_SEARCH_PROVIDER", "yahoo")];
        assert!(load(WebArgs::default(), &unknown).unwrap_err().contains("use tavily"));
    }

    #[test]
    fn an_allowed_host_is_a_host_and_nothing_else() {
        for (host, known) in
            [("Wiki.Corp", "wiki.corp"), ("10.0.0.1", "10.0.0.1"), ("::1", "[::1]"), ("[::1]", "[::1]")]
        {
            assert_eq!(parse_host(host).unwrap(), known);
        }
        for bad in ["", "http://a", "a:80", "a/b", "u@a", "a b", "*.corp/"] {
            assert!(parse_host(bad).is_err(), "{bad}");
        }
    }
}
