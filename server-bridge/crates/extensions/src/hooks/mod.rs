//! Hooks at the places of turns: [`HookRunner`] gathers the documents of all layers, runs handlers, and returns their
//! results to the engine.
//!
//! ```text
//!   TurnBegins ─▶ documents: HOME/hooks.json, the user's own, the workspace's ─▶ trust by hash ─▶ the turn's hooks
//!   each place ─▶ happenings ─▶ Round: handler by handler ─▶ Combined ─▶ Words for the engine, notices for people, the log
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `documents` | the documents of all layers |
//! | `turns` | the hooks of the turns in progress |
//! | `happenings` | places in a turn as events of hooks |
//! | `words` | results of hooks in the engine's form |
//! | `secrets` | the exact secrets that payloads must not show |
//! | `run` | running handlers, within their time |
//! | [`callbacks`] | handlers that are functions of the server |
//! | `command`, `running` | a command on the user's machine, recorded; the command while it runs, also in the background |
//! | `request` | an HTTP request |
//! | `models` | a question to a model, or a task for an agent that reads |
//! | `log` | the last runs of each user |
//! | `manage` | listing, changing and approving hooks |
//! | `session_ends` | the end of a chat's session |
//! | `trial` | trying hooks on a sample, outside of a turn |

pub mod callbacks;
mod command;
mod documents;
mod happenings;
mod log;
mod manage;
mod models;
mod request;
mod run;
mod running;
mod secrets;
mod session_ends;
mod trial;
mod turns;
mod words;

use std::future::ready;
use std::path::PathBuf;
use std::sync::Arc;

use agent::hooks::{Estimate, Hold, Hook, HookedTurn, Place, SessionEnd, Words};
use agent::judge::Judge;
use execs::Ledger;
use futures_util::future::BoxFuture;
use guard::{Poster, Reach};
use sandbox::SandboxRouter;
use store::{ChatId, Store, User};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Notice;
use crate::mcp::McpServers;
use crate::plugins::Plugins;
use callbacks::Callbacks;
use log::Log;
use turns::Turns;

/// Runs hooks. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct HookRunner(Arc<Inner>);

struct Inner {
    store: Store,
    ledger: Ledger,
    router: SandboxRouter,
    /// The server's home directory, with the administrator's document.
    home: PathBuf,
    poster: Poster,
    notice: Notice,
    plugins: Plugins,
    mcp_servers: McpServers,
    judge: Arc<dyn Judge>,
    /// The server's own secrets.
    secrets: Vec<String>,
    callbacks: Callbacks,
    turns: Turns,
    log: Log,
    /// Handlers in the background, and commands that are being ended.
    tasks: TaskTracker,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

/// The parts of Sandbridge that handlers use.
pub struct Used {
    /// The plugins that contain hooks.
    pub plugins: Plugins,
    /// The servers whose tools handlers call.
    pub mcp_servers: McpServers,
    /// The models that handlers ask questions.
    pub judge: Arc<dyn Judge>,
    /// The server's own secrets, which no payload may show.
    pub secrets: Vec<String>,
}

impl HookRunner {
    /// A hook runner with this store and these machines. Requests may go to the public internet, and to the hosts `reachable` at any address.
    pub fn new(
        ledger: Ledger,
        store: Store,
        router: SandboxRouter,
        home: PathBuf,
        reachable: &[String],
        notice: Notice,
        used: Used,
    ) -> Self {
        let Used { plugins, mcp_servers, judge, secrets } = used;
        let (turns, log, tasks) = (Turns::default(), Log::default(), TaskTracker::new());
        let poster = Poster::new(Reach::public(reachable));
        let (callbacks, stop) = (Callbacks::default(), CancellationToken::new());
        Self(Arc::new(Inner {
            store,
            ledger,
            router,
            home,
            poster,
            notice,
            plugins,
            mcp_servers,
            judge,
            secrets,
            callbacks,
            turns,
            log,
            tasks,
            stop,
        }))
    }

