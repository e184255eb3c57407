//! The settings of a server that is one of several that share a database.

use std::time::Duration;

use store::Location;

use super::{ConfigError, Settings, parse_site_url};
use crate::limits::DRAIN_MAX;

/// The flags of nodes.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct NodeArgs {
    /// The address at which the other nodes reach this one's --peer-listen; makes the server a node, which needs --database
    #[arg(long, value_name = "URL")]
    pub node_url: Option<String>,
    /// Address and port to listen on for other nodes, which need no certificate; with it several nodes work at once, without containers
    /// and without work on the server itself
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub peer_listen: Option<String>,
    /// How long answers in progress may go on when the server is asked to stop, such as 60s or 5m; a second signal ends the wait
    /// [default: they stop at once, and continue at the next start]
    #[arg(long, value_name = "TIME")]
    pub drain: Option<String>,
}

/// The settings of this server as a node, and of its shutdown.
#[derive(Debug, Clone, Default)]
pub struct NodeConfig {
    /// The address at which other nodes reach this one, if it is a node.
    pub url: Option<String>,
    /// `ADDRESS:PORT` to listen on for other nodes, if several work at once.
    pub peer_listen: Option<String>,
    /// How long turns may go on when the server is asked to stop; `None` if they stop at once.
    pub drain: Option<Duration>,
}

impl NodeConfig {
    /// Refuses work on the node's own machine if several nodes work at once: after a user's home has moved to another node, the
    /// work would continue on a machine that the user did not choose. Returns true if containers are on.
    pub(super) fn check_places(&self, docker: &str, is_on: bool, local: &str) -> Result<bool, ConfigError> {
        if self.peer_listen.is_none() {
            return Ok(is_on);
        }
        for (key, value, is_refused) in [("docker", docker, docker == "on"), ("local", local, local != "off")]
        {
            if is_refused {
                let rule = "a node with --peer-listen runs no work on its own machine; use off, and runners on other machines";
                return Err(ConfigError::Value { key, value: value.to_owned(), rule: rule.to_owned() });
            }
        }
        Ok(false)
    }
}

/// Combines the flags with the files and the environment.
///
/// # Errors
/// [`ConfigError::Value`].
pub(super) fn from_settings(
    options: NodeArgs,
    settings: &Settings,
    database: &Location,
) -> Result<NodeConfig, ConfigError> {
    let url = options.node_url.or_else(|| settings.value("node_url"));
    let url = url.map(|url| parse_site_url("node_url", url)).transpose()?;
    if let (Some(url), Location::File(_)) = (&url, database) {
        let rule = "nodes share a PostgreSQL database; give it with --database, or leave --node-url out";
        return Err(ConfigError::Value { key: "node_url", value: url.clone(), rule: rule.to_owned() });
    }
    let peer_listen = options.peer_listen.or_else(|| settings.value("peer_listen"));
    if let (None, Some(listen)) = (&url, &peer_listen) {
        let rule = "only a node listens for other nodes; give its address to them with --node-url";
        return Err(ConfigError::Value { key: "peer_listen", value: listen.clone(), rule: rule.to_owned() });
    }
    let drain = options.drain.or_else(|| settings.value("drain"));
    let drain = drain.map(|time| drain_time(&time)).transpose()?;
    Ok(NodeConfig { url, peer_listen, drain })
}

fn drain_time(text: &str) -> Result<Duration, ConfigError> {
    let (number, unit_s) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        _ => ("", 0),
    };
    let time = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_s));
    let time = time.map(Duration::from_secs).filter(|time| !time.is_zero() && *time <= DRAIN_MAX);
    time.ok_or_else(|| ConfigError::Value {
        key: "drain",
        value: text.to_owned(),
        rule: "use a number with s or m, such as 60s, from 1s to 60m".to_owned(),
    })
}
