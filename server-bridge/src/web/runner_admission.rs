//! Admission of runners: the token decides, and every decision is in the audit trail.

use std::net::IpAddr;
use std::time::Instant;

use accounts::{Admitted, RunnerId, Secret, Showing, TokenRefused};
use execs::sandbox_user;
use sandbox::{Dialect, ENROLMENT_CAPABILITY, Refusal, RefusalReason, Registration};

use crate::web::state::AppState;

/// A runner whose registration was accepted.
pub struct Accepted {
    /// The runner's id.
    pub runner: RunnerId,
    /// The key by which `sandbox` knows the runner's owner.
    pub user_key: String,
    /// The runner's name.
    pub name: String,
    /// How many times the runner has registered, including this time.
    pub epoch: u64,
    /// The runner's permanent token, if it presented a one-time token.
    pub token: Option<Secret>,
}

/// Decides about a registration from this address; `path_user` is the user in the dialled address.
pub async fn admit(
    state: &AppState,
    address: IpAddr,
    path_user: Option<&str>,
    registration: Registration,
) -> Result<Accepted, Refusal> {
    let machine = format!("{} at {address}", registration.facts.hostname);
    let decided = decide(state, path_user, registration).await;
    // Known tokens are admitted, however many registrations from the same address were refused.
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

/// Checks the token; also returns the name of its owner, if known.
async fn decide(
    state: &AppState,
    path_user: Option<&str>,
    registration: Registration,
) -> Result<(String, Accepted), Refusal> {
    let facts = &registration.facts;
    let facts_json = serde_json::to_string(facts).map_err(|error| {
        tracing::error!(%error, "a registration could not be checked");
        unavailable()
    })?;
    let claims = [path_user.unwrap_or_default(), registration.claimed_user.as_str()];
    let admitted = state.accounts.admit_runner(Showing {
        token: &registration.token,
        claimed_users: if registration.dialect == Dialect::Xbot { &claims } else { &[] },
        boot_id: &facts.boot_id,
        hostname: &facts.hostname,
        takes_token: facts.capabilities.iter().any(|capability| capability == ENROLMENT_CAPABILITY),
        facts_json: &facts_json,
    });
    let Admitted { user, runner, name, epoch, token } = admitted.await.map_err(refusal)?;
    let user_key = sandbox_user(&user).key;
    Ok((user.name, Accepted { runner, user_key, name, epoch, token }))
}

/// A refusal in the protocol's form.
fn refusal(refused: TokenRefused) -> Refusal {
    let reason = match &refused {
        TokenRefused::Unknown
        | TokenRefused::OtherUser
        | TokenRefused::TakesNoToken(_)
        | TokenRefused::Used(_) => RefusalReason::TokenUnknown,
        TokenRefused::Expired | TokenRefused::EnrolmentExpired(_) => RefusalReason::TokenExpired,
        TokenRefused::Revoked | TokenRefused::RevokedMeanwhile => RefusalReason::TokenRevoked,
        TokenRefused::Malformed(_) => RefusalReason::Malformed,
        TokenRefused::Unavailable(error) => {
            tracing::error!(%error, "a registration could not be checked");
            return unavailable();
        }
    };
    Refusal { reason, message: refused.to_string() }
}

fn unavailable() -> Refusal {
    let message = "the server cannot look up the token now; the runner will try again".to_owned();
    Refusal { reason: RefusalReason::Unavailable, message }
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
