//! Hosts by their names: recognising this machine, and the addresses of the others.
//!
//! The C library's own lookup loads modules that the machine configured for it (`nsswitch.conf`): a statically linked runner cannot load them, and
//! crashes if their version differs. So the common sources are read here, `/etc/hosts` and the DNS servers of `/etc/resolv.conf`; for other names,
//! such as `printer.local`, it runs the machine's `getent`, a separate program. All of it blocks, and is for threads that see the machine's files and
//! network.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use domain::base::name::{RelativeName, ToName, ToRelativeName};
use domain::resolv::StubResolver;
use domain::resolv::lookup::{lookup_host, search_host};

use crate::limits::NAME_ANSWER_MS;

/// The common paths of `getent`. PATH is not searched: a directory in it may be in the workspace, such as an activated environment's, and this runs
/// outside of the sandbox.
const GETENT: [&str; 3] = ["/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"];

/// The file of names that this machine defines itself.
const HOSTS: &str = "/etc/hosts";

/// True if an authority of a URL (`HOST`, `HOST:PORT`, `[ADDRESS]:PORT`) is this machine itself.
pub(crate) fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => authority.split(':').next().unwrap_or(""),
    };
    // In any spelling: a proxy would take another spelling for its own machine.
    host.trim_end_matches('.').eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The addresses of a host, which may be given as an address.
///
/// # Errors
/// The name is unknown; the error is that of the last source.
pub(crate) fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => addresses_of(host.trim_end_matches('.'))?,
    };
    Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}

fn addresses_of(name: &str) -> io::Result<Vec<IpAddr>> {
    let told = in_hosts(&fs::read_to_string(HOSTS).unwrap_or_default(), name);
    if !told.is_empty() {
        return Ok(told);
    }
    if name.eq_ignore_ascii_case("localhost") {
        return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
    }
    let asked = in_dns(name);
    if let Ok(found) = &asked
        && !found.is_empty()
    {
        return asked;
    }
    let found = by_getent(name);
    if !found.is_empty() {
        return Ok(found);
    }
    let why = asked.err().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(io::Error::new(io::ErrorKind::NotFound, format!("the name {name} cannot be resolved{why}")))
}

/// The addresses of a name in a file like `/etc/hosts`.
fn in_hosts(hosts: &str, name: &str) -> Vec<IpAddr> {
    let lines = hosts.lines().map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
    lines
        .filter_map(|mut words| {
            let address = words.next()?.parse().ok()?;
            words.any(|word| word.eq_ignore_ascii_case(name)).then_some(address)
        })
        .collect()
}

/// The addresses from the DNS servers; a name without a dot is looked up in the search domains, any other is first looked up
/// unchanged.
fn in_dns(name: &str) -> io::Result<Vec<IpAddr>> {
    let relative = RelativeName::<Vec<u8>>::from_str(name).map_err(io::Error::other)?;
    let has_dot = name.contains('.');
    let ask = async move |resolver: StubResolver| {
        if has_dot {
            let whole = (&relative).chain_root();
            let found = lookup_host(&resolver, whole.to_vec()).await;
            if let Ok(found) = &found
                && !found.is_empty()
            {
                return Ok(found.iter().collect());
            }
        }
        search_host(&resolver, &relative).await.map(|found| found.iter().collect())
    };
    StubResolver::run(async move |resolver: StubResolver| {
        let patience = Duration::from_millis(NAME_ANSWER_MS);
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no DNS server answered in time");
        tokio::time::timeout(patience, ask(resolver)).await.map_err(late)?
    })
}

/// The addresses of a name from the machine's own sources; none if it has no `getent`.
fn by_getent(name: &str) -> Vec<IpAddr> {
    let Some(program) = GETENT.iter().find(|path| Path::new(path).exists()) else { return Vec::new() };
    let mut getent = Command::new(program);
    // Without the runner's environment, `getent` uses the system's libraries.
    getent.env_clear().args(["ahosts", "--", name]).stdin(Stdio::null()).stderr(Stdio::null());
    let answer = getent.output().map(|output| output.stdout).unwrap_or_default();
    let mut addresses = Vec::new();
    for line in String::from_utf8_lossy(&answer).lines() {
        if let Some(Ok(address)) = line.split_whitespace().next().map(str::parse)
            && !addresses.contains(&address)
        {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_the_machine_itself_need_nobody() {
        assert_eq!(look_up("192.0.2.1", 80).unwrap(), ["192.0.2.1:80".parse().unwrap()]);
        assert_eq!(look_up("::1", 443).unwrap(), ["[::1]:443".parse().unwrap()]);
        assert!(look_up("LocalHost.", 1).unwrap().iter().all(|address| address.ip().is_loopback()));
    }

    #[test]
    fn hosts_are_read_as_the_manual_says() {
        let hosts = "# 192.0.2.9 build\n192.0.2.1\tbuild.example build # ours\nnonsense build\n::1 build\n\n192.0.2.2 builds\n";
        assert_eq!(
            in_hosts(hosts, "BUILD"),
            ["192.0.2.1".parse::<IpAddr>().unwrap(), "::1".parse().unwrap()]
        );
        assert!(in_hosts(hosts, "ours").is_empty());
    }

    #[test]
    fn getent_is_asked_for_a_name_and_never_for_an_option() {
        assert!(by_getent("localhost").iter().any(IpAddr::is_loopback));
        assert!(by_getent("--help").is_empty());
    }

    #[test]
    fn a_name_that_cannot_be_is_an_error_that_names_it() {
        for name in ["", "a..b", &"x".repeat(300), "nobody.invalid"] {
            let error = look_up(name, 1).unwrap_err().to_string();
            assert!(error.contains("cannot be resolved"), "{name}: {error}");
        }
    }
}
