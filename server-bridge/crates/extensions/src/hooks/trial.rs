//! Trying hooks: runs the handlers of one hook or one event, on a sample or on a given payload. The decision is shown instead of
//! carried out. A hook that waits for approval does not run here either.

use std::sync::Arc;
use std::time::Instant;

use api::hooks::{HookTrial, HookTrialRun, HookTrialView};
use api::problem::Problem;
use api::words::HookDecision;
use hooks::dialect::Dialect;
use hooks::event::Named;
use hooks::layers::Hook;
use hooks::sample::{happening, sample_for};
use hooks::{Combined, Event, Hooks, Loaded, Raw, Round, Setting, Verdict};
use serde_json::{Map, Value};
use store::{ChatId, User};

use super::log::outcome;
use super::run::{At, Owner};
use super::turns::{TurnHooks, session};
use super::{HookRunner, Inner};
use crate::condition::Grammar;
use crate::limits::{HOOK_TRIAL_OUTPUT_BYTES, HOOK_TRIAL_PAYLOAD_BYTES};
use crate::{Error, Result};

/// The smallest number of digits of a hash that can name a hook.
const HASH_MIN_DIGITS: usize = 8;

/// The session of a trial without a chat.
const NO_CHAT: &str = "trial";

/// The outcome of a callback that would have written a record.
const NOT_WRITTEN: &str = "a trial writes nothing: the output is the line that would be written";

/// The mode of a trial without a chat.
const ASK: &str = "ask";

/// The hooks that a trial runs.
struct Tried {
    hooks: Hooks,
    event: Event,
    /// The hooks of the event that do not run, with the reason.
    left_out: Vec<Problem>,
}

impl HookRunner {
    /// Runs the handlers of a hook or an event on a payload, at a place or for a chat, and returns their decision. Nothing of a
    /// workspace runs before its approval.
    ///
    /// # Errors
    /// [`Error::Refused`] for a hook that is unknown or does not run, an unknown event, and a payload that does not fit the event;
    /// [`Error::Store`].
    pub async fn attempt(&self, user: &User, on: Option<&str>, trial: &HookTrial) -> Result<HookTrialView> {
        let (inner, store) = (&self.0, &self.0.store);
        let given = given(trial.payload.as_deref())?;
        let chat = match trial.chat_id.as_deref() {
            Some(id) => Some(store.chat(user.id, &ChatId::parse(id).map_err(store::Error::from)?).await?.id),
            None => None,
        };
        let route = match (&chat, on) {
            (Some(chat), None) => execs::chat_route_request(store, user.id, Some(chat)).await?,
            _ => execs::route_request(store, user.id, on).await?,
        };
        let sandbox = inner.router.for_user(&execs::sandbox_user(user), &route).await.ok();
        let documents = inner.documents(user.id, sandbox.as_ref(), &[]).await?;
        let tried = tried(trial, inner.load(user.id, &documents, &sandbox).await?)?;
        let fields = match (tried.hooks.all(), given) {
            (_, Some(given)) => given,
            ([hook, ..], None) => sample_for(hook),
            ([], None) => Map::new(),
        };
        let root = sandbox.as_ref().map(|sandbox| sandbox.facts().workspace.clone()).unwrap_or_default();
        let (session, at) = match &chat {
            Some(chat) => {
                let (mode, cwd) =
                    (store.approval(user.id, chat).await?, store.chat_cwd(user.id, chat).await?);
                let turn = store.newest_turn(user.id, chat).await?;
                let at = turn.map(|turn| At { root: chat.clone(), chat: chat.clone(), turn });
                (session(chat.to_string(), &root, &cwd, &mode), at)
            }
            None => (session(NO_CHAT.to_owned(), &root, "", ASK), None),
        };
        let loaded = Loaded { hooks: tried.hooks, ..Loaded::default() };
        let redactor = inner.redactor(user.id, &loaded.hooks).await?;
        let hooks = TurnHooks::without_turn(loaded, session, route, documents.plugins, redactor);
        let hooks = Arc::new(hooks);
        let owner = Owner { user: user.clone(), chat: None, at };
        inner.attempt(&owner, &hooks, tried.event, &fields, tried.left_out).await
    }
}

