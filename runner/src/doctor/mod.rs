//! The effect of a policy on this machine: described, and tested.

mod trials;

use serde::Serialize;
use serde_json::{Value, json};

pub use trials::Trial;

use crate::confine::{ConfinePolicy, sockets_in_workspace};
use crate::explain::{self, Entry};
use crate::layers::{LEFT_OUT, LayerReport, Profile, layer_name};
use crate::space;
use crate::spawn::{SpawnError, Spawner};

/// The findings about one profile on this machine.
#[derive(Debug)]
pub struct Diagnosis {
    /// The profile it is about.
    pub profile: Profile,
    /// The layers, and whether they are in effect.
    pub report: LayerReport,
    /// The rights of commands to paths.
    pub entries: Vec<Entry>,
    /// The commands' environment beyond files.
    pub facts: Vec<Fact>,
    /// The tests run as a command.
    pub trials: Vec<Trial>,
}

/// One line about the commands' environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name of the fact, such as `workspace`.
    pub name: String,
    /// The value of the fact, for people.
    pub detail: String,
}

/// Confines a temporary thread, and reports the layers that were in effect.
///
/// # Errors
/// The workspace cannot be opened, or no thread can be started.
pub fn probe(policy: &ConfinePolicy, profile: Profile) -> Result<LayerReport, SpawnError> {
    Ok(Spawner::start(profile, policy)?.report().clone())
}

/// Gathers all findings, by running commands.
///
/// # Errors
/// The same as for [`probe`].
pub fn diagnose(policy: &ConfinePolicy, profile: Profile) -> Result<Diagnosis, SpawnError> {
    let facts = facts(policy, profile);
    let spawner = Spawner::start(profile, policy)?;
    let report = spawner.report().clone();
    let own_root = report.holds(layer_name::MOUNT_NAMESPACE);
    let mut entries = explain::entries(policy, profile, own_root);
    entries.retain(|entry| entry.path.exists());
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let trials = trials::try_all(policy, &spawner);
    Ok(Diagnosis { profile, report, entries, facts, trials })
}

fn facts(policy: &ConfinePolicy, profile: Profile) -> Vec<Fact> {
    let fact = |name: &str, detail: String| Fact { name: name.to_owned(), detail };
    let mut facts =
        vec![fact("profile", profile.to_string()), fact("workspace", policy.workspace.display().to_string())];
    let passed = policy.passed_variables();
    let names: Vec<&str> = passed.variables.iter().map(|(name, _)| name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(" ") };
    facts.push(fact("variables", names));
    facts.extend(passed.withheld.into_iter().map(|what| fact("withheld", what)));
    facts.extend(space::warnings(&policy.workspace).into_iter().map(|warning| fact("warning", warning)));
    if profile != Profile::FullControl {
        let copied = policy.copy_settings().into_iter();
        facts.extend(copied.map(|copied| fact(&format!("settings ({})", copied.program), copied.detail)));
        facts.extend(policy.allowances.warnings().into_iter().map(|warning| fact("warning", warning)));
        facts.extend(sockets_in_workspace(policy).into_iter().map(|socket| {
            let what = "is a socket in the workspace: commands can do whatever the service behind it does";
            fact("warning", format!("{} {what}", socket.display()))
        }));
    }
    facts
}

impl Diagnosis {
    /// True if commands are confined, and every test had the promised result.
    pub fn is_good(&self) -> bool {
        self.report.confined() && self.trials.iter().all(|trial| trial.ok)
    }

    /// Formats the report as text for a terminal.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for Fact { name, detail } in &self.facts {
            text.push_str(&format!("{name:<16} {detail}\n"));
        }
        text.push('\n');
        let mut told: Vec<(String, Vec<String>)> = Vec::new();
        for entry in &self.entries {
            let letter = |may: bool, letter| if may { letter } else { '-' };
            let access = [letter(entry.read, 'r'), letter(entry.write, 'w'), letter(entry.run, 'x')];
            let head = format!("{}  {}", access.iter().collect::<String>(), entry.why);
            let path = entry.path.display().to_string();
            match told.iter_mut().find(|(known, _)| *known == head) {
                Some((_, paths)) => paths.push(path),
                None => told.push((head, vec![path])),
            }
        }
        for (head, paths) in told {
            text.push_str(&format!("{head}\n     {}\n", paths.join(" ")));
        }
        text.push('\n');
        for trial in &self.trials {
            text.push_str(&format!("{}  {}\n", if trial.ok { '✓' } else { '✗' }, trial.name));
        }
        text.push('\n');
        text.push_str(&render(&self.report));
        text
    }

    /// Formats the report as JSON for programs.
    pub fn json(&self) -> Value {
        let layers = self.report.layers.iter();
        let layers =
            layers.map(|layer| json!({"name": layer.name, "holds": layer.holds, "detail": layer.detail}));
        json!({
            "profile": self.profile.as_str(),
            "confined": self.report.confined(),
            "ok": self.is_good(),
            "facts": self.facts,
            "paths": self.entries,
            "layers": layers.collect::<Vec<_>>(),
            "tests": self.trials,
        })
    }
}

/// The report as lines for a terminal: the layers that are in effect, those that are not, and what to do about them.
pub fn render(report: &LayerReport) -> String {
    let mut text = String::new();
    for layer in &report.layers {
        let is_missing = report.missing().any(|missing| missing.name == layer.name);
        let sign = match (layer.holds, is_missing) {
            (true, _) => "ok     ",
            (false, true) => "MISSING",
            (false, false) => "not set",
        };
        text.push_str(&format!("{sign}  {:<16} {}\n", layer.name, layer.detail));
        if let Some(advice) = advice(layer.name).filter(|_| is_missing && layer.detail != LEFT_OUT) {
            text.push_str(&format!("         {:<16} {advice}\n", ""));
        }
    }
    text.push_str(if report.confined() {
        "Commands are confined.\n"
    } else {
        "Commands are NOT confined: a server on this machine refuses to run commands on the machine itself (`none`).\n"
    });
    text
}

fn advice(name: &str) -> Option<&'static str> {
    match name {
        layer_name::MOUNT_NAMESPACE | layer_name::PID_NAMESPACE => {
            Some("run the runner as root, or allow unprivileged user namespaces on this machine")
        }
        layer_name::LANDLOCK => Some("use Linux 5.13 or newer with \"landlock\" in the kernel's lsm= list"),
        layer_name::LANDLOCK_SCOPE => Some("use Linux 6.12 or newer"),
        layer_name::SECCOMP => Some("the kernel needs CONFIG_SECCOMP_FILTER"),
        layer_name::LIMITS => Some(
            "let the runner use a cgroup (start it as root or install-service), use Linux 6.14 or newer, or let commands run as an \
             ordinary user (--run-as-default)",
        ),
        layer_name::NON_DUMPABLE => Some("start sandbridge-runner itself, which starts its guardian process"),
        _ => None,
    }
}
