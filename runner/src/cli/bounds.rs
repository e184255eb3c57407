//! The command-line options for the networks and resources of commands.

use clap::Args;

use crate::bounds::{Bounds, Bytes, Cpus, HttpHost, LimitsBy, Reach};
use crate::error::Error;
use crate::layers::Profile;

/// The networks that commands may reach, and the resources they may take; the policy file decides whatever is not given.
#[derive(Clone, Debug, Default, Args)]
pub struct BoundsOptions {
    /// The networks that commands may reach: all, loopback (only each other) or none [default: all]
    #[arg(long, value_name = "WHAT", env = "SANDBRIDGE_NETWORK")]
    pub network: Option<Reach>,
    /// The only TCP ports commands may connect to, such as 53,80,443; no UDP unless 53 is listed [default: all]
    #[arg(long, value_name = "PORT,...", env = "SANDBRIDGE_ALLOW_NET", value_delimiter = ',')]
    pub allow_net: Vec<u16>,
    /// Hosts that the server may have this runner download from even if they are this machine or in its network, such as
    /// files.internal or 10.0.0.5 [default: none]
    #[arg(long, value_name = "HOST,...", env = "SANDBRIDGE_DOWNLOAD_ALLOW", value_delimiter = ',')]
    pub download_allow: Vec<String>,
    /// The only hosts that the server may have this runner send HTTP requests to, for MCP servers and HTTP tools in its network, such as
    /// mcp.internal or 10.0.0.5:8080 [default: none]
    #[arg(long, value_name = "HOST[:PORT],...", env = "SANDBRIDGE_HTTP_ALLOW", value_delimiter = ',')]
    pub http_allow: Vec<HttpHost>,
    /// Memory of all commands together, such as 4G, or none for no limit; their temporary files count [default: 3/4 of the machine's]
    #[arg(long, value_name = "BYTES", env = "SANDBRIDGE_MEMORY", value_parser = memory)]
    pub memory: Option<Bytes>,
    /// Processes and threads of all commands together, or none for no limit [default: 1/16 of the machine's, at most 4096]
    #[arg(long, value_name = "N", env = "SANDBRIDGE_PIDS", value_parser = pids)]
    pub pids: Option<u32>,
    /// The means of limiting processes: cgroup2, cgroup1, namespace, rlimit or none [default: the first that works]
    #[arg(long, value_name = "MEANS", env = "SANDBRIDGE_LIMITS_BY")]
    pub limits_by: Option<LimitsBy>,
    /// Processors for all commands together, such as 2 or 0.5 [default: unlimited]
    #[arg(long, value_name = "N", env = "SANDBRIDGE_CPUS")]
    pub cpus: Option<Cpus>,
    /// Files that one process of a command may have open [default: at most 65536]
    #[arg(long, value_name = "N", env = "SANDBRIDGE_OPEN_FILES")]
    pub open_files: Option<u32>,
    /// The largest file that a command may write, such as 10G [default: unlimited]
    #[arg(long, value_name = "BYTES", env = "SANDBRIDGE_FILE_SIZE")]
    pub file_size: Option<Bytes>,
}

impl BoundsOptions {
    /// The bounds given here, and `otherwise` for the rest.
    ///
    /// # Errors
    /// The bounds are impossible; the text explains what to write instead.
    pub fn bounds(&self, otherwise: Bounds, profile: Profile) -> Result<Bounds, Error> {
        let mut bounds = otherwise;
        let network = &mut bounds.network;
        network.reach = self.network.unwrap_or(network.reach);
        if !self.allow_net.is_empty() {
            network.ports.clone_from(&self.allow_net);
        }
        if !self.download_allow.is_empty() {
            bounds.download_allow.clone_from(&self.download_allow);
        }
        if !self.http_allow.is_empty() {
            bounds.http_allow.clone_from(&self.http_allow);
        }
        let limits = &mut bounds.limits;
        limits.memory = self.memory.or(limits.memory);
        limits.pids = self.pids.or(limits.pids);
        limits.by = self.limits_by.or(limits.by);
        limits.cpus = self.cpus.or(limits.cpus);
        limits.open_files = self.open_files.or(limits.open_files);
        limits.file_size = self.file_size.or(limits.file_size);
        bounds.check(profile).map_err(|error| Error::Usage(error.to_string()))?;
        Ok(bounds)
    }

