//! The routing rules as a pure function. No rule ever names a machine other than the one the user chose.

use std::str::FromStr;

use crate::error::RouteError;

/// The choice that means the Docker backend.
pub const DOCKER: &str = "__docker__";

/// The choice that means the server itself.
pub const NONE: &str = "none";

/// A user, as the sandbox sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Stable, `[a-z0-9]+`: names the user's container and folders.
    pub key: String,
    /// The login name, which policies contain.
    pub name: String,
    /// True if the user is an admin.
    pub is_admin: bool,
}

/// A user's choice of a place, as in the setting `active_runner`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The user chose nothing.
    Auto,
    /// The user chose this place.
    Place(Target),
}

impl Choice {
    /// Parses the setting; absent, empty and `auto` mean that nothing was chosen.
    pub fn parse(setting: Option<&str>) -> Self {
        match setting {
            None | Some("" | "auto") => Self::Auto,
            Some(name) => Self::Place(Target::named(name)),
        }
    }
}

/// A request for the place of a user's work: their choice, and the existing runners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRequest {
    /// The chat's binding, or else the user's setting.
    pub choice: Choice,
    /// The names of all the user's registered runners, connected or not.
    pub registered: Vec<String>,
}

impl RouteRequest {
    /// True if the choice, if there is one, is among the user's places. A command may be refused there all the same.
    pub fn is_known(&self) -> bool {
        match &self.choice {
            Choice::Place(Target::Runner(name)) => self.registered.contains(name),
            Choice::Place(Target::Docker | Target::Local) | Choice::Auto => true,
        }
    }
}

/// The users who may run commands on the server itself; these are confined all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LocalPolicy {
    /// No user.
    #[default]
    Off,
    /// Admins.
    Admins,
    /// The users of these names.
    Names(Vec<String>),
}

impl LocalPolicy {
    /// True if the policy allows this user.
    pub fn allows(&self, user: &User) -> bool {
        match self {
            Self::Off => false,
            Self::Admins => user.is_admin,
            Self::Names(names) => names.contains(&user.name),
        }
    }
}

/// The error for a text that is not a [`LocalPolicy`]; names the wrong part and the possible forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{found:?} is not allowed here: use off, admins, or users' names with commas between them, like alice,bob"
)]
pub struct LocalPolicyError {
    /// The part that is neither a form nor a user's name.
    pub found: String,
}

/// Words that are, or look like, a whole policy: a list must not contain them, or a slip would be taken for a user's
/// name.
const NOT_IN_A_LIST: [&str; 7] = ["off", "admins", "on", "true", "false", "none", "auto"];

/// The longest name of a user, in characters.
const NAME_MAX_CHARS: usize = 63;

impl FromStr for LocalPolicy {
    type Err = LocalPolicyError;

    /// Parses `off`, `admins`, or users' names separated by commas; empty means off.
    fn from_str(text: &str) -> Result<Self, LocalPolicyError> {
        match text.trim() {
            "" | "off" => Ok(Self::Off),
            "admins" => Ok(Self::Admins),
            names => {
                names.split(',').map(|name| listed(name.trim())).collect::<Result<_, _>>().map(Self::Names)
            }
        }
    }
}

/// A user's name in a list; the rule is the same as for adding users.
fn listed(name: &str) -> Result<String, LocalPolicyError> {
    let first_is_plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit());
    let all_allowed = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.' | b'-'));
    if first_is_plain && all_allowed && name.len() <= NAME_MAX_CHARS && !NOT_IN_A_LIST.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(LocalPolicyError { found: name.chars().take(NAME_MAX_CHARS + 1).collect() })
    }
}

/// A place where commands run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The user's runner of this name.
    Runner(String),
    /// The user's container.
    Docker,
    /// The server itself.
    Local,
}

impl Target {
    /// The place that users know by this name.
    pub fn named(name: &str) -> Self {
        match name {
            DOCKER => Self::Docker,
            NONE => Self::Local,
            runner => Self::Runner(runner.to_owned()),
        }
    }

    /// The name shown to the user: the runner's, [`DOCKER`] or [`NONE`].
    pub fn name(&self) -> &str {
        match self {
            Self::Runner(name) => name,
            Self::Docker => DOCKER,
            Self::Local => NONE,
        }
    }
}

/// Applies the rules. `is_connected` returns true if this user's runner of that name is connected now.
pub(crate) fn route(
    route_request: &RouteRequest,
    user: &User,
    has_docker: bool,
    local: &LocalPolicy,
    is_connected: impl Fn(&str) -> bool,
) -> Result<Target, RouteError> {
    let connected = |name: &str| {
        if is_connected(name) {
            Ok(Target::Runner(name.to_owned()))
        } else {
            Err(RouteError::Offline { runner: name.to_owned() })
        }
    };
    match &route_request.choice {
        Choice::Place(Target::Docker) if has_docker => Ok(Target::Docker),
        Choice::Place(Target::Docker) => Err(RouteError::DockerDisabled),
        Choice::Place(Target::Local) => local_target(local, user),
        Choice::Place(Target::Runner(name)) if route_request.registered.contains(name) => connected(name),
        Choice::Place(Target::Runner(name)) => Err(RouteError::UnknownRunner { name: name.clone() }),
        Choice::Auto => match &route_request.registered[..] {
            [only] => connected(only),
            [] if has_docker => Ok(Target::Docker),
            [] => Err(RouteError::NoRunner),
            several => Err(RouteError::Several { names: several.to_vec() }),
        },
    }
}

fn local_target(local: &LocalPolicy, user: &User) -> Result<Target, RouteError> {
    if local.allows(user) {
        return Ok(Target::Local);
    }
    let why = match local {
        LocalPolicy::Off => "this server does not allow them; choose a runner with `sandbridge use NAME`",
        LocalPolicy::Admins => {
            "only its administrators may run them; choose a runner with `sandbridge use NAME`"
        }
        LocalPolicy::Names(_) => {
            "you are not among the users who may run them; choose a runner with `sandbridge use NAME`"
        }
    };
    Err(RouteError::LocalRefused { why: why.to_owned() })
}

#[cfg(test)]
mod tests;
