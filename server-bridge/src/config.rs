//! Every option of the server, and the sources of its value.
//!
//! `HOME/.env` < `HOME/config.json` < the environment < a flag. The option `--docker-image` is `docker_image` in
//! `config.json` and `SANDBRIDGE_DOCKER_IMAGE` in the two environments. Both files are read from the home directory
//! only: a file in the current directory must not configure a server.

mod blobs;
mod database;
mod docker;
mod model;
mod node;
mod proxy;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use blobs::BlobsArgs;
pub(crate) use blobs::bucket_of;
use chats::ModelsConfig;
use clap::Args;
pub use database::{DatabaseArgs, database, database_of};
pub use docker::DockerArgs;
use docker::docker_config;
use home::Settings;
pub use model::ModelArgs;
use model::{encryption_key, models_config};
pub use node::{NodeArgs, NodeConfig};
pub use proxy::ProxyArgs;
use sandbox::requirement::RequirementError;
use sandbox::routing::LocalPolicyError;
use sandbox::{DockerConfig, LocalPolicy, Requirement};
use store::{EncryptionKey, Location};
pub use web::WebArgs;

use crate::web::forwarded::TrustedProxies;

/// The default address of the server.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8080";
/// Keys of `config.json` that are not flags of `serve`: keys for the client commands, and secrets.
const OTHER_KEYS: [&str; 6] =
    ["server", "ca_cert", "api_key", "llm_api_key", "encryption_key", "search_api_key"];
/// The path of Docker's socket, unless `DOCKER_HOST` names another.
const DOCKER_SOCKET: &str = "/var/run/docker.sock";

/// Why the configuration cannot be used. The text of each error names the option to change.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The home directory, or a settings file in it, cannot be used.
    #[error(transparent)]
    Home(#[from] home::Error),
    /// The option `database` has an invalid value. It may contain a password, so it is not shown.
    #[error(transparent)]
    Database(store::Error),
    /// The option `blobs`, or a variable that it needs, has an invalid value.
    #[error("the option blobs cannot be used: {0}")]
    Blobs(s3::Error),
    /// A file that an option names cannot be read or parsed.
    #[error("cannot read {}: {reason}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason why it cannot be used.
        reason: String,
    },
    /// An option has an invalid value.
    #[error("the option {key} cannot be {value:?}: {rule}")]
    Value {
        /// The option's name in `config.json`.
        key: &'static str,
        /// The value that was given, as text.
        value: String,
        /// The rule for values.
        rule: String,
    },
}

