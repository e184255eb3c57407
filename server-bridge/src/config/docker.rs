//! The options of the Docker backend.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use sandbox::{ContainerNetwork, DockerConfig, SubnetPoolError};

use super::{ConfigError, Settings, split_list};
use crate::limits::{
    DOCKER_CPUS_MAX, DOCKER_IDLE_STOP_MAX_S, DOCKER_IDLE_STOP_MIN_S, DOCKER_MEMORY_MIN_BYTES,
    DOCKER_PIDS_MAX, DOCKER_PIDS_MIN,
};

/// The flags for the properties of containers; the option `docker` turns containers on or off.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct DockerArgs {
    /// Image of the users' containers, pulled at the first use if the machine does not have it [default: debian:bookworm-slim]
    #[arg(long, value_name = "IMAGE")]
    pub docker_image: Option<String>,
    /// The engine's socket [default: DOCKER_HOST, or /var/run/docker.sock]
    #[arg(long, value_name = "FILE")]
    pub docker_socket: Option<PathBuf>,
    /// Memory of a container, such as 512m or 2g; it gets no swap [default: 2g]
    #[arg(long, value_name = "SIZE")]
    pub docker_memory: Option<String>,
    /// CPUs of a container, such as 1.5 [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    pub docker_cpus: Option<String>,
    /// Processes and threads of a container [default: 512]
    #[arg(long, value_name = "NUMBER")]
    pub docker_pids: Option<String>,
    /// Network that containers join: own (one for each user, isolated from the others), none, or one that was made with `docker
    /// network create` and that all share [default: own]
    #[arg(long, value_name = "own|none|NAME")]
    pub docker_network: Option<String>,
    /// Private addresses for users' own networks, 16 addresses for each network [default: 10.213.0.0/16]
    #[arg(long, value_name = "ADDRESS/BITS")]
    pub docker_subnets: Option<String>,
    /// Whether only /tmp, /run and the workspace can be written to in a container; /tmp and /run count towards its memory and
    /// are empty at each start [default: off]
    #[arg(long, value_name = "on|off")]
    pub docker_read_only: Option<String>,
    /// What commands may change in a container: workspace (the workspace, HOME and /tmp), or full-control (everything, as package
    /// managers need) [default: workspace]
    #[arg(long, value_name = "workspace|full-control")]
    pub docker_profile: Option<String>,
    /// User namespace of containers: auto (the engine's, where it was set up to map users) or host (none) [default: auto]
    #[arg(long, value_name = "auto|host")]
    pub docker_userns: Option<String>,
    /// Keep each user's workspace in its own directory under this one [default: in a Docker volume]
    #[arg(long, value_name = "DIR")]
    pub docker_workspace_dir: Option<PathBuf>,
    /// Stop a container after this time without a request or a running command, such as 90s, 30m or 12h; 0 for never [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub docker_idle_stop: Option<String>,
    /// A host that MCP servers and HTTP tools may reach from users' containers; may be repeated [default: none]
    #[arg(long, value_name = "HOST[:PORT]")]
    pub docker_http_allow: Vec<String>,
    /// For a server that runs in a container: the path of one of its directories on the engine's machine, if the mounts of
    /// the server's own container do not show it; may be repeated
    #[arg(long, value_name = "CONTAINER_DIR=HOST_DIR")]
    pub docker_path_map: Vec<String>,
}

