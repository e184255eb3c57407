//! The hooks of the turns in progress, and what the server remembers about their chats.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::hooks::{HookedTurn, Place};
use hooks::happening::Ended;
use hooks::layers::Hook;
use hooks::payload::Redactor;
use hooks::{Event, Loaded, Session};
use sandbox::{RouteRequest, Sandbox};
use store::{ChatId, RunOfTurn, TurnId, TurnStatus};

use super::Inner;
use crate::approvals::workspace_of;
use crate::limits::HOOK_SESSIONS_KEPT;
use crate::plugins::Installed;

/// The mode in which nothing may be changed.
pub(super) const PLAN: &str = "plan";

/// The hooks of one turn.
pub(super) struct TurnHooks {
    pub(super) loaded: Loaded,
    pub(super) session: Session,
    /// The route to the turn's machine.
    pub(super) route: RouteRequest,
    /// The other machines whose workspaces' hooks apply to the turn.
    elsewhere: Vec<Elsewhere>,
    /// The copies of plugins with which the turn began.
    pub(super) plugins: Vec<Arc<Installed>>,
    pub(super) is_plan: bool,
    /// The role of a sub-agent.
    pub(super) role: String,
    /// True if this is the chat's first turn that began since the server started.
    pub(super) is_new_session: bool,
    /// The run of an automation that posted the message; not looked up if no hook needs it.
    pub(super) run: Option<RunOfTurn>,
    /// The secrets that no payload shows.
    pub(super) redactor: Redactor,
    changing: Mutex<Changing>,
}

/// A machine on which a caller of a sub-agent works: the hooks of its workspace run there, where their scripts are.
struct Elsewhere {
    workspace: String,
    route: RouteRequest,
    session: Session,
}

/// The part of a turn's hooks that changes while the turn is in progress.
#[derive(Default)]
struct Changing {
    /// The calls of an answer that have ended.
    ended: Vec<Ended>,
    /// The reason why the turn is to end after the calls in progress, if it is.
    stop: Option<String>,
    /// Notes of handlers in the background, for the model's next request.
    later: Vec<String>,
}

impl TurnHooks {
    /// The hooks of a trial, or of a session's end: outside of a turn.
    pub(super) fn without_turn(
        loaded: Loaded,
        session: Session,
        route: RouteRequest,
        plugins: Vec<Arc<Installed>>,
        redactor: Redactor,
    ) -> Self {
        let is_plan = session.mode.as_deref() == Some(PLAN);
        let (role, elsewhere, changing) = (String::new(), Vec::new(), Mutex::default());
        Self {
            loaded,
            session,
            route,
            elsewhere,
            plugins,
            is_plan,
            role,
            is_new_session: false,
            run: None,
            redactor,
            changing,
        }
    }

    /// The route to the machine that runs a hook's command, and the session as the command finds it there.
    pub(super) fn place_of(&self, hook: &Hook) -> (&RouteRequest, &Session) {
        let of_hook = |place: &&Elsewhere| hook.workspace.as_ref() == Some(&place.workspace);
        match self.elsewhere.iter().find(of_hook) {
            Some(place) => (&place.route, &place.session),
            None => (&self.route, &self.session),
        }
    }