/// The flags of `sandbridge serve`, except `--home`. Each is also a key of `config.json` and a `SANDBRIDGE_…` variable.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct ServeArgs {
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Certificate chain for TLS, a PEM file
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for TLS, a PEM file
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Where the server stores its data.
    #[command(flatten)]
    pub database: DatabaseArgs,
    /// The bucket for long values of the database.
    #[command(flatten)]
    pub blobs: BlobsArgs,
    /// How people and runners reach this server, as https://HOST or https://HOST:PORT; shown in the command for a new runner
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Another host name under which the server may be addressed; may be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Whether users may run commands in containers: on, off, or auto (on if Docker's socket exists or DOCKER_HOST is set)
    /// [default: auto]
    #[arg(long, value_name = "on|off|auto")]
    pub docker: Option<String>,
    /// The properties of containers.
    #[command(flatten)]
    pub docker_options: DockerArgs,
    /// Who may run commands on this server itself: off, admins, or names separated by commas [default: off]
    #[arg(long, value_name = "off|admins|NAMES")]
    pub local: Option<String>,
    /// Layers of confinement that a runner must enforce, separated by commas, or `confined` for the minimum; other runners are refused
    /// [default: none]
    #[arg(long, value_name = "LAYERS")]
    pub require: Option<String>,
    /// The maximum size of the content that a chain hands from the agent of one step to the next, in MiB [default: 4096]
    #[arg(long, value_name = "MIB")]
    pub handed_max_mib: Option<String>,
    /// The static runner that goes into containers [default: sandbridge-runner-static next to this program]
    #[arg(long, value_name = "FILE")]
    pub runner_static: Option<PathBuf>,
    /// The runner for work on this server itself [default: sandbridge-runner next to this program]
    #[arg(long, value_name = "FILE")]
    pub runner: Option<PathBuf>,
    /// The models that answer in chats.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The options for the models' access to the internet.
    #[command(flatten)]
    pub web: WebArgs,
    /// The proxies in front of the server.
    #[command(flatten)]
    pub proxy: ProxyArgs,
    /// The settings of this server as one of several nodes.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// The server's configuration, complete and checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The directory of everything that the server stores.
    pub home: PathBuf,
    /// The database file, or the PostgreSQL database.
    pub database: Location,
    /// The bucket for long values; `None` if they are stored in the database.
    pub blobs: Option<s3::Bucket>,
    /// `ADDRESS:PORT`; a host name is looked up.
    pub listen: String,
    /// Certificate and key, if TLS is built in.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// `http(s)://HOST[:PORT]` without a path.
    pub public_url: Option<String>,
    /// Further names of this server in a Host header, in lower case.
    pub allow_host: Vec<String>,
    /// True if the Docker backend is enabled.
    pub docker: bool,
    /// The configuration of its containers.
    pub docker_config: DockerConfig,
    /// The static runner, if there is one.
    pub runner_static: Option<PathBuf>,
    /// The runner for local work, if there is one.
    pub runner: Option<PathBuf>,
    /// The users who may work on the server itself.
    pub local: LocalPolicy,
    /// The models for chats.
    pub models: ModelsConfig,
    /// The key that seals the keys of users' models, if the operator provided one; else the server has its own.
    pub encryption_key: Option<EncryptionKey>,
    /// True if model keys that can no longer be decrypted are to be removed at this start.
    pub forget_sealed_keys: bool,
    /// The models' access to the internet.
    pub internet: tools::internet::Internet,
    /// Hosts of the server's own network that pages and hooks may reach.
    pub reachable: Vec<String>,
    /// The proxies whose statements about clients are trusted.
    pub proxies: Arc<TrustedProxies>,
    /// The layers that runners must have.
    pub require: Requirement,
    /// The maximum size of the content that a chain hands from one step to the next, in bytes; the built-in limit if `None`.
    pub handed_max_bytes: Option<u64>,
    /// True if one person has the server to themselves and no password, as `sandbridge here` does.
    pub one_person: bool,
    /// The settings of this server as a node, and of its shutdown.
    pub node: NodeConfig,
}

impl Config {
    /// Combines the flags with the files and the environment.
    ///
    /// # Errors
    /// [`ConfigError`]; a missing home directory is created if its parent exists.
    pub fn load(options: ServeArgs, home: Option<&Path>) -> Result<Self, ConfigError> {
        let home = home::find(home)?;
        home::ensure(&home)?;
        let settings = Settings::load(&home)?;
        warn_of_unknown_keys(&settings, &home);
        Self::from_settings(options, &home, &settings)
    }

    /// Combines the flags with settings that may belong to another directory.
    ///
    /// # Errors
    /// [`ConfigError::Value`], [`ConfigError::File`].
    pub fn from_settings(options: ServeArgs, home: &Path, settings: &Settings) -> Result<Self, ConfigError> {
        let text = |flag: Option<String>, key| flag.or_else(|| settings.value(key));
        let file = |flag: Option<PathBuf>, key| flag.or_else(|| settings.value(key).map(PathBuf::from));
        let allow_host = if options.allow_host.is_empty() {
            settings.value("allow_host").map(|list| split_list(&list)).unwrap_or_default()
        } else {
            options.allow_host
        };
        let local = text(options.local, "local").unwrap_or_else(|| "off".to_owned());
        let require = text(options.require, "require").unwrap_or_default();
        let docker = text(options.docker, "docker").unwrap_or_else(|| "auto".to_owned());
        let runner_static = file(options.runner_static, "runner_static")
            .or_else(|| beside_this_program("sandbridge-runner-static"));
        let docker_config = docker_config(options.docker_options, settings, home, runner_static.as_deref())?;
        let (internet, reachable) = web::from_settings(options.web, settings)?;
        let database = database_of(home, options.database, settings)?;
        let blobs = blobs::from_settings(options.blobs, settings, &database)?;
        let node = node::from_settings(options.node, settings, &database)?;
        let is_docker_on = docker_enabled(&docker, docker_config.socket.as_deref())?;
        let is_docker_on = node.check_places(&docker, is_docker_on, &local)?;
        Ok(Self {
            home: home.to_owned(),
            database,
            blobs,
            listen: text(options.listen, "listen").unwrap_or_else(|| DEFAULT_LISTEN.to_owned()),
            tls: tls_files(file(options.tls_cert, "tls_cert"), file(options.tls_key, "tls_key"))?,
            public_url: text(options.public_url, "public_url")
                .map(|url| parse_site_url("public_url", url))
                .transpose()?,
            allow_host: allow_host.into_iter().map(|host| host.to_ascii_lowercase()).collect(),
            docker: is_docker_on,
            docker_config,
            runner_static,
            runner: file(options.runner, "runner").or_else(|| beside_this_program("sandbridge-runner")),
            local: local.parse().map_err(|error: LocalPolicyError| ConfigError::Value {
                key: "local",
                value: local.clone(),
                rule: error.to_string(),
            })?,
            models: models_config(&options.model, settings)?,
            encryption_key: encryption_key(&options.model, settings)?,
            // Only a flag sets this: in a file it would apply at every start.
            forget_sealed_keys: options.model.forget_sealed_keys,
            internet,
            reachable,
            proxies: proxy::from_settings(options.proxy, settings)?,
            require: require.parse().map_err(|error: RequirementError| ConfigError::Value {
                key: "require",
                value: require.clone(),
                rule: error.to_string(),
            })?,
            handed_max_bytes: text(options.handed_max_mib, "handed_max_mib")
                .map(|mebibytes| handed_max_bytes(&mebibytes))
                .transpose()?,
            one_person: false,
            node,
        })
    }
}

