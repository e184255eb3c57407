//! Finds out which programs and variables that skills need are missing on a machine, with one short command, and keeps the result for 5
//! minutes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent::library::{Needs, Requires};
use execs::Ledger;
use futures_util::future::BoxFuture;
use sandbox::{AckMode, ExecRequest, Profile, Sandbox};
use store::{User, UserId};
use tokio::time::Instant;

use crate::limits::{NEEDS_KEPT, NEEDS_LOOKED_UP, NEEDS_OUTPUT_BYTES, NEEDS_PATIENCE, NEEDS_REMEMBERED};
use crate::on_record::OnRecord;
use crate::to_the_end::{Ran, run};

/// Looks for missing programs and variables on machines. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct MachineNeeds(Arc<Inner>);

struct Inner {
    ledger: Ledger,
    /// The missing names by machine, and the time of the look-up.
    known: Mutex<HashMap<Key, (Instant, Vec<String>)>>,
}

/// A user, the place, and the command.
type Key = (UserId, String, String);

impl MachineNeeds {
    /// Look-ups, recorded in this ledger.
    pub fn new(ledger: Ledger) -> Self {
        Self(Arc::new(Inner { ledger, known: Mutex::default() }))
    }
}

impl Needs for MachineNeeds {
    fn lacking<'a>(
        &'a self,
        user: &'a User,
        sandbox: &'a Sandbox,
        requires: &'a [&'a Requires],
    ) -> BoxFuture<'a, Option<Vec<String>>> {
        Box::pin(self.0.lacking(user, sandbox, requires))
    }
}

impl Inner {
    async fn lacking(&self, user: &User, sandbox: &Sandbox, requires: &[&Requires]) -> Option<Vec<String>> {
        let Some(line) = line(requires) else { return Some(Vec::new()) };
        let key = (user.id, sandbox.place().to_owned(), line.clone());
        if let Some((at, lacking)) = self.known().get(&key)
            && at.elapsed() < NEEDS_REMEMBERED
        {
            return Some(lacking.clone());
        }
        let lacking = self.look_up(user, sandbox, line).await?;
        let mut known = self.known();
        if known.len() >= NEEDS_KEPT {
            known.clear();
        }
        known.insert(key, (Instant::now(), lacking.clone()));
        Some(lacking)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<Key, (Instant, Vec<String>)>> {
        // Every change is one step, so a panic in another thread leaves the map consistent.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the command; `None` if it did not end with a usable output.
    async fn look_up(&self, user: &User, sandbox: &Sandbox, line: String) -> Option<Vec<String>> {
        let mut request = ExecRequest::shell(line.clone());
        request.timeout = Some(NEEDS_PATIENCE);
        request.acks = AckMode::Manual;
        request.profile = Some(Profile::ReadOnly);
        let shown = "looks for the programs that skills need".to_owned();
        let recorded =
            OnRecord::begin(&self.ledger, user, None, &request, sandbox.place(), line, shown).await;
        let recorded =
            recorded.inspect_err(|error| tracing::error!(%error, "a lookup could not be recorded")).ok()?;
        let given_up = tokio::time::sleep(NEEDS_PATIENCE);
        match run(recorded, sandbox, request, "", NEEDS_OUTPUT_BYTES, given_up, |_| {}).await {
            Ran::Ended(outcome, output) if outcome.code == Some(0) && !output.is_cut => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                Some(text.lines().map(str::to_owned).collect())
            }
            Ran::Ended(..) | Ran::GivenUp | Ran::Failed(_) => None,
        }
    }
}

/// The command that prints the missing names, one per line; `None` if nothing is needed. Names that are not valid for a program or
/// variable are left out.
fn line(requires: &[&Requires]) -> Option<String> {
    let is_program = |name: &&String| {
        !name.is_empty()
            && !name.starts_with('-')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
    };
    let is_variable = |name: &&String| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let all = |list: fn(&Requires) -> &Vec<String>| requires.iter().flat_map(move |requires| list(requires));
    let programs = all(|requires| &requires.programs).chain(all(|requires| &requires.any_program));
    let mut programs: Vec<&str> = programs.filter(is_program).map(String::as_str).collect();
    let mut variables: Vec<&str> =
        all(|requires| &requires.variables).filter(is_variable).map(String::as_str).collect();
    for names in [&mut programs, &mut variables] {
        names.sort_unstable();
        names.dedup();
        names.truncate(NEEDS_LOOKED_UP);
    }
    if programs.is_empty() && variables.is_empty() {
        return None;
    }
    let programs = programs.iter().map(|name| format!("command -v {name} >/dev/null 2>&1 || echo {name}"));
    let variables = variables.iter().map(|name| format!("[ -n \"${{{name}+x}}\" ] || echo '${name}'"));
    Some(programs.chain(variables).chain(["true".to_owned()]).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_machine_is_asked_for_all_of_it_at_once_and_nothing_else_runs() {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let requires = Requires {
            programs: texts(&["sh", "no-such-program", "x; touch evil", "-v", "$(id)"]),
            any_program: texts(&["no-other", "sh"]),
            variables: texts(&["HOME", "NO_SUCH_VARIABLE", "X}; id; ${Y"]),
        };
        let line = line(&[&requires, &requires]).unwrap();
        let output = Command::new("sh").args(["-c", &line]).env("HOME", "").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().collect::<Vec<_>>(), ["no-other", "no-such-program", "$NO_SUCH_VARIABLE"]);
        assert_eq!(super::line(&[&Requires::default()]), None);
    }
}
