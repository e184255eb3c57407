//! The LLM endpoint, from the runner's configuration, never from a request.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::error::Error;
use crate::limits::{LLM_IDLE_MS, LLM_URL_BYTES};
use crate::net::http::Way;
use crate::secret::read_secret;

/// The LLM endpoint that servers may ask through this runner.
#[derive(Debug, Clone, Args)]
pub struct LlmOptions {
    /// Let servers ask an LLM through this runner, at this base URL (without /v1)
    #[arg(long, value_name = "URL", env = "SANDBRIDGE_RUNNER_LLM_URL")]
    pub llm_url: Option<String>,
    /// The API that the endpoint speaks
    #[arg(long, value_name = "NAME", requires = "llm_url", env = "SANDBRIDGE_RUNNER_LLM_PROVIDER")]
    pub llm_provider: Option<Provider>,
    /// The model to ask for, announced to the server
    #[arg(long, value_name = "NAME", requires = "llm_url", env = "SANDBRIDGE_RUNNER_LLM_MODEL")]
    pub llm_model: Option<String>,
    /// File that holds the endpoint's key, which is never sent to the server
    #[arg(long, value_name = "FILE", requires = "llm_url", env = "SANDBRIDGE_RUNNER_LLM_KEY_FILE")]
    pub llm_key_file: Option<PathBuf>,
}

/// The API that an endpoint speaks, which decides how the key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Provider {
    /// `Authorization: Bearer`, as OpenAI and most others expect it.
    Openai,
    /// `x-api-key`, as Anthropic expects it.
    Anthropic,
}

/// The configuration of an LLM endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmConfig {
    /// The base URL: `http` or `https`, a host, and optionally a path prefix; no query.
    pub base: Uri,
    /// The API that it speaks.
    pub provider: Provider,
    /// The model's name, for information only; may be empty.
    pub model: String,
    /// The file of its key; a private endpoint may have none.
    pub key: Option<KeyFile>,
    /// How long it may be silent, in milliseconds.
    pub idle_ms: u64,
}

/// A file with a key, in a place that commands cannot see. It is read for each request, so that a new key is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    path: PathBuf,
    /// The trees that commands can read.
    open: Vec<PathBuf>,
}

impl LlmOptions {
    /// The endpoint, if one is configured. `open` are the trees that commands can read, where the key must not be.
    ///
    /// # Errors
    /// The URL cannot be used, or the key's file cannot be read or could be read by commands.
    pub fn config(&self, open: impl FnOnce() -> Vec<PathBuf>) -> Result<Option<LlmConfig>, Error> {
        let Some(url) = &self.llm_url else { return Ok(None) };
        let key = self.llm_key_file.as_ref().map(|file| KeyFile::new(file, open())).transpose()?;
        Ok(Some(LlmConfig {
            base: base_url(url)?,
            provider: self.llm_provider.unwrap_or(Provider::Openai),
            model: self.llm_model.clone().unwrap_or_default(),
            key,
            idle_ms: LLM_IDLE_MS,
        }))
    }
}

impl LlmConfig {
    /// The arguments that configure the same endpoint on a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec!["--llm-url".to_owned(), self.base.to_string()];
        words.extend(["--llm-provider".to_owned(), self.provider.name().to_owned()]);
        if !self.model.is_empty() {
            words.extend(["--llm-model".to_owned(), self.model.clone()]);
        }
        if let Some(key) = &self.key {
            words.extend(["--llm-key-file".to_owned(), key.path.to_string_lossy().into_owned()]);
        }
        words
    }

    /// The route to it. Unencrypted traffic stays on this machine or its private network: so it never passes a proxy, which
    /// looks up names itself.
    ///
    /// # Errors
    /// The environment names a proxy of an unsupported kind.
    pub(crate) fn way(&self) -> io::Result<Way> {
        if self.base.scheme_str() == Some("https") {
            Way::to(&self.base)
        } else {
            Ok(Way::Direct(Arc::new(is_private)))
        }
    }
}

impl Provider {
    /// The name on the command line and in the registration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The header with a key.
    pub(crate) fn authorization(self, key: &str) -> io::Result<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Self::Openai => (AUTHORIZATION, format!("Bearer {key}")),
            Self::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(io::Error::other)?;
        value.set_sensitive(true);
        Ok((name, value))
    }
}

