//! Running handlers, within their time.

use std::sync::Arc;
use std::time::Duration;

use agent::hooks::{HookedTurn, Place};
use agent::judge::HookCall;
use agent::tool::Subject;
use hooks::handler::Action;
use hooks::interpolate;
use hooks::layers::Hook;
use hooks::limits::HANDLERS_OF_EVENT;
use hooks::payload::Payload;
use hooks::round::{Later, later};
use hooks::{Combined, Happening, Raw, Round, Setting, Step};
use store::{ChatId, TurnId, User};
use tokio::time::{Instant, timeout};

use super::Inner;
use super::callbacks::Called;
use super::log::Run;
use super::turns::TurnHooks;
use crate::condition::Grammar;
use crate::limits::{HOOK_CROWDED_OUT_SHOWN, HOOK_GRACE};
use crate::mcp::names;

/// The user, chat and turn that a handler runs for.
#[derive(Clone)]
pub(super) struct Owner {
    pub(super) user: User,
    /// The chat that the user talks in, for the log; a trial is not logged.
    pub(super) chat: Option<ChatId>,
    /// The turn in which it runs. A trial may have no turn, and the end of a session has none.
    pub(super) at: Option<At>,
}

/// When a handler began.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    /// In Unix milliseconds.
    pub(super) at_ms: i64,
    pub(super) since: Instant,
}

/// The turn in which a handler runs.
#[derive(Clone)]
pub(super) struct At {
    /// The chat that the user talks in.
    pub(super) root: ChatId,
    /// The agent's own chat.
    pub(super) chat: ChatId,
    /// The id of the turn.
    pub(super) turn: TurnId,
}

impl Owner {
    fn of(turn: HookedTurn<'_>) -> Self {
        let at = At { root: turn.root.clone(), chat: turn.chat.clone(), turn: turn.turn };
        Self { user: turn.user.clone(), chat: Some(turn.root.clone()), at: Some(at) }
    }

    /// True in a trial.
    pub(super) fn is_trial(&self) -> bool {
        self.chat.is_none()
    }

    /// The turn, for a handler that needs one.
    pub(super) fn turn(&self) -> Result<&At, Raw> {
        self.at.as_ref().ok_or_else(|| {
            let why = match self.is_trial() {
                false => "it needs a turn, and the end of a session has none; use `command` or `http`",
                true => "it needs a chat with at least one answer, for its model and its rules; try it in such a chat",
            };
            Raw::Failed(why.to_owned())
        })
    }
}

impl Inner {
    /// Runs all handlers of one event of a turn.
    pub(super) async fn round(
        self: &Arc<Self>,
        turn: HookedTurn<'_>,
        hooks: &Arc<TurnHooks>,
        happening: &Happening,
    ) -> Combined {
        self.round_of(&Owner::of(turn), turn.chat, hooks, happening).await
    }

    /// Runs all handlers of one event of a chat.
    pub(super) async fn round_of(
        self: &Arc<Self>,
        owner: &Owner,
        chat: &ChatId,
        hooks: &Arc<TurnHooks>,
        happening: &Happening,
    ) -> Combined {
        let has_run = |hook: &str| self.turns.has_run(chat, hook);
        let setting = Setting {
            hooks: &hooks.loaded.hooks,
            session: &hooks.session,
            redactor: &hooks.redactor,
            condition: &Grammar,
            has_run: &has_run,
        };
        let mut round = Round::begin(setting, happening);
        let begun = Instant::now();
        while let Some(step) = round.next(begun.elapsed()) {
            self.turns.ran(chat, &step.hook.id);
            if step.is_background {
                self.behind(owner, hooks, step);
                continue;
            }
            let raw = self.handled(owner, hooks, step.hook, &step.payload, step.timeout).await;
            round.answer(step, raw);
        }
        let combined = round.end();
        self.tell(owner, &combined).await;
        combined
    }

    /// Runs a handler in the background: its output reaches the model with its next request, and it cannot decide
    /// anything.
    fn behind(self: &Arc<Self>, owner: &Owner, hooks: &Arc<TurnHooks>, step: Step<'_>) {
        let (inner, owner, hooks) = (Arc::clone(self), owner.clone(), Arc::clone(hooks));
        let (hook, payload, patience) = (step.hook.clone(), step.payload, step.timeout);
        self.tasks.spawn(async move {
            let raw = inner.handled(&owner, &hooks, &hook, &payload, patience).await;
            inner.tell_later(&owner, &hooks, &hook, raw).await;
        });
    }

    /// Passes on the output of a handler that ran in the background.
    pub(super) async fn tell_later(&self, owner: &Owner, hooks: &TurnHooks, hook: &Hook, raw: Raw) {
        let Later { context, message, failure } = later(hook, raw);
        if let Some(line) = context {
            hooks.add_later(format!("A hook ({}) adds: {}", line.speaker.origin, line.text));
        }
        for line in message.into_iter().chain(failure) {
            let text = format!("Hook ({}): {}", line.speaker.origin, line.text);
            self.notify(owner, text).await;
        }
    }

    /// Runs the handlers of a call that its user stopped, in the background.
    pub(super) fn after_cancel(
        self: &Arc<Self>,
        turn: HookedTurn<'_>,
        hooks: &Arc<TurnHooks>,
        place: Place<'_>,
    ) {
        let happenings = hooks.happenings(turn, place).into_iter();
        let happenings: Vec<_> =
            happenings.filter(|happening| !hooks.loaded.hooks.is_free(happening.event())).collect();
        let (inner, owner, hooks) = (Arc::clone(self), Owner::of(turn), Arc::clone(hooks));
        let chat = turn.chat.clone();
        self.tasks.spawn(async move {
            for happening in happenings {
                inner.round_of(&owner, &chat, &hooks, &happening).await;
            }
        });
    }

