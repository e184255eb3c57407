//! The tools `Cron` and `EventTrigger`, with which an agent sees and proposes automations. The agent's user approves each change.

use agent::PortError;
use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Failure, ForSubAgents, Live, Outcome, Rules, ToolContext, Typed, TypedTool};
use api::automation::{AutomationDraft, AutomationPut, AutomationView, DeliveryCondition, Schedule, Trigger};
use api::words::{AutomationKind, AutomationState};
use chats::ChatService;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;
use crate::service::{Automations, Wanted};

/// An action on an automation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// List all automations of this kind.
    List,
    /// Add one with this name.
    Add,
    /// Remove the one with this name.
    Remove,
    /// Pause the one with this name.
    Pause,
    /// Resume the one with this name after a pause.
    Resume,
    /// Run the one with this name now.
    Run,
}

/// A schedule: a message that is posted to a chat at set times.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cron {
    /// The action on the schedules.
    action: Action,
    /// The schedule's name: lower-case letters, digits, `_`, `.` and `-`. All actions but `list` need it.
    #[serde(default)]
    name: String,
    /// For `add`: the message that is posted, as if the user had written it at that time.
    #[serde(default)]
    text: String,
    /// For `add`: one time, such as 2026-12-01T09:00.
    #[serde(default)]
    at: Option<String>,
    /// For `add`: the time between two runs, such as 90s, 15m, 2h or 1d; at least 60 s.
    #[serde(default)]
    every: Option<String>,
    /// For `add`: minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5.
    #[serde(default)]
    cron: Option<String>,
    /// For `add`: the time zone of `at` and `cron`, such as Europe/Berlin; UTC if not given.
    #[serde(default)]
    zone: Option<String>,
    /// For `add`: the runner to work on; if not given, the one that is active when a run starts.
    #[serde(default)]
    runner: Option<String>,
}

/// A trigger: a message that is posted to a chat by a webhook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventTrigger {
    /// The action; `run` is not possible.
    action: Action,
    /// The trigger's name: lower-case letters, digits, `_`, `.` and `-`. All actions but `list` need it.
    #[serde(default)]
    name: String,
    /// For `add`: what the agent is to do with each delivery, which it finds in a block after this text.
    #[serde(default)]
    text: String,
    /// For `add`: how the sender signs: github, standard, gitlab, slack or bearer.
    #[serde(default)]
    from: String,
    /// For `add`: the events to accept; all if not given.
    #[serde(default)]
    events: Vec<String>,
    /// For `add`: conditions on the delivery.
    #[serde(default)]
    only_if: Vec<Condition>,
    /// For `add`: JSON pointers of the values to show, such as /repository/full_name; the whole delivery if not given.
    #[serde(default)]
    fields: Vec<String>,
    /// For `add`: the runner to work on; if not given, the one that is active when a run starts.
    #[serde(default)]
    runner: Option<String>,
}

/// A condition on a delivery.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Condition {
    /// The JSON pointer of a value.
    pointer: String,
    /// The text that the value has to equal.
    equals: String,
}

impl Automations {
    /// Offers the tools to the agents of these chats.
    pub fn offer_tools(&self, chats: &ChatService) {
        chats.tools().put(Typed::<Cron>::new(self.clone()));
        chats.tools().put(Typed::<EventTrigger>::new(self.clone()));
    }
}

impl Cron {
    fn draft(&self) -> AutomationDraft {
        let Self { text, at, every, cron, zone, runner, .. } = self;
        let schedule =
            Schedule { at: at.clone(), every: every.clone(), cron: cron.clone(), zone: zone.clone() };
        AutomationDraft {
            text: text.clone(),
            schedule: Some(schedule),
            runner: runner.clone(),
            ..AutomationDraft::default()
        }
    }