    /// The functions of the server that hooks may call.
    pub fn callbacks(&self) -> &Callbacks {
        &self.0.callbacks
    }

    /// Ends all handlers, and waits until their ends are recorded. Called when the server stops, before its links end.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Hook for HookRunner {
    fn at<'a>(&'a self, turn: HookedTurn<'a>, place: Place<'a>) -> BoxFuture<'a, Words> {
        Box::pin(self.0.at(turn, place))
    }

    fn holds<'a>(&'a self, turn: HookedTurn<'a>, estimate: Estimate) -> BoxFuture<'a, Result<Hold, String>> {
        // A hook asked to end the turn where the engine does not end it, such as at the beginning of a session.
        let stop = match estimate.answers {
            Some(_) => self.0.turns.of(turn.turn).and_then(|hooks| hooks.take_stop()),
            None => None,
        };
        Box::pin(ready(stop.map_or_else(|| Ok(Hold::default()), Err)))
    }

    fn session_ends<'a>(&'a self, user: &'a User, chat: &'a ChatId, end: SessionEnd) -> BoxFuture<'a, ()> {
        Box::pin(self.0.session_ends(user, chat, end))
    }
}

impl Inner {
    async fn at(self: &Arc<Self>, turn: HookedTurn<'_>, place: Place<'_>) -> Words {
        let found = match (place, self.turns.of(turn.turn)) {
            (Place::TurnBegins { .. }, _) => self.begin(turn).await.map(Some),
            (_, Some(hooks)) => Ok(Some(hooks)),
            (_, None) => self.late(turn, place).await,
        };
        let hooks = match found {
            Ok(Some(hooks)) => hooks,
            Ok(None) => return Words::default(),
            Err(error) => {
                tracing::error!(%error, "the hooks of a turn could not be loaded");
                return Words::deny("the server could not load the hooks of this turn; its log says why");
            }
        };
        if let Place::CallEnds { is_cancelled: true, .. } = place {
            self.after_cancel(turn, &hooks, place);
            return Words::default();
        }
        if let (Place::TurnBegins { .. }, false) = (place, turn.is_sub_agent()) {
            self.tell_crowded_out(turn, &hooks).await;
        }
        let mut all = Words::default();
        if reaches_model(place) {
            all.notes = hooks.later();
        }
        for happening in hooks.happenings(turn, place) {
            if !hooks.loaded.hooks.is_free(happening.event()) {
                let combined = self.round(turn, &hooks, &happening).await;
                all.add(words::of(combined, &happening, &hooks));
                if all.denied.is_some() {
                    break;
                }
            }
        }
        if let (Place::TurnBegins { .. }, Some(run), Some(why)) = (place, &hooks.run, &all.denied) {
            let note = format!("a hook stopped it: {why}");
            if let Err(error) = self.store.stop_run(turn.user.id, run.id, &note).await {
                tracing::error!(%error, "the server could not record that a hook stopped a run");
            }
        }
        match place {
            // The calls in progress have ended: the turn ends now if a hook asked for that.
            Place::CallsEnd { .. } => all.denied = all.denied.or(hooks.take_stop()),
            // The model is done, and a hook asked to end the turn: the model is not asked to continue.
            Place::Stops { .. } if hooks.take_stop().is_some() => all.denied = None,
            Place::Stops { .. } if all.denied.is_some() => all.notes.extend(hooks.later()),
            _ => {}
        }
        if matches!(place, Place::TurnEnds { .. }) {
            self.turns.end(turn.turn);
        }
        all
    }
}

/// True if the model gets the notes of hooks from a place.
fn reaches_model(place: Place<'_>) -> bool {
    match place {
        Place::TurnBegins { .. }
        | Place::CallBegins { .. }
        | Place::Asks { .. }
        | Place::Denied { .. }
        | Place::CallEnds { .. }
        | Place::CallsEnd { .. }
        | Place::Compressed { .. } => true,
        Place::Stops { .. } | Place::Compresses { .. } | Place::TurnEnds { .. } => false,
    }
}