    /// Shows in a new session of a chat which hooks do not run because their event has too many.
    pub(super) async fn tell_crowded_out(&self, turn: HookedTurn<'_>, hooks: &TurnHooks) {
        if !hooks.is_new_session {
            return;
        }
        let owner = Owner::of(turn);
        for hook in hooks.loaded.crowded_out.iter().take(HOOK_CROWDED_OUT_SHOWN) {
            let (origin, place, event) = (&hook.origin, &hook.place, hook.event_name());
            let text = format!(
                "⚠️ A hook does not run ({origin}, {place}): {event} has more than {HANDLERS_OF_EVENT} hooks; remove one of them"
            );
            self.notify(&owner, text).await;
        }
    }

    /// Runs a handler, and logs it.
    async fn handled(
        self: &Arc<Self>,
        owner: &Owner,
        hooks: &Arc<TurnHooks>,
        hook: &Hook,
        payload: &Payload,
        patience: Duration,
    ) -> Raw {
        let begun = Begun { at_ms: self.store.now_ms(), since: Instant::now() };
        let raw = self.act(owner, hooks, hook, payload, patience).await;
        self.log_run(owner, hook, &raw, begun);
        raw
    }

    /// Logs the result of a handler, except in a trial.
    pub(super) fn log_run(&self, owner: &Owner, hook: &Hook, raw: &Raw, begun: Begun) {
        if let Some(chat) = &owner.chat {
            let Begun { at_ms, since } = begun;
            self.log.add(owner.user.id, Run { at_ms, chat, hook, raw, took: since.elapsed() });
        }
    }

    /// Carries out a handler's action, within its time limit.
    pub(super) async fn act(
        self: &Arc<Self>,
        owner: &Owner,
        hooks: &Arc<TurnHooks>,
        hook: &Hook,
        payload: &Payload,
        patience: Duration,
    ) -> Raw {
        let work = async {
            match &hook.handler.action {
                Action::Command { command, args } => {
                    self.command(owner, hooks, hook, command, args.as_deref(), payload, patience).await
                }
                Action::Http { url, headers, allowed_variables, via } => {
                    let sender = (&owner.user, via.as_deref());
                    self.request(sender, url, headers, allowed_variables, payload, patience).await
                }
                Action::McpTool { server, tool, input } => {
                    let input = match interpolate::input(input, &payload.value) {
                        Ok(input) => input,
                        Err(error) => return Raw::Failed(format!("its arguments cannot be built: {error}")),
                    };
                    let named = (server.as_str(), tool.as_str());
                    let (wire, parts) = (names::wire(server, tool), names::parts(server, tool));
                    let at = match owner.turn() {
                        Ok(at) => at,
                        Err(raw) => return raw,
                    };
                    let call = HookCall {
                        user: &owner.user,
                        root: &at.root,
                        turn: at.turn,
                        tool: &wire,
                        subject: Subject::External(&parts.0, &parts.1),
                    };
                    if let Err(why) = self.judge.permits(call).await {
                        return Raw::Failed(why);
                    }
                    let called = self.mcp_servers.call_by_hook(&owner.user, &at.root, named, input, patience);
                    match called.await {
                        Ok((text, is_error)) => Raw::Tool { text, is_error },
                        Err(why) => Raw::Failed(why),
                    }
                }
                Action::Prompt { prompt, model } => {
                    self.question(owner, prompt, model.as_deref(), payload, false).await
                }
                Action::Agent { prompt, model } => {
                    self.question(owner, prompt, model.as_deref(), payload, true).await
                }
                Action::Callback { name, input } => {
                    let input = match interpolate::input(input, &payload.value) {
                        Ok(input) => input,
                        Err(error) => return Raw::Failed(format!("its input cannot be built: {error}")),
                    };
                    let chat = owner.chat.as_ref().or(owner.at.as_ref().map(|at| &at.root));
                    let (user, is_trial, event) = (&owner.user, owner.is_trial(), hook.event);
                    let called = Called { user, chat, is_trial, event, payload, input };
                    match self.callbacks.call(name, called).await {
                        Ok(said) => Raw::Callback(Box::new(said)),
                        Err(why) => Raw::Failed(why),
                    }
                }
            }
        };
        timeout(patience + HOOK_GRACE, work).await.unwrap_or(Raw::TimedOut(patience))
    }

    /// Shows people the handlers' messages and failures: a hook that fails silently protects no one.
    async fn tell(&self, owner: &Owner, combined: &Combined) {
        for line in &combined.notes {
            tracing::debug!(hook = line.speaker.hook, "{}", line.text);
        }
        let failed = combined
            .failures
            .iter()
            .map(|line| format!("⚠️ A hook failed ({}): {}", line.speaker.origin, line.text));
        let said =
            combined.messages.iter().map(|line| format!("Hook ({}): {}", line.speaker.origin, line.text));
        for text in said.chain(failed) {
            self.notify(owner, text).await;
        }
    }

    async fn notify(&self, owner: &Owner, text: String) {
        if let Some(at) = &owner.at {
            (self.notice)(owner.user.id, at.root.clone(), text).await;
        }
    }
}
