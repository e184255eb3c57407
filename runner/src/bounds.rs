//! The bounds of commands: the networks they may reach and the resources they may use, as plain data from the command line
//! or a policy file.

mod http_hosts;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use crate::layers::Profile;
use crate::limits::{CPU_THOUSANDTHS_LEAST, HTTP_ALLOWED_HOSTS, MEMORY_BYTES_LEAST, PIDS_LEAST};
pub use http_hosts::HttpHost;

/// The port that name servers listen on.
pub(crate) const NAME_SERVER_PORT: u16 = 53;

/// The network and the resources of a runner's commands. The default leaves the network open and limits resources to a share
/// of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// The networks that commands may reach.
    pub network: Network,
    /// The resources that commands may use.
    pub limits: Limits,
    /// Hosts, in the form of a URL's host, that the runner downloads from even if their addresses belong to this machine or
    /// its network.
    pub download_allow: Vec<String>,
    /// The only hosts to which the runner sends the server's HTTP requests, at any address.
    pub http_allow: Vec<HttpHost>,
}

/// The networks that commands may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// The kind of network that commands have.
    pub reach: Reach,
    /// The TCP ports that commands may connect to; empty means all. With a list, UDP is refused unless it contains 53: name servers need it.
    pub ports: Vec<u16>,
}

/// The kind of network for commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The machine's network.
    #[default]
    All,
    /// A separate one, in which they reach each other and nothing else.
    Loopback,
    /// None: only sockets of the file system are possible.
    None,
}

/// The resources that commands may use. If not set, memory and processes get a share of the machine, and the rest is
/// unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Memory of all commands of the runner together, including their temporary files; 0 means no limit.
    pub memory: Option<Bytes>,
    /// Processes and threads of all commands of the runner together; 0 means no limit.
    pub pids: Option<u32>,
    /// The only means that may limit processes; if not set, the first that works.
    pub by: Option<LimitsBy>,
    /// Processor time of all commands of the runner together.
    pub cpus: Option<Cpus>,
    /// Files that one process may have open; never more than the runner itself may.
    pub open_files: Option<u32>,
    /// The largest file a command may write.
    pub file_size: Option<Bytes>,
}

/// Means that keep the number of processes within its limit, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LimitsBy {
    /// A control group of version 2.
    Cgroup2,
    /// A control group of version 1.
    Cgroup1,
    /// The largest process number of the runner's own PID namespace; since Linux 6.14 each namespace has its own.
    Namespace,
    /// `RLIMIT_NPROC`, which counts all processes of a user, and does not apply to root.
    Rlimit,
    /// The runner counts, and ends commands above the limit; a faster growth is not stopped.
    None,
    /// The control group of the container whose init process is the runner.
    #[serde(skip)]
    Container,
}

/// A size, written as bytes or with K, M, G or T (of 1,024) after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "Written")]
pub struct Bytes(pub u64);

/// Processors, in thousandths; written like `2` or `0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "Written")]
pub struct Cpus {
    /// 1,000 is one processor.
    pub thousandths: u32,
}

/// A number in a file, with or without quotation marks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u64),
    Fraction(f64),
    Text(String),
}

/// The text cannot be parsed, or asks for something impossible; the message explains what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBound(String);

impl Bounds {
    /// True if the runner may download from this host even if its address is not public. The host is a name, or an address with
    /// or without brackets.
    pub(crate) fn downloads_within(&self, host: &str) -> bool {
        let bare = |host: &str| host.trim_matches(['[', ']']).to_ascii_lowercase();
        self.download_allow.iter().any(|allowed| bare(allowed) == bare(host))
    }

    /// Checks for impossible combinations.
    ///
    /// # Errors
    /// Parts contradict each other or the profile, or nothing could run within a limit.
    pub fn check(&self, profile: Profile) -> Result<(), InvalidBound> {
        let Network { reach, ports } = &self.network;
        let invalid = |text: String| Err(InvalidBound(text));
        if *reach == Reach::None && !ports.is_empty() {
            return invalid(
                "--allow-net names ports and --network none allows no network; give one of the two".into(),
            );
        }
        if ports.contains(&0) {
            return invalid("--allow-net: 0 is not a port".into());
        }
        if profile == Profile::FullControl && self.network.restricts() {
            return invalid(
                "the profile full-control confines nothing, not even the network; leave out --network and --allow-net, or \
                 choose --profile workspace"
                    .into(),
            );
        }
        if let Some(host) = self.download_allow.iter().find(|host| !is_host(host)) {
            return invalid(format!(
                "--download-allow {host:?}: give a host's name or address, without a port"
            ));
        }
        if self.http_allow.len() > HTTP_ALLOWED_HOSTS {
            return invalid(format!("--http-allow names more than {HTTP_ALLOWED_HOSTS} hosts"));
        }
        let Limits { memory, pids, cpus, .. } = &self.limits;
        if memory.is_some_and(|memory| memory.0 != 0 && memory.0 < MEMORY_BYTES_LEAST) {
            return invalid(format!("--memory: commands need at least {}", Bytes(MEMORY_BYTES_LEAST)));
        }
        if pids.is_some_and(|pids| pids != 0 && pids < PIDS_LEAST) {
            return invalid(format!("--pids: commands need at least {PIDS_LEAST} processes"));
        }
        if cpus.is_some_and(|cpus| cpus.thousandths < CPU_THOUSANDTHS_LEAST) {
            let least = Cpus { thousandths: CPU_THOUSANDTHS_LEAST };
            return invalid(format!("--cpus: commands need at least {least}"));
        }
        Ok(())
    }
}