impl Inner {
    async fn attempt(
        self: &Arc<Self>,
        owner: &Owner,
        hooks: &Arc<TurnHooks>,
        event: Event,
        fields: &Map<String, Value>,
        mut left_out: Vec<Problem>,
    ) -> Result<HookTrialView> {
        let happening = happening(event, fields).map_err(|why| {
            Error::refused("invalid", format!("the payload does not fit {}: {why}", name(event)))
        })?;
        let setting = Setting {
            hooks: &hooks.loaded.hooks,
            session: &hooks.session,
            redactor: &hooks.redactor,
            condition: &Grammar,
            has_run: &|_| false,
        };
        let mut round = Round::begin(setting, &happening);
        let (begun, mut runs, mut payload) = (Instant::now(), Vec::new(), None);
        while let Some(step) = round.next(begun.elapsed()) {
            let started = Instant::now();
            let raw = self.act(owner, hooks, step.hook, &step.payload, step.timeout).await;
            let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            runs.push(run_view(step.hook, &raw, took_ms));
            payload.get_or_insert_with(|| step.payload.text.clone());
            if !step.is_background {
                round.answer(step, raw);
            }
        }
        let ran: Vec<&str> = runs.iter().map(|run| run.hook.as_str()).collect();
        let others = hooks.loaded.hooks.of(event).filter(|hook| !ran.contains(&hook.id.as_str()));
        let why = "its matcher or its condition does not fit this payload";
        left_out.extend(others.map(|hook| Problem::of(&hook.id, why)));
        Ok(view(event, round.end(), payload.unwrap_or_default(), runs, left_out))
    }
}

/// The payload given for a trial.
fn given(text: Option<&str>) -> Result<Option<Map<String, Value>>> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    if text.len() > HOOK_TRIAL_PAYLOAD_BYTES {
        return Err(Error::refused("too_large", "the payload is longer than 256 KiB"));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(Some(fields)),
        Ok(_) => Err(Error::refused("invalid", "the payload is not a JSON object")),
        Err(error) => Err(Error::refused("invalid", format!("the payload is not JSON: {error}"))),
    }
}

/// The applicable hooks that a trial names.
fn tried(trial: &HookTrial, loaded: Loaded) -> Result<Tried> {
    let event = trial.event.as_deref().map(event_named).transpose()?;
    let Some(wanted) = trial.hook.as_deref() else {
        let event = event.ok_or_else(|| {
            Error::refused("invalid", "name a hook, or an event whose hooks are to be tried")
        })?;
        let not_yet = |hooks: &[Hook], why: &str| -> Vec<Problem> {
            let of_event = hooks.iter().filter(|hook| hook.event == event);
            of_event.map(|hook| Problem::of(&hook.id, why)).collect()
        };
        let left_out = [not_yet(&loaded.waiting, WAITS), not_yet(&loaded.inert, INERT)].concat();
        return Ok(Tried { hooks: loaded.hooks, event, left_out });
    };
    if let Some(hook) = loaded.hooks.all().iter().find(|hook| is_meant(hook, wanted)) {
        if let Some(event) = event.filter(|event| *event != hook.event) {
            let text = format!("{} is a hook of {}, not of {}", hook.id, name(hook.event), name(event));
            return Err(Error::refused("invalid", text));
        }
        return Ok(Tried { hooks: loaded.hooks.only(&hook.id), event: hook.event, left_out: Vec::new() });
    }
    let is = |hooks: &[Hook]| hooks.iter().any(|hook| is_meant(hook, wanted));
    let (kind, why) = match (is(&loaded.waiting), is(&loaded.inert)) {
        (true, _) => ("conflict", format!("the hook {wanted} does not run: {WAITS}")),
        (false, true) => ("conflict", format!("the hook {wanted} does not run: {INERT}")),
        (false, false) => (
            "not_found",
            format!("there is no hook {wanted:?} there; `sandbridge hook list` lists the hooks"),
        ),
    };
    Err(Error::refused(kind, why))
}

const WAITS: &str = "it waits for your approval; look at it, and approve it with `sandbridge hook approve`";
const INERT: &str = "its commands are not enabled; its file needs \"enable_command_hooks\": true";

/// True if this is the hook's id, or a long enough beginning of its hash.
fn is_meant(hook: &Hook, wanted: &str) -> bool {
    let is_hash = wanted.len() >= HASH_MIN_DIGITS && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
    hook.id == wanted || is_hash && hook.hash.as_str().starts_with(&wanted.to_ascii_lowercase())
}

fn event_named(name: &str) -> Result<Event> {
    match Event::named(name) {
        Named::Ours(event) => Ok(event),
        Named::Unused => {
            Err(Error::refused("invalid", format!("Sandbridge does not raise the event {name}")))
        }
        Named::Unknown => {
            let names: Vec<&str> = Event::ALL.into_iter().map(self::name).collect();
            let text = format!("there is no event {name:?}; the events are {}", names.join(", "));
            Err(Error::refused("invalid", text))
        }
    }
}

fn name(event: Event) -> &'static str {
    event.name(Dialect::Own)
}

