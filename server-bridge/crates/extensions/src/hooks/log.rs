//! The last runs of each user's hooks: what ran, how it ended and how long it took. Kept in memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::hooks::HookRunView;
use hooks::Raw;
use hooks::dialect::Dialect;
use hooks::layers::Hook;
use hooks::outcome::{Decision, read};
use store::{ChatId, UserId};

use crate::limits::{HOOK_ACTION_CHARS, HOOK_LOGS_KEPT, HOOK_RUNS_KEPT};

/// A run of a hook.
pub(super) struct Run<'a> {
    pub(super) at_ms: i64,
    pub(super) chat: &'a ChatId,
    pub(super) hook: &'a Hook,
    pub(super) raw: &'a Raw,
    pub(super) took: Duration,
}

#[derive(Default)]
pub(super) struct Log(Mutex<HashMap<UserId, VecDeque<HookRunView>>>);

impl Log {
    pub(super) fn add(&self, user: UserId, run: Run<'_>) {
        let Run { at_ms, chat, hook, raw, took } = run;
        let view = HookRunView {
            at: at_ms,
            chat_id: chat.to_string(),
            hook: hook.id.clone(),
            event: hook.event.name(Dialect::Own).to_owned(),
            action: hook.handler.describe().chars().take(HOOK_ACTION_CHARS).collect(),
            outcome: outcome(raw, hook),
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() >= HOOK_LOGS_KEPT && !logs.contains_key(&user) {
            logs.clear();
        }
        let runs = logs.entry(user).or_default();
        runs.truncate(HOOK_RUNS_KEPT - 1);
        runs.push_front(view);
    }

    /// The last runs of a user's hooks, the newest first.
    pub(super) fn of(&self, user: UserId) -> Vec<HookRunView> {
        let logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logs.get(&user).map(|runs| runs.iter().cloned().collect()).unwrap_or_default()
    }
}

/// A short description of a result.
pub(super) fn outcome(raw: &Raw, hook: &Hook) -> String {
    if let Raw::Background(time) = raw {
        return format!("goes on in the background, for at most {} s", time.as_secs_f64());
    }
    let said = read(raw.clone(), hook.event);
    if let Some(why) = said.failure {
        return format!("failed: {why}");
    }
    let word = match said.decision {
        Some(Decision::Deny) => "deny",
        Some(Decision::Ask) => "ask",
        Some(Decision::Defer) => "defer",
        Some(Decision::Allow) => "allow",
        None if said.stop.is_some() => "stop",
        None if said.context.is_some() => "adds context",
        None => "nothing to say",
    };
    match said.reason.or(said.stop) {
        Some(reason) => format!("{word}: {reason}"),
        None => word.to_owned(),
    }
}
