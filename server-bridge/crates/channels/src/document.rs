//! The settings of accounts: the values that a platform needs, and who may write.

use std::collections::BTreeMap;
use std::sync::Arc;

use platforms::{Kind, Platform};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{ChannelAccount, User};

use crate::error::{Error, Result};
use crate::limits::{ALLOW_MAX, VALUE_MAX_BYTES};

/// The part of an account that is stored unencrypted; its secrets are stored separately.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Document {
    /// The values that are not secrets.
    #[serde(default)]
    pub(crate) values: BTreeMap<String, String>,
    /// The messenger's ids of the people who may write to the account; if empty, everyone who is linked may write.
    #[serde(default)]
    pub(crate) allow: Vec<String>,
}

impl Document {
    pub(crate) fn of(account: &ChannelAccount) -> Self {
        // A document that a later version wrote may be unreadable. Then its values are missing here, and the platform reports that.
        serde_json::from_str(&account.document_json).unwrap_or_default()
    }

    /// Returns true if the list of people allows this person; whether the person is linked is checked separately.
    pub(crate) fn allows(&self, person: &str) -> bool {
        self.allow.is_empty() || self.allow.iter().any(|allowed| allowed == person)
    }
}

/// Finds the kind of messenger with this name.
pub(crate) fn kind(kinds: &'static [Kind], name: &str) -> Result<&'static Kind> {
    kinds.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
        Error::invalid(format!("there is no messenger {name:?}; choose one of: {}", names.join(", ")))
    })
}

/// Sorts an account's values into those to show and those to seal, and adds the secrets that the account already has.
///
/// # Errors
/// [`Error::Refused`] for a value that the kind does not have or that is too long, or if a required value is missing.
pub(crate) fn sorted(
    kind: &Kind,
    given: &BTreeMap<String, String>,
    kept: &BTreeMap<String, String>,
) -> Result<(BTreeMap<String, String>, BTreeMap<String, String>)> {
    let (mut shown, mut secret) = (BTreeMap::new(), kept.clone());
    for (key, value) in given {
        let Some(setup) = kind.setup.iter().find(|setup| setup.key == key) else {
            let keys: Vec<&str> = kind.setup.iter().map(|setup| setup.key).collect();
            return Err(Error::invalid(format!(
                "{} has no value {key:?}; it has {}",
                kind.title,
                keys.join(", ")
            )));
        };
        if value.len() > VALUE_MAX_BYTES || value.chars().any(|c| c.is_control() && c != '\n') {
            return Err(Error::invalid(format!(
                "the value {key:?} is too long or contains control characters"
            )));
        }
        let place = if setup.is_secret { &mut secret } else { &mut shown };
        match value.trim() {
            "" => place.remove(key),
            value => place.insert(key.clone(), value.to_owned()),
        };
    }
    for setup in kind.setup.iter().filter(|setup| setup.default.is_none()) {
        if !shown.contains_key(setup.key) && !secret.contains_key(setup.key) {
            return Err(Error::invalid(format!("{} needs the value {:?}", kind.title, setup.key)));
        }
    }
    Ok((shown, secret))
}

/// The keys of the values that determine where an account's secrets are sent.
const ADDRESSES: [&str; 8] =
    ["api", "deliveries", "domain", "server", "address", "token_address", "upload_address", "url"];
/// The key of the value that contains the address this server listens on.
const LISTEN: &str = "listen";

/// Checks that stored secrets are sent only to the addresses that they were entered for.
///
/// # Errors
/// [`Error::Refused`] if an address changed and a secret was not entered again.
pub(crate) fn check_change(
    kind: &Kind,
    (before, after): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    kept: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
) -> Result<()> {
    let is_changed = |key: &str| {
        let default = kind.setup.iter().find(|setup| setup.key == key).and_then(|setup| setup.default);
        let of = |values: &BTreeMap<String, String>| {
            values.get(key).map(|value| value.trim().to_owned()).or_else(|| default.map(str::to_owned))
        };
        of(before) != of(after)
    };
    let Some(key) = ADDRESSES.into_iter().find(|key| is_changed(key)) else { return Ok(()) };
    let missing: Vec<&str> =
        kept.keys().filter(|kept| !given.contains_key(*kept)).map(String::as_str).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the value {key:?} was changed, so the secrets would be sent to another address; enter these again: {}",
        missing.join(", ")
    )))
}

/// Checks that only an administrator's account listens on an address of this server.
///
/// # Errors
/// [`Error::Refused`] for another user's account that listens.
pub(crate) fn check_listening(user: &User, values: &BTreeMap<String, String>) -> Result<()> {
    if user.admin || !values.contains_key(LISTEN) {
        return Ok(());
    }
    let text = "only an administrator's account can listen on an address of the server; have this account connect to the messenger";
    Err(Error::refused("forbidden", text))
}

/// Checks a list of people.
pub(crate) fn check_allow(allow: &[String]) -> Result<()> {
    let is_bad = |id: &String| id.trim().is_empty() || id.len() > platforms::limits::ID_MAX_BYTES;
    if allow.len() > ALLOW_MAX || allow.iter().any(is_bad) {
        return Err(Error::invalid(format!(
            "the list of people can contain at most {ALLOW_MAX} messenger ids, and none may be empty"
        )));
    }
    Ok(())
}

/// Creates an account's platform.
///
/// # Errors
/// A text for the administrator, which contains no secret.
pub(crate) fn platform(
    kind: &Kind,
    document: &Document,
    secrets: &BTreeMap<String, String>,
    reach: &guard::Reach,
) -> Result<Arc<dyn Platform>, String> {
    let mut values = Map::new();
    for setup in kind.setup {
        let value = document.values.get(setup.key).or_else(|| secrets.get(setup.key)).map(String::as_str);
        if let Some(value) = value.or(setup.default) {
            values.insert(setup.key.to_owned(), Value::from(value));
        }
    }
    (kind.make)(&Value::Object(values), reach)
}
