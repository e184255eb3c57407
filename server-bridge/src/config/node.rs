//! This server as one of several that share a database.

use std::time::Duration;

use store::Location;

use super::{ConfigError, Settings, parse_site_url};
use crate::limits::DRAIN_MAX;

/// The flags of nodes.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct NodeArgs {
    /// The HTTP address at which the other nodes reach this one; makes the server a node, which needs --database
    #[arg(long, value_name = "URL")]
    pub node_url: Option<String>,
    /// How long answers in progress may go on when the server is asked to stop, such as 60s or 5m; a second signal ends the wait
    /// [default: they stop at once, and go on at the next start]
    #[arg(long, value_name = "TIME")]
    pub drain: Option<String>,
}

/// Combines the flags with the files and the environment.
///
/// # Errors
/// [`ConfigError::Value`].
pub(super) fn from_settings(
    options: NodeArgs,
    settings: &Settings,
    database: &Location,
) -> Result<(Option<String>, Option<Duration>), ConfigError> {
    let url = options.node_url.or_else(|| settings.value("node_url"));
    let url = url.map(|url| parse_site_url("node_url", url)).transpose()?;
    if let (Some(url), Location::File(_)) = (&url, database) {
        let rule = "nodes share a PostgreSQL database; give it with --database, or leave --node-url out";
        return Err(ConfigError::Value { key: "node_url", value: url.clone(), rule: rule.to_owned() });
    }
    let drain = options.drain.or_else(|| settings.value("drain"));
    Ok((url, drain.map(|time| drain_time(&time)).transpose()?))
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