    fn changing(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a call that ended.
    pub(super) fn ended(&self, ended: Ended) {
        self.changing().ended.push(ended);
    }

    /// The calls that ended since this was last called.
    pub(super) fn take_ended(&self) -> Vec<Ended> {
        std::mem::take(&mut self.changing().ended)
    }

    /// Requests that the turn end after the calls in progress; the first reason counts.
    pub(super) fn stop(&self, why: String) {
        self.changing().stop.get_or_insert(why);
    }

    /// The reason why the turn is to end; returned once.
    pub(super) fn take_stop(&self) -> Option<String> {
        self.changing().stop.take()
    }

    /// Adds a note for the model's next request.
    pub(super) fn add_later(&self, note: String) {
        self.changing().later.push(note);
    }

    /// The notes that were added since this was last called.
    pub(super) fn later(&self) -> Vec<String> {
        std::mem::take(&mut self.changing().later)
    }
}

/// All turns in progress.
#[derive(Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    turns: HashMap<TurnId, Arc<TurnHooks>>,
    /// For each chat, the ids of the once-only hooks that have run.
    sessions: HashMap<ChatId, HashSet<String>>,
}

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn of(&self, turn: TurnId) -> Option<Arc<TurnHooks>> {
        self.state().turns.get(&turn).cloned()
    }

    pub(super) fn end(&self, turn: TurnId) {
        self.state().turns.remove(&turn);
    }

    /// Forgets the session of a chat; returns false if there was none.
    pub(super) fn end_session(&self, chat: &ChatId) -> bool {
        self.state().sessions.remove(chat).is_some()
    }

    /// True if a hook that runs once has run in a chat.
    pub(super) fn has_run(&self, chat: &ChatId, hook: &str) -> bool {
        self.state().sessions.get(chat).is_some_and(|hooks| hooks.contains(hook))
    }

    /// Remembers that a hook ran in a chat.
    pub(super) fn ran(&self, chat: &ChatId, hook: &str) {
        if let Some(hooks) = self.state().sessions.get_mut(chat) {
            hooks.insert(hook.to_owned());
        }
    }
}

impl Inner {
    /// Loads the hooks for a new turn.
    pub(super) async fn begin(&self, turn: HookedTurn<'_>) -> store::Result<Arc<TurnHooks>> {
        let mut hooks = self.prepared(turn, true).await?;
        let mut state = self.turns.state();
        if state.sessions.len() >= HOOK_SESSIONS_KEPT {
            state.sessions.clear();
        }
        hooks.is_new_session = !state.sessions.contains_key(turn.chat);
        state.sessions.entry(turn.chat.clone()).or_default();
        let hooks = Arc::new(hooks);
        state.turns.insert(turn.turn, Arc::clone(&hooks));
        Ok(hooks)
    }

    /// Loads the hooks of a turn that did not begin here: an earlier run of the server began it, it failed before it began, or its conversation is
    /// compressed after its end. `None` if no hook runs at the place.
    pub(super) async fn late(
        &self,
        turn: HookedTurn<'_>,
        place: Place<'_>,
    ) -> store::Result<Option<Arc<TurnHooks>>> {
        match place {
            // Nothing else of the turn follows, or it is not known whether anything does.
            Place::TurnEnds { status: TurnStatus::Failed, .. }
            | Place::Compresses { .. }
            | Place::Compressed { .. } => Ok(Some(Arc::new(self.prepared(turn, false).await?))),
            Place::TurnEnds { .. } | Place::CallEnds { is_cancelled: true, .. } => Ok(None),
            Place::TurnBegins { .. }
            | Place::CallBegins { .. }
            | Place::Asks { .. }
            | Place::Denied { .. }
            | Place::CallEnds { is_cancelled: false, .. }
            | Place::CallsEnd { .. }
            | Place::Stops { .. } => {
                let hooks = Arc::new(self.prepared(turn, true).await?);
                // Calls that run at once may all get here first.
                Ok(Some(Arc::clone(self.turns.state().turns.entry(turn.turn).or_insert(hooks))))
            }
        }
    }