    fn when(&self) -> String {
        let words = [&self.at, &self.every, &self.cron, &self.zone];
        words.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

impl EventTrigger {
    fn draft(&self) -> AutomationDraft {
        let only_if = self.only_if.iter().cloned();
        let trigger = Trigger {
            from: self.from.as_str().into(),
            events: self.events.clone(),
            only_if: only_if
                .map(|Condition { pointer, equals }| DeliveryCondition { pointer, equals })
                .collect(),
            fields: self.fields.clone(),
        };
        AutomationDraft {
            text: self.text.clone(),
            trigger: Some(trigger),
            runner: self.runner.clone(),
            ..AutomationDraft::default()
        }
    }
}

/// The rules of both tools: a change takes effect outside the chat, so the user approves each change.
const RULES: Rules = Rules::of(Access::Settings).for_sub_agents(ForSubAgents::Never).without_machine();

fn access(action: Action) -> Access {
    if action == Action::List { Access::Read } else { Access::Settings }
}

/// Returns the description of an action, for the user who approves it.
fn effect(action: Action, kind: &AutomationKind) -> String {
    match action {
        Action::List => format!("lists each {kind}"),
        Action::Add => format!("makes a {kind}"),
        Action::Remove => format!("removes a {kind}"),
        Action::Pause => format!("pauses a {kind}"),
        Action::Resume => format!("resumes a {kind}"),
        Action::Run => format!("runs a {kind} now"),
    }
}

impl TypedTool for Cron {
    type Services = Automations;

    const NAME: &'static str = "Cron";
    const DESCRIPTION: &'static str = "Schedules of the user: messages that are posted to a chat once or repeatedly, for you to work on then. Use it when the user wants something done later or regularly. The user approves each change. A run has the approval mode `ask`; a request that nobody answers is denied.";
    const RULES: Rules = RULES;

    fn access(&self) -> Access {
        access(self.action)
    }

    fn hint(&self) -> &str {
        &self.name
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let mut parts = vec![part("name", &self.name)];
        if self.action == Action::Add {
            parts.extend([part("when", &self.when()), part("text", &self.text)]);
            parts.extend(self.runner.iter().map(|runner| part("runner", runner)));
        }
        Ok(Looked::words(effect(self.action, &AutomationKind::Schedule), parts))
    }

    async fn run(
        &self,
        automations: &Automations,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let added = (self.action == Action::Add).then(|| self.draft());
        act(automations, context, self.action, &AutomationKind::Schedule, &self.name, added).await
    }
}

impl TypedTool for EventTrigger {
    type Services = Automations;

    const NAME: &'static str = "EventTrigger";
    const DESCRIPTION: &'static str = "Triggers of the user: messages that are posted to a chat when an authenticated webhook arrives, for you to work on then. Use it when the user wants you to react to events of GitHub, GitLab, Slack or another service. The user approves each change, and gets the address and the secret; you do not. A run has the approval mode `plan`.";
    const RULES: Rules = RULES;

    fn access(&self) -> Access {
        access(self.action)
    }

    fn hint(&self) -> &str {
        &self.name
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let mut parts = vec![part("name", &self.name)];
        if self.action == Action::Add {
            parts.extend([part("from", &self.from), part("text", &self.text)]);
            parts.extend(self.events.iter().map(|event| part("event", event)));
            let condition = |one: &Condition| part("only if", &format!("{} = {}", one.pointer, one.equals));
            parts.extend(self.only_if.iter().map(condition));
            parts.extend(self.fields.iter().map(|field| part("field", field)));
            parts.extend(self.runner.iter().map(|runner| part("runner", runner)));
        }
        Ok(Looked::words(effect(self.action, &AutomationKind::Trigger), parts))
    }

    async fn run(
        &self,
        automations: &Automations,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let added = (self.action == Action::Add).then(|| self.draft());
        act(automations, context, self.action, &AutomationKind::Trigger, &self.name, added).await
    }
}

/// The error text for an agent of a group that tries anything but a proposal.
const OF_GROUP: &str = "an agent of a group does not see its owner's automations, since other people ask it too; it can only propose a new one";

/// Carries out an agent's action on automations of one kind.
async fn act(
    automations: &Automations,
    context: &ToolContext<'_>,
    action: Action,
    kind: &AutomationKind,
    name: &str,
    added: Option<AutomationDraft>,
) -> Result<Outcome, Failure> {
    let user = context.user;
    let done = async {
        if let Ok(turn) = context.agent()
            && action != Action::Add
            && automations.is_of_group(turn.root).await?
        {
            return Err(Error::refused("forbidden", OF_GROUP));
        }
        if !matches!(action, Action::List | Action::Add) {
            let all = automations.list(user).await?;
            let Some(known) = all.iter().find(|known| known.name == name && known.kind == *kind) else {
                return Err(Error::refused("not_found", format!("there is no {kind} {name:?}")));
            };
            let is_command = known.automation.text.trim_start().starts_with('!');
            if is_command && matches!(action, Action::Run | Action::Resume) {
                return Err(Error::refused(
                    "forbidden",
                    "only the user may start a ! command; ask the user to start it",
                ));
            }
        }
        Ok(match action {
            Action::List => {
                let all = automations.list(user).await?;
                let lines: Vec<String> = all.iter().filter(|known| known.kind == *kind).map(line).collect();
                if lines.is_empty() { format!("there is no {kind}") } else { lines.join("\n") }
            }
            Action::Add => {
                let proposed = match context.agent() {
                    Ok(turn) => automations.proposed_for(&turn).await?,
                    Err(_) => None,
                };
                let put = AutomationPut { automation: added.unwrap_or_default(), secret: None };
                let saved = automations.save(user, name, Wanted { put, is_of_agent: true, proposed }).await?;
                let after = match saved.automation.kind {
                    AutomationKind::Trigger => format!(
                        "\nThe user gets its address and its secret with `sandbridge trigger address {name}`, or in Settings → Automations."
                    ),
                    _ => String::new(),
                };
                format!("saved: {}{after}", line(&saved.automation))
            }
            Action::Remove => {
                automations.remove(user, name).await?;
                "removed".to_owned()
            }
            Action::Pause | Action::Resume => {
                line(&automations.pause(user, name, action == Action::Pause).await?)
            }
            Action::Run => {
                automations.run_now(user, name, None).await?;
                "the run's message is being posted".to_owned()
            }
        })
    };
    match done.await {
        Ok(text) => Ok(Outcome::done(text)),
        Err(error) if error.kind() == "internal" => Err(PortError::Failed(error.to_string()).into()),
        Err(error) => Err(Failure::Message(error.message())),
    }
}

fn line(view: &AutomationView) -> String {
    let automation = &view.automation;
    let when = match (&automation.schedule, &automation.trigger) {
        (Some(Schedule { at, every, cron, zone }), _) => {
            let words = [("at", at), ("every", every), ("cron", cron), ("zone", zone)];
            let words =
                words.into_iter().filter_map(|(label, word)| Some(format!("{label} {}", word.as_ref()?)));
            words.collect::<Vec<_>>().join(" ")
        }
        (None, Some(trigger)) => format!("from {}", trigger.from),
        (None, None) => String::new(),
    };
    let state = match (&view.state, &view.paused_because) {
        (AutomationState::Active, _) => String::new(),
        (state, Some(why)) => format!(" ({state}: {why})"),
        (state, None) => format!(" ({state})"),
    };
    format!("- {}{state}: {when}: {}", view.name, automation.text)
}