    /// The arguments that request the same bounds.
    pub(crate) fn words(&self) -> Vec<String> {
        let ports: Vec<_> = self.allow_net.iter().map(u16::to_string).collect();
        let http_allow: Vec<_> = self.http_allow.iter().map(HttpHost::to_string).collect();
        let given = [
            ("--network", self.network.map(|reach| reach.to_string())),
            ("--allow-net", Some(ports.join(",")).filter(|ports| !ports.is_empty())),
            ("--download-allow", Some(self.download_allow.join(",")).filter(|hosts| !hosts.is_empty())),
            ("--http-allow", Some(http_allow.join(",")).filter(|hosts| !hosts.is_empty())),
            ("--memory", self.memory.map(|memory| memory.0.to_string())),
            ("--pids", self.pids.map(|pids| pids.to_string())),
            ("--limits-by", self.limits_by.map(|by| by.to_string())),
            ("--cpus", self.cpus.map(|cpus| cpus.to_string())),
            ("--open-files", self.open_files.map(|files| files.to_string())),
            ("--file-size", self.file_size.map(|size| size.0.to_string())),
        ];
        given.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten().collect()
    }
}

/// The word for no limit.
const NO_LIMIT: &str = "none";

fn memory(text: &str) -> Result<Bytes, String> {
    if text == NO_LIMIT {
        return Ok(Bytes(0));
    }
    text.parse::<Bytes>().map_err(|error| format!("{error}, or none for no limit"))
}

fn pids(text: &str) -> Result<u32, String> {
    if text == NO_LIMIT {
        return Ok(0);
    }
    text.parse().map_err(|_| "give a number of processes, or none for no limit".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::bounds::Network;

    #[derive(Parser)]
    struct Given {
        #[command(flatten)]
        bounds: BoundsOptions,
    }

    fn given(words: &[&str]) -> BoundsOptions {
        Given::try_parse_from(std::iter::once(&"runner").chain(words)).unwrap().bounds
    }

    #[test]
    fn no_limit_is_asked_for_in_a_word_or_a_number_and_survives_in_a_unit() {
        for (memory, pids) in [("none", "none"), ("0", "0")] {
            let options = given(&["--memory", memory, "--pids", pids]);
            assert_eq!((options.memory, options.pids), (Some(Bytes(0)), Some(0)));
            assert_eq!(options.words(), ["--memory", "0", "--pids", "0"]);
            let bounds = options.bounds(Bounds::default(), Profile::Workspace).unwrap();
            assert!(!bounds.limits.are_asked_for());
        }
        for words in [["--pids", "many"], ["--memory", "all"], ["--limits-by", "container"], ["--pids", "-1"]]
        {
            assert!(Given::try_parse_from(std::iter::once(&"runner").chain(&words)).is_err(), "{words:?}");
        }
    }

    #[test]
    fn what_is_given_comes_before_the_policy_and_survives_in_a_unit() {
        let words = [
            "--network",
            "loopback",
            "--allow-net",
            "53,443",
            "--download-allow",
            "files.internal,10.0.0.5",
            "--http-allow",
            "mcp.internal,[fd00::5]:443",
            "--memory",
            "1G",
            "--pids",
            "100",
            "--limits-by",
            "cgroup1",
            "--cpus",
            "0.5",
        ];
        let options = given(&words);
        let policy =
            Bounds { network: Network { reach: Reach::None, ports: Vec::new() }, ..Bounds::default() };
        let bounds = options.bounds(policy.clone(), Profile::Workspace).unwrap();
        assert_eq!(bounds.network, Network { reach: Reach::Loopback, ports: vec![53, 443] });
        assert_eq!(bounds.download_allow, ["files.internal", "10.0.0.5"]);
        assert_eq!(bounds.http_allow.len(), 2);
        let again: Vec<_> = options.words();
        let again = given(&again.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(again.bounds(policy.clone(), Profile::Workspace).unwrap(), bounds);
        assert_eq!(given(&[]).bounds(policy.clone(), Profile::Workspace).unwrap(), policy);
        assert!(given(&[]).words().is_empty());
        assert!(matches!(given(&words).bounds(policy, Profile::FullControl), Err(Error::Usage(_))));
    }
}
