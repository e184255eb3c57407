//! Defines the stored form of a job's definition, and checks new definitions.

use api::automation::{AutomationDraft, Trigger};
use api::words::{Approval, AutomationChats, MissedSlots, OverlappingRuns, TriggerSource};
use serde::{Deserialize, Serialize};
use store::{Job, JobKind, RunnerName};

use crate::error::{Error, Result};
use crate::limits::{TEXT_MAX_BYTES, TRIGGER_PART_MAX_BYTES, TRIGGER_PARTS_MAX};
use crate::when::When;

/// The values of `runner` that do not name a runner: `__docker__` for the user's container, and `none` for the server's own machine.
const OTHER_PLACES: [&str; 2] = ["__docker__", "none"];

/// The definition of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    /// The user's definition. If the user named no approval mode, it contains the one that applied when it was saved.
    pub(crate) automation: AutomationDraft,
    /// When the definition was saved, in Unix milliseconds; the slots of `every` are counted from this time.
    pub(crate) made_ms: i64,
    /// The person for whom an agent of a group proposed the automation; `None` if the owner added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) proposed: Option<Proposed>,
}

/// A person other than the owner, for whom an agent of a group proposed an automation: it runs as long as they may ask that agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposed {
    /// The agent's id.
    pub(crate) agent: i64,
    /// The agent's handle.
    pub(crate) handle: String,
    /// The person's id.
    pub(crate) user: i64,
    /// The person's name.
    pub(crate) person: String,
}

impl Proposed {
    /// Returns the reason why the automation is paused.
    pub(crate) fn ended(&self) -> String {
        format!("it was proposed for {}, who no longer has permission to ask @{}", self.person, self.handle)
    }
}

impl Document {
    /// Reads the definition of a job.
    ///
    /// # Errors
    /// [`Error::Refused`] if this version cannot read it.
    pub(crate) fn of(job: &Job) -> Result<Self> {
        serde_json::from_str(&job.document_json)
            .map_err(|_| Error::refused("failed", "this version of the server cannot read the automation; update the server, or define the automation again"))
    }

    /// Converts the definition to its stored form.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are always JSON")
    }

    /// Returns the times of a schedule; `None` for a trigger.
    ///
    /// # Errors
    /// The same as for [`When::read`].
    pub(crate) fn when(&self) -> Result<Option<When>> {
        self.automation.schedule.as_ref().map(|schedule| When::read(schedule, self.made_ms)).transpose()
    }

    /// Returns true if all runs share one chat.
    pub(crate) fn shares_its_chat(&self) -> bool {
        self.automation.chats != Some(AutomationChats::Each)
    }

    /// Returns how missed slots are handled.
    pub(crate) fn missed(&self) -> MissedSlots {
        self.automation.missed.clone().unwrap_or(MissedSlots::Once)
    }

    /// Returns how a run is handled that becomes due while another one is in progress; by default, a slot is skipped and a delivery waits.
    pub(crate) fn overlap(&self) -> OverlappingRuns {
        let unsaid =
            if self.automation.trigger.is_some() { OverlappingRuns::Queue } else { OverlappingRuns::Skip };
        self.automation.overlap.clone().unwrap_or(unsaid)
    }
}

/// Checks a definition; returns its kind, and the first slot of a schedule, in Unix milliseconds.
///
/// # Errors
/// [`Error::Refused`], which states what to change.
pub(crate) fn check(automation: &AutomationDraft, now_ms: i64) -> Result<(JobKind, Option<i64>)> {
    let text = automation.text.trim_start();
    if text.is_empty() {
        return Err(Error::invalid("an automation needs a text; write the message that it is to post"));
    }
    if automation.text.len() > TEXT_MAX_BYTES {
        return Err(Error::invalid(format!(
            "the text of an automation can have at most {TEXT_MAX_BYTES} bytes; put the rest into a file"
        )));
    }
    if text.starts_with('/') {
        return Err(Error::invalid(
            "the text of an automation cannot be a / command; write what the agent is to do",
        ));
    }
    if let Some(runner) = automation.runner.as_deref()
        && !OTHER_PLACES.contains(&runner)
    {
        RunnerName::parse(runner)?;
    }
    known(&automation.approval, "approval", |word| matches!(word, Approval::Unknown(_)), Approval::WORDS)?;
    let (chats, missed) = (&automation.chats, &automation.missed);
    known(chats, "chats", |word| matches!(word, AutomationChats::Unknown(_)), AutomationChats::WORDS)?;
    known(missed, "missed", |word| matches!(word, MissedSlots::Unknown(_)), MissedSlots::WORDS)?;
    let overlap = &automation.overlap;
    known(overlap, "overlap", |word| matches!(word, OverlappingRuns::Unknown(_)), OverlappingRuns::WORDS)?;
    match (&automation.schedule, &automation.trigger) {
        (Some(schedule), None) => Ok((JobKind::Schedule, Some(When::begin(schedule, now_ms)?.1))),
        (None, Some(trigger)) => {
            if text.starts_with('!') {
                return Err(Error::invalid(
                    "the text of a trigger cannot be a ! command; write what the agent is to do with the delivery",
                ));
            }
            check_trigger(trigger)?;
            Ok((JobKind::Trigger, None))
        }
        _ => Err(Error::invalid("an automation needs exactly one of schedule and trigger")),
    }
}