/// Combines the flags with the files and the environment.
pub(super) fn docker_config(
    options: DockerArgs,
    settings: &Settings,
    home: &Path,
    runner_static: Option<&Path>,
) -> Result<DockerConfig, ConfigError> {
    let text = |flag: Option<String>, key| flag.or_else(|| settings.value(key));
    let file = |flag: Option<PathBuf>, key| flag.or_else(|| settings.value(key).map(PathBuf::from));
    let default = DockerConfig::default();
    let http_allow = match options.docker_http_allow.is_empty() {
        true => settings.value("docker_http_allow").map(|list| split_list(&list)).unwrap_or_default(),
        false => options.docker_http_allow,
    };
    let path_map = if options.docker_path_map.is_empty() {
        settings.value("docker_path_map").map(|list| split_list(&list)).unwrap_or_default()
    } else {
        options.docker_path_map
    };
    let socket = file(options.docker_socket, "docker_socket");
    Ok(DockerConfig {
        socket: socket.map(|path| path.to_string_lossy().into_owned()),
        owner: home.to_owned(),
        image: text(options.docker_image, "docker_image").unwrap_or(default.image),
        runner_static: runner_static.map(absolute),
        memory_bytes: parsed("docker_memory", text(options.docker_memory, "docker_memory"), memory)?
            .unwrap_or(default.memory_bytes),
        pids: parsed("docker_pids", text(options.docker_pids, "docker_pids"), pids)?.unwrap_or(default.pids),
        cpus: parsed("docker_cpus", text(options.docker_cpus, "docker_cpus"), cpus)?,
        network: parsed("docker_network", text(options.docker_network, "docker_network"), network)?
            .unwrap_or(default.network),
        subnets: parsed("docker_subnets", text(options.docker_subnets, "docker_subnets"), |text| {
            text.parse().map_err(|error: SubnetPoolError| error.to_string())
        })?
        .unwrap_or(default.subnets),
        read_only: parsed("docker_read_only", text(options.docker_read_only, "docker_read_only"), on_or_off)?
            .unwrap_or(default.read_only),
        full_control: parsed("docker_profile", text(options.docker_profile, "docker_profile"), full_control)?
            .unwrap_or(default.full_control),
        host_userns: parsed("docker_userns", text(options.docker_userns, "docker_userns"), host_userns)?
            .unwrap_or(default.host_userns),
        workspace_dir: file(options.docker_workspace_dir, "docker_workspace_dir").map(|path| absolute(&path)),
        idle_stop: parsed("docker_idle_stop", text(options.docker_idle_stop, "docker_idle_stop"), idle_stop)?
            .unwrap_or(default.idle_stop),
        http_allow: http_allow
            .into_iter()
            .map(|host| parsed("docker_http_allow", Some(host), host_and_port))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
        path_map: path_map
            .into_iter()
            .map(|pair| parsed("docker_path_map", Some(pair), path_pair))
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
    })
}

/// The path as an absolute one, because the engine does not know the directory in which this server was started.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Parses an option's text with `read`, if the option is set; an error of `read` is the rule that the text violates.
fn parsed<T>(
    key: &'static str,
    text: Option<String>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, ConfigError> {
    let read = |value: String| read(value.trim()).map_err(|rule| ConfigError::Value { key, value, rule });
    text.map(read).transpose()
}

fn memory(text: &str) -> Result<i64, String> {
    let rule = || "use a number of bytes, or one with k, m or g, of at least 16m".to_owned();
    let lower = text.to_ascii_lowercase();
    let (number, unit) = match lower.trim_end_matches('b').char_indices().last() {
        Some((at, 'k')) => (&lower[..at], 1 << 10),
        Some((at, 'm')) => (&lower[..at], 1 << 20),
        Some((at, 'g')) => (&lower[..at], 1 << 30),
        _ => (lower.as_str(), 1),
    };
    let bytes = number.parse::<i64>().ok().and_then(|number| number.checked_mul(unit)).ok_or_else(rule)?;
    if bytes >= DOCKER_MEMORY_MIN_BYTES { Ok(bytes) } else { Err(rule()) }
}

fn cpus(text: &str) -> Result<f64, String> {
    let cpus = f64::from_str(text).ok().filter(|cpus| (0.01..=DOCKER_CPUS_MAX).contains(cpus));
    cpus.ok_or_else(|| format!("use a number from 0.01 to {DOCKER_CPUS_MAX}, such as 1.5"))
}

fn pids(text: &str) -> Result<i64, String> {
    let pids = text.parse().ok().filter(|pids| (DOCKER_PIDS_MIN..=DOCKER_PIDS_MAX).contains(pids));
    pids.ok_or_else(|| format!("use a number from {DOCKER_PIDS_MIN} to {DOCKER_PIDS_MAX}"))
}

/// Parses a network. The machine's own network is refused: a container in it reaches services on the machine's loopback.
fn network(text: &str) -> Result<ContainerNetwork, String> {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    match text {
        "host" | "default" => Err(
            "a container must not have the machine's own network; use own, none or another network's name"
                .to_owned(),
        ),
        "own" => Ok(ContainerNetwork::Own),
        name if is_plain => Ok(ContainerNetwork::Named(name.to_owned())),
        _ => Err("use own, none, or the name of a network".to_owned()),
    }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("use on or off".to_owned()),
    }
}

fn full_control(text: &str) -> Result<bool, String> {
    match text {
        "workspace" => Ok(false),
        "full-control" => Ok(true),
        _ => Err("use workspace or full-control".to_owned()),
    }
}

fn host_userns(text: &str) -> Result<bool, String> {
    match text {
        "auto" => Ok(false),
        "host" => Ok(true),
        _ => Err("use auto or host".to_owned()),
    }
}

fn idle_stop(text: &str) -> Result<Option<Duration>, String> {
    if text == "0" {
        return Ok(None);
    }
    let rule = || "use a number with s, m, h or d, such as 30m, from 1s to 365d; or 0 for never".to_owned();
    let (number, unit_s) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 60 * 60),
        Some((at, 'd')) => (&text[..at], 24 * 60 * 60),
        _ => return Err(rule()),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_s));
    let seconds =
        seconds.filter(|seconds| (DOCKER_IDLE_STOP_MIN_S..=DOCKER_IDLE_STOP_MAX_S).contains(seconds));
    seconds.map(|seconds| Some(Duration::from_secs(seconds))).ok_or_else(rule)
}

