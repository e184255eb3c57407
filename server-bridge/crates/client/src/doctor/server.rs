//! The server: reached, trusted, of this version, its clock, the login.

use std::time::{Duration, SystemTime};

use hyper::Method;
use hyper::header::DATE;

use super::Check;
use crate::body::RequestBody;
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::CLOCK_SKEW;
use crate::session::Session;

/// Checks the server; returns its version, if the user is logged in.
pub(super) async fn check(session: &Session, checks: &mut Vec<Check>) -> Option<String> {
    match clock(session).await {
        Ok(clock) => {
            checks.push(Check::works("server", format!("{} answers", session.server)));
            checks.extend(clock);
        }
        Err(failure) => {
            checks.push(unreachable(failure));
            return None;
        }
    }
    let login = format!("run `sandbridge login --server {} --user NAME`", session.server);
    let mut client = match Client::new(session) {
        Ok(client) => client,
        Err(_) => {
            checks.push(Check::broken("login", "you are not logged in", login));
            return None;
        }
    };
    match client.me().await {
        Ok(me) => {
            checks.push(Check::works("login", format!("you are {}", me.name)));
            checks.push(check_version(&me.version));
            Some(me.version)
        }
        Err(failure) if failure.kind == "unauthorized" && session.has_api_key() => {
            let fix = "make another with `sandbridge key add NAME`, and set SANDBRIDGE_API_KEY to it, or to nothing";
            checks.push(Check::broken(
                "login",
                "the key in SANDBRIDGE_API_KEY has expired or was removed",
                fix,
            ));
            None
        }
        Err(failure) if failure.kind == "unauthorized" => {
            checks.push(Check::broken("login", "your login is no longer valid", login));
            None
        }
        Err(failure) => {
            checks.push(Check::broken("login", failure.message, login));
            None
        }
    }
}

/// Sends a request, and compares the server's clock with this machine's.
async fn clock(session: &Session) -> Result<Option<Check>, Failure> {
    let mut client = Client::anonymous(session)?;
    let response = client.send_with(Method::GET, "/healthz", &[], RequestBody::Empty).await?;
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
    let theirs = date.and_then(|date| httpdate::parse_http_date(date).ok());
    Ok(theirs.map(|theirs| check_clock(SystemTime::now(), theirs)))
}

fn check_clock(ours: SystemTime, theirs: SystemTime) -> Check {
    let (apart, which) = match theirs.duration_since(ours) {
        Ok(apart) => (apart, "behind"),
        Err(error) => (error.duration(), "ahead of"),
    };
    if apart <= CLOCK_SKEW {
        return Check::works("clock", "this machine and the server agree");
    }
    let apart = Duration::from_secs(apart.as_secs());
    let detail = format!("this machine's clock is {apart:?} {which} the server's");
    let fix = "correct the clock that is wrong, best with NTP (`timedatectl set-ntp true`): the expiry of tokens and \
               certificates depends on it";
    Check::broken("clock", detail, fix)
}

/// The result for a server that cannot be reached; the failure's text ends with what to do.
fn unreachable(failure: Failure) -> Check {
    let is_trust = ["certificate", "TLS", "https://"].iter().any(|word| failure.message.contains(word));
    match failure.message.rsplit_once("; ") {
        Some((what, fix)) if is_trust => Check::broken("TLS", what, fix),
        _ => {
            let fix = "start it with `sandbridge serve`, or name another one with --server";
            Check::broken("server", failure.message, fix)
        }
    }
}

fn check_version(server: &str) -> Check {
    let own = env!("CARGO_PKG_VERSION");
    if server == own {
        Check::works("version", own)
    } else {
        let detail = format!("the server has version {server}, but this program has version {own}");
        Check::missing("version", detail, "update the older of the two if something does not work")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Standing;
    use super::*;

    #[test]
    fn clocks_that_are_apart_are_told_with_which_one_is_behind() {
        let now = SystemTime::now();
        assert!(check_clock(now, now + Duration::from_secs(5)).standing == Standing::Works);
        let behind = check_clock(now, now + Duration::from_secs(3600));
        assert!(
            behind.standing == Standing::Broken && behind.detail.contains("3600s behind"),
            "{}",
            behind.detail
        );
        assert!(check_clock(now, now - Duration::from_secs(3600)).detail.contains("ahead of"));
        assert!(check_version("99.0.0").standing == Standing::Missing);
    }

    #[test]
    fn a_certificate_that_is_refused_is_told_apart_from_a_server_that_is_away() {
        let failure = |message: &str| unreachable(Failure::other("unreachable", message));
        let check = failure(
            "cannot reach the server at x: refused; its certificate is not trusted here; name it with --ca-cert",
        );
        assert_eq!((check.name, check.fix.as_deref()), ("TLS", Some("name it with --ca-cert")));
        assert_eq!(failure("cannot reach the server at x: refused; is it running?").name, "server");
    }
}