/// Parses a limit in MiB; returns bytes.
fn handed_max_bytes(mebibytes: &str) -> Result<u64, ConfigError> {
    let bytes =
        mebibytes.parse::<u64>().ok().filter(|most| *most > 0).and_then(|most| most.checked_mul(1 << 20));
    bytes.ok_or_else(|| ConfigError::Value {
        key: "handed_max_mib",
        value: mebibytes.to_owned(),
        rule: "write a number of MiB, such as 4096".to_owned(),
    })
}

/// Keys of `config.json` that no command reads, in alphabetical order.
fn unknown_keys(settings: &Settings) -> Vec<&str> {
    let serve = ServeArgs::augment_args(clap::Command::new("serve"));
    let is_known = |key: &str| {
        OTHER_KEYS.contains(&key) || serve.get_arguments().any(|argument| argument.get_id() == key)
    };
    settings.json_keys().filter(|key| !is_known(key)).collect()
}

/// Logs, in one line, the unknown keys of `config.json`.
fn warn_of_unknown_keys(settings: &Settings, home: &Path) {
    let unknown = unknown_keys(settings);
    if !unknown.is_empty() {
        let file = home.join("config.json");
        let keys = unknown.join(", ");
        tracing::warn!("{} has unknown keys: {keys}; remove or correct them", file.display());
    }
}

/// The path of the engine's socket: that of `DOCKER_HOST`, if the variable names a socket, else Docker's default.
pub fn docker_socket() -> PathBuf {
    std::env::var_os("DOCKER_HOST")
        .and_then(|host| host.to_str()?.strip_prefix("unix://").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from(DOCKER_SOCKET))
}

fn split_list(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

fn tls_files(
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
) -> Result<Option<(PathBuf, PathBuf)>, ConfigError> {
    let alone = |missing, given: PathBuf| ConfigError::Value {
        key: missing,
        value: String::new(),
        rule: format!("TLS needs a certificate and a key, and only {} is given", given.display()),
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(certificate), None) => Err(alone("tls_key", certificate)),
        (None, Some(key)) => Err(alone("tls_cert", key)),
    }
}

fn parse_site_url(key: &'static str, url: String) -> Result<String, ConfigError> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.map(|rest| rest.trim_end_matches('/'));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ', '\'']) => {
            Ok(url.trim_end_matches('/').to_ascii_lowercase())
        }
        _ => Err(ConfigError::Value {
            key,
            value: url,
            rule: "use http://HOST[:PORT] or https://HOST[:PORT], without a path".to_owned(),
        }),
    }
}

fn docker_enabled(word: &str, socket: Option<&str>) -> Result<bool, ConfigError> {
    let elsewhere = std::env::var_os("DOCKER_HOST").is_some_and(|host| !host.is_empty());
    match (word, socket) {
        ("on", _) => Ok(true),
        ("off", _) => Ok(false),
        ("auto", Some(socket)) => Ok(Path::new(socket).exists()),
        ("auto", None) => Ok(elsewhere || Path::new(DOCKER_SOCKET).exists()),
        (other, _) => Err(ConfigError::Value {
            key: "docker",
            value: other.to_owned(),
            rule: "use on, off or auto".to_owned(),
        }),
    }
}

fn beside_this_program(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.join(name);
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests;
