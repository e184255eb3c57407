//! Who is let in as a runner: the token decides, and every decision stands in the audit trail.

use std::net::IpAddr;
use std::time::Instant;

use execs::sandbox_user;
use sandbox::{Dialect, ENROLMENT_CAPABILITY, Refusal, RefusalReason, Registration};
use store::{Enrolment, Runner, RunnerAuth, RunnerId, Secret, User};

use crate::state::AppState;

/// A runner that is let in.
pub struct Accepted {
    /// Which one.
    pub runner: RunnerId,
    /// Its owner's key in `sandbox`.
    pub user_key: String,
    /// Its name.
    pub name: String,
    /// The number of this registration.
    pub epoch: u64,
    /// Its own token, where it showed one for one use.
    pub token: Option<Secret>,
}

/// Decides about a registration from this address; `path_user` is who the address that was dialled names.
pub async fn admit(
    state: &AppState,
    address: IpAddr,
    path_user: Option<&str>,
    registration: Registration,
) -> Result<Accepted, Refusal> {
    let machine = format!("{} at {address}", registration.facts.hostname);
    let decided = decide(state, path_user, registration).await;
    // Known tokens are let in, however many unknown ones came from the same address.
    if decided.as_ref().is_err_and(|refusal| refusal.reason != RefusalReason::Unavailable)
        && let Err(seconds) = state.registrations.take(&address, Instant::now())
    {
        let message = format!("too many refused registrations from this address; try again in {seconds} s");
        return Err(Refusal { reason: RefusalReason::RateLimited, message });
    }
    let (user, name, outcome) = match &decided {
        Ok((user, accepted)) => (Some(user.as_str()), Some(accepted.name.as_str()), "ok"),
        Err(refusal) => (None, None, reason_word(refusal.reason)),
    };
    if let Ok((user, accepted)) = &decided
        && accepted.token.is_some()
    {
        state.audit(Some(user), "runner.enrol", Some(&accepted.name), &machine, "ok").await;
    }
    state.audit(user, "runner.register", name, &machine, outcome).await;
    decided.map(|(_, accepted)| accepted)
}

async fn decide(
    state: &AppState,
    path_user: Option<&str>,
    registration: Registration,
) -> Result<(String, Accepted), Refusal> {
    let auth =
        state.store.authenticate_runner(&registration.token).await.map_err(|error| unavailable(&error))?;
    let (user, runner, enrols) = match auth {
        RunnerAuth::Accepted { user, runner } => (user, runner, false),
        RunnerAuth::Enrolling { user, runner } => (user, runner, true),
        RunnerAuth::Unknown => {
            let message = "the token is not known here; make one with `sandbridge runner add NAME`";
            return Err(refused(RefusalReason::TokenUnknown, message));
        }
        RunnerAuth::Expired => {
            let message = "the token has expired; make another with `sandbridge runner rotate NAME`";
            return Err(refused(RefusalReason::TokenExpired, message));
        }
        RunnerAuth::Revoked => {
            let message = "this runner was revoked; to use it again, `sandbridge runner add NAME`";
            return Err(refused(RefusalReason::TokenRevoked, message));
        }
    };
    let claims = [path_user.unwrap_or_default(), &registration.claimed_user];
    if registration.dialect == Dialect::Xbot && claims.iter().any(|claim| *claim != user.name) {
        let message = "name the token's own user in the address (/ws/USER) and as the user id";
        return Err(refused(RefusalReason::TokenUnknown, message));
    }
    let token = match enrols {
        true => Some(enrol(state, &user, &runner, &registration).await?),
        false => None,
    };
    let facts = serde_json::to_string(&registration.facts).map_err(|error| unavailable(&error))?;
    match state.store.record_registration(runner.id, &facts).await {
        Ok(epoch) => {
            let user_key = sandbox_user(&user).key;
            Ok((user.name, Accepted { runner: runner.id, user_key, name: runner.name, epoch, token }))
        }
        Err(store::Error::NotFound { .. }) => {
            Err(refused(RefusalReason::TokenRevoked, "this runner was revoked a moment ago"))
        }
        Err(error) if error.is_callers() => Err(refused(RefusalReason::Malformed, &error.to_string())),
        Err(error) => Err(unavailable(&error)),
    }
}

/// Exchanges a one-use token for the runner's own.
async fn enrol(
    state: &AppState,
    user: &User,
    runner: &Runner,
    registration: &Registration,
) -> Result<Secret, Refusal> {
    let name = &runner.name;
    let facts = &registration.facts;
    // Before the token is used up for a runner that would lose what it is given.
    if !facts.capabilities.iter().any(|capability| capability == ENROLMENT_CAPABILITY) {
        let message = format!(
            "this runner knows no one-use tokens; bring it up to date, or give it a token by `sandbridge runner rotate {name}`"
        );
        return Err(refused(RefusalReason::TokenUnknown, &message));
    }
    let enrolment = state.store.enrol(&registration.token, &facts.boot_id).await;
    let (refusal, outcome) = match enrolment.map_err(|error| unavailable(&error))? {
        Enrolment::Enrolled(token) => return Ok(token),
        Enrolment::Used => {
            let message = format!(
                "this enrolment token was used; if that was not you, `sandbridge runner revoke {name}`, and for another token \
                 `sandbridge runner rotate {name}`"
            );
            (refused(RefusalReason::TokenUnknown, &message), "used")
        }
        Enrolment::Expired => {
            let message = format!(
                "this enrolment token has expired; make another token with `sandbridge runner rotate {name}`"
            );
            (refused(RefusalReason::TokenExpired, &message), "expired")
        }
    };
    // Worth its owner's attention: somebody else may have it.
    state.audit(Some(&user.name), "runner.enrol", Some(name), &facts.hostname, outcome).await;
    Err(refusal)
}

fn refused(reason: RefusalReason, message: &str) -> Refusal {
    Refusal { reason, message: message.to_owned() }
}

fn unavailable(error: &dyn std::fmt::Display) -> Refusal {
    tracing::error!(%error, "a registration could not be decided");
    refused(RefusalReason::Unavailable, "the server cannot look up the token now; it will be tried again")
}

fn reason_word(reason: RefusalReason) -> &'static str {
    match reason {
        RefusalReason::TokenUnknown => "token_unknown",
        RefusalReason::TokenExpired => "token_expired",
        RefusalReason::TokenRevoked => "token_revoked",
        RefusalReason::ProtocolVersion => "protocol_version",
        RefusalReason::Malformed => "malformed",
        RefusalReason::RateLimited => "rate_limited",
        RefusalReason::Unavailable => "unavailable",
        RefusalReason::Other => "other",
    }
}