/// True if a text is a host without a port: a name, or an address with or without brackets.
fn is_host(text: &str) -> bool {
    let bare = text.trim_matches(['[', ']']);
    let is_address = bare.parse::<std::net::IpAddr>().is_ok();
    let is_name = |name: &str| {
        name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-._".contains(&it)) && !name.is_empty()
    };
    is_address || is_name(text)
}

impl Network {
    /// True if commands may reach less than the machine does.
    pub fn restricts(&self) -> bool {
        self.reach != Reach::All || !self.ports.is_empty()
    }

    /// True if commands may connect to a TCP port of another machine.
    pub(crate) fn lets_out(&self, port: u16) -> bool {
        self.reach == Reach::All && (self.ports.is_empty() || self.ports.contains(&port))
    }

    /// True if traffic other than TCP may leave: see [`Self::ports`].
    pub(crate) fn has_datagrams(&self) -> bool {
        self.ports.is_empty() || self.ports.contains(&NAME_SERVER_PORT)
    }
}

impl Limits {
    /// True if a limit of all commands together was explicitly requested, and must therefore be enforced.
    pub fn are_asked_for(&self) -> bool {
        self.memory.is_some_and(|memory| memory.0 != 0)
            || self.pids.is_some_and(|pids| pids != 0)
            || self.cpus.is_some()
            || self.by.is_some()
    }
}

impl LimitsBy {
    const CHOICES: [Self; 5] = [Self::Cgroup2, Self::Cgroup1, Self::Namespace, Self::Rlimit, Self::None];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cgroup2 => "cgroup2",
            Self::Cgroup1 => "cgroup1",
            Self::Namespace => "namespace",
            Self::Rlimit => "rlimit",
            Self::None => "none",
            Self::Container => "container",
        }
    }

    /// A description, for reports.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Cgroup2 => "cgroup v2",
            Self::Cgroup1 => "cgroup v1",
            Self::Namespace => "own PID namespace",
            Self::Rlimit => "RLIMIT_NPROC of their user",
            Self::None => "counted by the runner only, too late for processes that multiply fast",
            Self::Container => "the container's cgroup",
        }
    }
}

impl fmt::Display for LimitsBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for LimitsBy {
    type Err = InvalidBound;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::CHOICES.into_iter().find(|choice| choice.as_str() == name);
        known.ok_or_else(|| InvalidBound("choose cgroup2, cgroup1, namespace, rlimit or none".to_owned()))
    }
}

impl Reach {
    /// The name on the command line and in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Loopback => "loopback",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Reach {
    type Err = InvalidBound;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = [Self::All, Self::Loopback, Self::None].into_iter().find(|reach| reach.as_str() == name);
        known.ok_or_else(|| InvalidBound("choose all, loopback or none".to_owned()))
    }
}

const UNITS: [(&str, u32); 4] = [("T", 40), ("G", 30), ("M", 20), ("K", 10)];

impl FromStr for Bytes {
    type Err = InvalidBound;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let upper = text.trim().to_ascii_uppercase();
        let plain = upper.trim_end_matches('B').trim_end_matches('I');
        let unit = UNITS.iter().find_map(|(unit, shift)| Some((plain.strip_suffix(unit)?, *shift)));
        let (number, shift) = unit.unwrap_or((plain, 0));
        let bytes = number.trim().parse().ok().and_then(|number: u64| number.checked_mul(1 << shift));
        bytes
            .map(Self)
            .ok_or_else(|| InvalidBound("give a size like 512M, 4G or a number of bytes".to_owned()))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().find(|(_, shift)| self.0 != 0 && self.0.trailing_zeros() >= *shift);
        match unit {
            Some((unit, shift)) => write!(formatter, "{} {unit}iB", self.0 >> shift),
            None => write!(formatter, "{} bytes", self.0),
        }
    }
}

impl FromStr for Cpus {
    type Err = InvalidBound;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number: Option<f64> = text.trim().parse().ok();
        let thousandths = number.map(|number| (number * 1_000.0).round());
        match thousandths.filter(|number| *number >= 0.0 && *number <= f64::from(u32::MAX)) {
            // In range, and an integer.
            Some(number) => Ok(Self { thousandths: number as u32 }),
            None => Err(InvalidBound("give a number of processors like 2 or 0.5".to_owned())),
        }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", f64::from(self.thousandths) / 1_000.0)
    }
}

impl Written {
    fn text(self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Fraction(number) => number.to_string(),
            Self::Text(text) => text,
        }
    }
}

impl TryFrom<Written> for Bytes {
    type Error = InvalidBound;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        written.text().parse()
    }
}

impl TryFrom<Written> for Cpus {
    type Error = InvalidBound;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        written.text().parse()
    }
}