fn path_pair(text: &str) -> Result<(PathBuf, PathBuf), String> {
    match text.split_once('=') {
        Some((inside, outside)) if inside.starts_with('/') && outside.starts_with('/') => {
            Ok((inside.into(), outside.into()))
        }
        _ => Err("use CONTAINER_DIR=HOST_DIR, both absolute, such as /data=/srv/sandbridge".to_owned()),
    }
}

/// Checks a host with an optional port; returns it in the form that the runner in a container takes.
fn host_and_port(text: &str) -> Result<String, String> {
    let rule = || {
        "use a host's name or address, with a port or without, such as mcp.internal or 10.0.0.5:8080"
            .to_owned()
    };
    let bracketed =
        text.parse::<Ipv6Addr>().map_or_else(|_| text.to_owned(), |address| format!("[{address}]"));
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
    let url = Url::parse(&format!("http://{bracketed}/")).ok().filter(|_| is_plain(text));
    url.filter(|url| url.port() != Some(0)).map(|_| bracketed).ok_or_else(rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(json: &str) -> Result<DockerConfig, ConfigError> {
        let settings = Settings::parse("", json, []).unwrap();
        docker_config(DockerArgs::default(), &settings, Path::new("/home"), None)
    }

    #[test]
    fn every_option_is_read_from_the_configuration_file() {
        let json = r#"{"docker_memory":"512m","docker_cpus":1.5,"docker_pids":64,"docker_network":"none","docker_subnets":"192.168.0.0/20",
            "docker_read_only":true,"docker_userns":"host","docker_profile":"full-control","docker_workspace_dir":"/srv/work",
            "docker_idle_stop":"90s","docker_path_map":["/a=/b","/c=/d"],"docker_socket":"/run/d.sock"}"#;
        let read = config(json).unwrap();
        assert_eq!((read.memory_bytes, read.cpus, read.pids), (512 << 20, Some(1.5), 64));
        assert_eq!(read.network, ContainerNetwork::Named("none".to_owned()));
        assert_eq!(read.subnets.networks(), 256);
        for (text, network) in
            [("own", ContainerNetwork::Own), ("bridge", ContainerNetwork::Named("bridge".to_owned()))]
        {
            let json = serde_json::json!({"docker_network": text}).to_string();
            assert_eq!(config(&json).unwrap().network, network, "what is named is meant");
        }
        assert!(read.read_only && read.host_userns && read.full_control);
        assert_eq!(read.workspace_dir.as_deref(), Some(Path::new("/srv/work")));
        assert_eq!(read.idle_stop, Some(Duration::from_secs(90)));
        assert_eq!(read.path_map.len(), 2);
        assert_eq!(read.socket.as_deref(), Some("/run/d.sock"));
        let unset = config("{}").unwrap();
        assert_eq!(unset, DockerConfig { owner: "/home".into(), ..DockerConfig::default() });
        assert_eq!(config(r#"{"docker_idle_stop":0}"#).unwrap().idle_stop, None);
    }

    #[test]
    fn values_that_cannot_stand_are_named() {
        for (key, values) in [
            ("docker_memory", &["1", "15m", "2t", "-1g", "g", "9999999999999g", "é"][..]),
            (
                "docker_http_allow",
                &["http://a", "a/b", "u@a", "a:0", "a:x", "*.internal", "10.0.0.0/8", "a b"],
            ),
            ("docker_cpus", &["0", "-1", "NaN", "inf", "two"]),
            ("docker_pids", &["0", "-1", "15", "9999999999", "1.5"]),
            ("docker_network", &["host", "default", "container:x", "", " ", "-x", "a b", "a/b"]),
            ("docker_subnets", &["10.213.0.0", "8.8.8.0/24", "10.213.0.0/30", "10.213.0.9/16", "many"]),
            ("docker_read_only", &["yes", "1"]),
            ("docker_profile", &["read-only", "full"]),
            ("docker_userns", &["none", "remap"]),
            ("docker_idle_stop", &["30", "m", "-1m", "0s", "366d", "1é", "99999999999999999999d"]),
            ("docker_path_map", &["/a", "a=/b", "/a=b", "="]),
        ] {
            for value in values.iter().filter(|value| !value.is_empty()) {
                let json = serde_json::json!({key: value}).to_string();
                let error = config(&json).unwrap_err().to_string();
                assert!(error.contains(key), "{key} {value}: {error}");
            }
        }
    }
}