    /// The hooks for a turn; `waits` for a runner that is expected to connect.
    async fn prepared(&self, turn: HookedTurn<'_>, waits: bool) -> store::Result<TurnHooks> {
        let (user, store) = (turn.user, &self.store);
        let route = execs::chat_route_request(store, user.id, Some(turn.chat)).await?;
        let sandbox = self.machine(turn, &route, waits).await;
        let others = self.callers(turn, sandbox.as_ref(), waits).await?;
        let machines: Vec<Sandbox> = others.iter().map(|(_, sandbox)| sandbox.clone()).collect();
        let documents = self.documents(user.id, sandbox.as_ref(), &machines).await?;
        let loaded = self.load(user.id, &documents, sandbox.iter().chain(&machines)).await?;
        let mode = store.approval(user.id, turn.root).await?;
        let elsewhere = others.into_iter().map(|(route, sandbox)| Elsewhere {
            workspace: workspace_of(&sandbox),
            route,
            session: session(turn.chat.to_string(), &sandbox.facts().workspace, "", &mode),
        });
        let elsewhere = elsewhere.collect();
        let cwd = store.chat_cwd(user.id, turn.chat).await?;
        let root = sandbox.as_ref().map(|sandbox| sandbox.facts().workspace.clone()).unwrap_or_default();
        let role = match turn.is_sub_agent() {
            true => {
                store.sub_agent(user.id, turn.chat).await?.and_then(|agent| agent.role).unwrap_or_default()
            }
            false => String::new(),
        };
        let session = session(turn.chat.to_string(), &root, &cwd, &mode);
        let run = match turn.is_sub_agent() || !asks_about_runs(&loaded) {
            true => None,
            false => store.run_of_turn(user.id, turn.turn).await?,
        };
        let redactor = self.redactor(user.id, &loaded.hooks).await?;
        Ok(TurnHooks {
            loaded,
            session,
            route,
            elsewhere,
            plugins: documents.plugins,
            is_plan: mode == PLAN,
            role,
            is_new_session: false,
            run,
            redactor,
            changing: Mutex::default(),
        })
    }
}

impl Inner {
    /// The machine at the end of a route, if it can be reached; `waits` for a runner that is expected to connect.
    async fn machine(&self, turn: HookedTurn<'_>, route: &RouteRequest, waits: bool) -> Option<Sandbox> {
        let user = execs::sandbox_user(turn.user);
        let found = match waits {
            true => self.router.for_user(&user, route).await,
            false => self.router.for_user_at_once(&user, route).await,
        };
        found.ok()
    }

    /// The machines of a sub-agent's callers that differ from its own: as for rules, the workspace of a caller still counts. One that cannot be reached
    /// runs nothing, and is left out.
    async fn callers(
        &self,
        turn: HookedTurn<'_>,
        own: Option<&Sandbox>,
        waits: bool,
    ) -> store::Result<Vec<(RouteRequest, Sandbox)>> {
        let (user, store) = (turn.user, &self.store);
        let mut known: HashSet<String> = own.map(workspace_of).into_iter().collect();
        let (mut callers, mut chat) = (Vec::new(), turn.chat.clone());
        while chat != *turn.root {
            let Some(agent) = store.sub_agent(user.id, &chat).await? else { break };
            chat = agent.parent;
            if agent.place.is_none() {
                continue;
            }
            let route = execs::chat_route_request(store, user.id, Some(&chat)).await?;
            if let Some(sandbox) = self.machine(turn, &route, waits).await
                && known.insert(workspace_of(&sandbox))
            {
                callers.push((route, sandbox));
            }
        }
        Ok(callers)
    }
}

/// The session of a chat whose agent is in a directory of the workspace; `cwd` is empty for the workspace itself.
pub(super) fn session(id: String, root: &str, cwd: &str, mode: &str) -> Session {
    Session {
        id,
        transcript_path: None,
        cwd: if cwd.is_empty() { root.to_owned() } else { format!("{}/{cwd}", root.trim_end_matches('/')) },
        project_dir: root.to_owned(),
        home: None,
        mode: Some(mode.to_owned()),
    }
}

/// True if a hook may stop the run of an automation: a hook for automation events, or for messages.
fn asks_about_runs(loaded: &Loaded) -> bool {
    let events = [Event::CronFired, Event::WebhookReceived, Event::UserPromptSubmit];
    events.into_iter().any(|event| !loaded.hooks.is_free(event))
}