fn run_view(hook: &Hook, raw: &Raw, took_ms: u64) -> HookTrialRun {
    let shown = |bytes: &[u8]| {
        let bytes = &bytes[..bytes.len().min(HOOK_TRIAL_OUTPUT_BYTES)];
        String::from_utf8_lossy(bytes).into_owned()
    };
    let (output, errors, exit_code) = match raw {
        Raw::Exit { status, stdout, stderr, .. } => (shown(stdout), shown(stderr), Some(*status)),
        Raw::Http { body, .. } => (shown(body), String::new(), None),
        Raw::Tool { text, .. } | Raw::Model(text) => (shown(text.as_bytes()), String::new(), None),
        Raw::Callback(said) => {
            (shown(said.text.as_deref().unwrap_or_default().as_bytes()), String::new(), None)
        }
        Raw::Signal(_) | Raw::TimedOut(_) | Raw::Failed(_) | Raw::Background(_) => {
            (String::new(), String::new(), None)
        }
    };
    let outcome = match raw {
        Raw::Callback(said) if said.text.is_some() => NOT_WRITTEN.to_owned(),
        raw => outcome(raw, hook),
    };
    HookTrialRun {
        hook: hook.id.clone(),
        origin: hook.origin.clone(),
        kind: hook.handler.kind().to_owned(),
        action: hook.handler.describe(),
        outcome,
        output,
        errors,
        exit_code,
        in_background: hook.handler.is_async || matches!(raw, Raw::Background(_)),
        took_ms,
    }
}

fn view(
    event: Event,
    combined: Combined,
    payload: String,
    runs: Vec<HookTrialRun>,
    left_out: Vec<Problem>,
) -> HookTrialView {
    let decision = match combined.verdict {
        Some(Verdict::Deny) => HookDecision::Deny,
        Some(Verdict::Ask) => HookDecision::Ask,
        Some(Verdict::Allow) => HookDecision::Allow,
        None if combined.stop.is_some() => HookDecision::Stop,
        None => HookDecision::None,
    };
    let texts = |lines: Vec<hooks::combine::Line>| lines.into_iter().map(|line| line.text).collect();
    HookTrialView {
        event: name(event).to_owned(),
        decision,
        may_block: event.may_block(),
        reasons: combined.for_people().into_iter().chain(combined.stop).collect(),
        context: texts(combined.contexts),
        messages: texts(combined.messages),
        failures: texts(combined.failures),
        arguments: combined.updated.map(|call| Value::Object(call.input).to_string()),
        payload,
        runs,
        left_out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(own: &str, others: &str) -> Loaded {
        use hooks::config::Format;
        use hooks::layers::{Checks, Files, Source};
        let source = |layer, text| Source {
            layer,
            format: Format::Own,
            origin: "o",
            plugin_root: None,
            workspace: None,
            text,
            enables_commands: false,
        };
        let checks = Checks {
            is_approved: &|_| false,
            files: &|_, _| Files::default(),
            condition: &Grammar,
            callback: &|_, _, _| Ok(()),
        };
        let sources = [source(hooks::Layer::User, own), source(hooks::Layer::Workspace, others)];
        hooks::load(&sources, &checks)
    }

    fn of(hook: Option<&str>, event: Option<&str>) -> HookTrial {
        HookTrial { hook: hook.map(str::to_owned), event: event.map(str::to_owned), ..HookTrial::default() }
    }

    #[test]
    fn what_waits_or_is_not_enabled_is_named_and_not_tried() {
        let text = |host: &str| {
            format!(
                r#"{{"hooks": {{"PreToolUse": [{{"hooks": [{{"type": "http", "url": "https://{host}/"}}]}}],
                    "Stop": [{{"hooks": [{{"type": "command", "command": "true"}}]}}]}}}}"#
            )
        };
        let own = || loaded(&text("x.example"), &text("y.example"));
        let runs = own().hooks.all()[0].clone();
        let found = tried(&of(Some(&runs.hash.as_str()[..8].to_uppercase()), None), own()).unwrap();
        assert_eq!((found.hooks.all().len(), found.event), (1, Event::PreToolUse));
        assert!(tried(&of(Some(&runs.id), Some("Stop")), own()).is_err(), "another event");
        let why =
            |trial: HookTrial| tried(&trial, own()).err().map(|error| error.message()).unwrap_or_default();
        let waiting = own().waiting[0].clone();
        assert!(why(of(Some(&waiting.id), None)).contains("waits for your approval"));
        let inert = own().inert[0].clone();
        assert!(why(of(Some(&inert.id), None)).contains("enable_command_hooks"));
        assert!(why(of(Some("abcd"), None)).contains("there is no hook"));
        assert!(why(of(None, None)).contains("name a hook, or an event"));
        assert!(why(of(None, Some("Pretooluse"))).contains("SubAgentStop"));
        let of_event = tried(&of(None, Some("PreToolUse")), own()).unwrap();
        assert_eq!(of_event.left_out.len(), 1);
        assert_eq!(of_event.left_out, [Problem::of(&waiting.id, WAITS)]);
    }

    #[test]
    fn a_payload_is_an_object() {
        assert_eq!(given(None).unwrap(), None);
        assert_eq!(given(Some(" ")).unwrap(), None);
        assert!(given(Some("{\"prompt\": \"x\"}")).unwrap().is_some());
        for wrong in ["[]", "7", "{", "nothing"] {
            assert_eq!(given(Some(wrong)).unwrap_err().kind(), "invalid", "{wrong}");
        }
        assert_eq!(given(Some(&" x".repeat(HOOK_TRIAL_PAYLOAD_BYTES))).unwrap_err().kind(), "too_large");
    }
}