fn check_trigger(trigger: &Trigger) -> Result<()> {
    let source = Some(trigger.from.clone());
    known(&source, "from", |word| matches!(word, TriggerSource::Unknown(_)), TriggerSource::WORDS)?;
    let Trigger { events, only_if, fields, .. } = trigger;
    if [events.len(), only_if.len(), fields.len()].iter().any(|count| *count > TRIGGER_PARTS_MAX) {
        return Err(Error::invalid(format!(
            "a trigger can have at most {TRIGGER_PARTS_MAX} each of events, conditions and fields; remove some"
        )));
    }
    let pointers = || fields.iter().chain(only_if.iter().map(|condition| &condition.pointer));
    let mut parts = events.iter().chain(pointers()).chain(only_if.iter().map(|condition| &condition.equals));
    if parts.any(|part| part.len() > TRIGGER_PART_MAX_BYTES) {
        return Err(Error::invalid(format!(
            "an event, pointer or value of a trigger can have at most {TRIGGER_PART_MAX_BYTES} bytes; shorten it"
        )));
    }
    if let Some(pointer) = pointers().find(|pointer| !pointer.starts_with('/')) {
        return Err(Error::invalid(format!(
            "{pointer:?} is not a JSON pointer; write one such as /repository/full_name"
        )));
    }
    Ok(())
}

fn known<T>(word: &Option<T>, what: &str, is_unknown: impl Fn(&T) -> bool, words: &[&str]) -> Result<()> {
    match word {
        Some(word) if is_unknown(word) => {
            Err(Error::invalid(format!("{what} of an automation must be one of: {}", words.join(", "))))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use api::automation::{DeliveryCondition, Schedule};

    use super::*;

    fn schedule(text: &str) -> AutomationDraft {
        let schedule = Some(Schedule { every: Some("1h".to_owned()), ..Schedule::default() });
        AutomationDraft { text: text.to_owned(), schedule, ..AutomationDraft::default() }
    }

    fn trigger(text: &str, trigger: Trigger) -> AutomationDraft {
        AutomationDraft { text: text.to_owned(), trigger: Some(trigger), ..AutomationDraft::default() }
    }

    #[test]
    fn what_cannot_be_an_automation_is_refused_with_what_to_write() {
        let github = || Trigger { from: TriggerSource::Github, ..Trigger::default() };
        let condition =
            |pointer: &str| DeliveryCondition { pointer: pointer.to_owned(), ..DeliveryCondition::default() };
        let both = AutomationDraft { trigger: Some(github()), ..schedule("x") };
        for (draft, word) in [
            (schedule(" \n"), "needs a text"),
            (schedule(&"x".repeat(TEXT_MAX_BYTES + 1)), "at most"),
            (schedule(" /new"), "/ command"),
            (AutomationDraft { schedule: None, ..schedule("x") }, "exactly one"),
            (both, "exactly one"),
            (AutomationDraft { runner: Some("../x".to_owned()), ..schedule("x") }, "name"),
            (AutomationDraft { runner: Some("auto".to_owned()), ..schedule("x") }, "auto"),
            (AutomationDraft { approval: Some("root".into()), ..schedule("x") }, "ask, auto-edit, full"),
            (AutomationDraft { missed: Some("always".into()), ..schedule("x") }, "once, skip, all"),
            (trigger("!touch x", github()), "! command"),
            (trigger("x", Trigger { from: "carrier pigeon".into(), ..github() }), "github"),
            (trigger("x", Trigger { fields: vec!["title".to_owned()], ..github() }), "JSON pointer"),
            (trigger("x", Trigger { only_if: vec![condition("")], ..github() }), "JSON pointer"),
            (trigger("x", Trigger { events: vec!["x".repeat(501)], ..github() }), "500 bytes"),
            (trigger("x", Trigger { events: vec![String::new(); 51], ..github() }), "50 each"),
        ] {
            let why = check(&draft, 0).unwrap_err().message();
            assert!(why.contains(word), "{word}: {why}");
        }
        assert_eq!(check(&schedule("!make test"), 0).unwrap(), (JobKind::Schedule, Some(3_600_000)));
        assert_eq!(check(&trigger("Look.", github()), 0).unwrap(), (JobKind::Trigger, None));
    }

    #[test]
    fn a_definition_comes_back_as_it_was_written() {
        let own = Document { automation: schedule("x"), made_ms: 7, proposed: None };
        let (handle, person) = ("coder".to_owned(), "bob".to_owned());
        let for_bob =
            Document { proposed: Some(Proposed { agent: 3, handle, user: 2, person }), ..own.clone() };
        for document in [&own, &for_bob] {
            let json = document.to_json();
            assert_eq!(serde_json::from_str::<Document>(&json).unwrap(), *document);
            assert!(!json.contains("trigger"), "{json}");
        }
        assert!(!own.to_json().contains("proposed"), "as earlier versions wrote it");
    }
}