impl KeyFile {
    /// Refuses a file in one of the trees that commands can read (`open`), or one that they could redirect.
    ///
    /// # Errors
    /// The file is one of these, or cannot be read, or contains no key.
    pub fn new(file: &Path, open: Vec<PathBuf>) -> Result<Self, Error> {
        let path = std::path::absolute(file).map_err(Error::file(file))?;
        let directory = path.parent().unwrap_or(&path).canonicalize().map_err(Error::file(file))?;
        let key = Self { path, open };
        key.check(&key.path)?;
        key.check(&directory)?;
        key.read()?;
        Ok(key)
    }

    /// The current key; blocks.
    pub(crate) fn read(&self) -> Result<String, Error> {
        let path = self.path.canonicalize().map_err(Error::file(&self.path))?;
        self.check(&path)?;
        read_secret(&path)
    }

    fn check(&self, path: &Path) -> Result<(), Error> {
        let Some(open) = self.open.iter().find(|open| path.starts_with(open)) else { return Ok(()) };
        Err(Error::Usage(format!(
            "--llm-key-file {}: commands can read the files in {}. Move the key to a directory that they cannot read, \
             such as the runner's state directory",
            self.path.display(),
            open.display()
        )))
    }
}

/// Parses the address of an endpoint.
///
/// # Errors
/// The URL is not an HTTP address, contains more than host and path, or would send the key unencrypted to a public address.
pub fn base_url(url: &str) -> Result<Uri, Error> {
    let usage = |text: &str| Err(Error::Usage(format!("--llm-url: {text}")));
    let Ok(uri) = url.parse::<Uri>() else {
        return usage("it cannot be parsed; write it like https://api.example.com");
    };
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let host = uri.host().unwrap_or_default();
    if !is_http || host.is_empty() || url.len() > LLM_URL_BYTES {
        return usage("it has to begin with http:// or https:// and a host");
    }
    if uri.query().is_some()
        || url.contains('#')
        || uri.authority().is_some_and(|it| it.as_str().contains('@'))
    {
        return usage("it can have only a host and a path; a key goes into --llm-key-file");
    }
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    if uri.scheme_str() == Some("http") && address.is_ok_and(|address| !is_private(address)) {
        return usage("http:// would carry the key unencrypted over public networks; use https://");
    }
    Ok(uri)
}

/// True if an address is this machine's or a private network's, link-local and carrier-grade addresses included.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, ..] = address.octets();
            let is_shared = first == 100 && second & 0xc0 == 64;
            address.is_loopback() || address.is_private() || address.is_link_local() || is_shared
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::ExecutorConfig;
    use crate::layers::Profile;

    #[test]
    fn only_addresses_that_keep_the_key_safe_are_taken() {
        for url in [
            "https://api.example.com",
            "https://api.example.com:8443/prefix/",
            "http://localhost:11434",
            "http://127.0.0.1:1",
            "http://[::1]:1",
            "http://10.1.2.3",
            "http://100.64.0.1",
            "http://ollama:11434",
        ] {
            assert!(base_url(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "/v1",
            "api.example.com",
            "ftp://a",
            "http://8.8.8.8",
            "http://[2001:4860::1]",
            "http://[::ffff:8.8.8.8]",
            "https://key@a",
            "https://a/?key=1",
            "https://a/#x",
            "https://a b/",
        ] {
            assert!(matches!(base_url(url), Err(Error::Usage(_))), "{url}");
        }
    }

    #[test]
    fn a_key_that_commands_could_read_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().canonicalize().unwrap();
        let (workspace, state_dir) = (root.join("workspace"), root.join("state"));
        std::fs::create_dir_all(state_dir.join("homes")).unwrap();
        std::fs::create_dir(&workspace).unwrap();
        let of =
            |profile| ExecutorConfig::new(workspace.clone(), state_dir.clone(), profile).seen_by_commands();
        let write = |path: PathBuf| {
            std::fs::write(&path, "secret\n").unwrap();
            path
        };
        let good = write(state_dir.join("key"));
        let link_in = root.join("link");
        std::os::unix::fs::symlink(write(workspace.join("key")), &link_in).unwrap();
        let link_out = workspace.join("link");
        std::os::unix::fs::symlink(&good, &link_out).unwrap();
        for file in [workspace.join("key"), link_in.clone(), link_out, write(state_dir.join("homes/key"))] {
            let text = KeyFile::new(&file, of(Profile::Workspace)).unwrap_err().to_string();
            assert!(text.contains("commands can read") && !text.contains("secret"), "{text}");
        }
        assert_eq!(KeyFile::new(&good, of(Profile::ReadOnly)).unwrap().read().unwrap(), "secret");
        assert!(KeyFile::new(&link_in, of(Profile::FullControl)).is_ok());
        assert!(KeyFile::new(&root.join("none"), of(Profile::Workspace)).is_err());
    }
}
