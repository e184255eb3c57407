//! Custom tools: executable files in the `custom-tools` directory of a workspace, each of which is a tool.
//!
//! ```text
//!   custom-tools/NAME.py ─▶ approved by hash? ─▶ NAME.py --describe ─▶ the tool custom__NAME
//!                                                                         └─ a call: its arguments on standard input as JSON, the
//!                                                                            result on standard output
//! ```
//! They run on the user's machine, confined like any command and recorded, never on the server. No tool runs before its user
//! has approved its content, not even to describe itself.
//!
//! | module | holds |
//! |---|---|
//! | `find` | the tools of a workspace, and what approvals cover |
//! | `describe` | a tool's description of itself |
//! | `tool` | a tool, as models call it |

mod describe;
mod find;
mod tool;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::tool::{Tool, ToolSource};
use api::problem::Problem;
use execs::Ledger;
use futures_util::future::{BoxFuture, join_all};
use sandbox::{Sandbox, SandboxRouter};
use store::{ChatId, Store, User, UserId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::{CUSTOM_TOOL_RETRY_AFTER, CUSTOM_TOOLS_DESCRIBED};
use crate::machine::of_chat;
use crate::trust;
use describe::Description;
use find::Found;
use tool::CustomTool;

/// The custom tools of all workspaces. Cheap to clone; all clones share their state.
#[derive(Clone)]
pub struct CustomTools(Arc<Inner>);

struct Inner {
    store: Store,
    ledger: Ledger,
    router: SandboxRouter,
    described: Mutex<HashMap<Key, Described>>,
    /// Commands that are being ended.
    tasks: TaskTracker,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

/// A user, and the hash of what they approved.
type Key = (UserId, String);

/// A tool's description of itself, or the reason why there is none, and when it was asked for.
#[derive(Clone)]
struct Described {
    said: Result<Arc<Description>, String>,
    at: Instant,
}

impl CustomTools {
    /// The custom tools, with this store and these machines.
    pub fn new(ledger: Ledger, store: Store, router: SandboxRouter) -> Self {
        let (described, tasks, stop) = (Mutex::default(), TaskTracker::new(), CancellationToken::new());
        Self(Arc::new(Inner { store, ledger, router, described, tasks, stop }))
    }

    /// Ends all running tools, and waits until their ends are recorded. Called when the server stops, before its links end.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl ToolSource for CustomTools {
    fn tools<'a>(&'a self, user: &'a User, chat: &'a ChatId) -> BoxFuture<'a, Vec<Arc<dyn Tool>>> {
        Box::pin(async move {
            self.0.tools(user, chat).await.unwrap_or_else(|error| {
                tracing::error!(%error, "the custom tools of a turn could not be loaded");
                Vec::new()
            })
        })
    }
}

impl trust::Source for CustomTools {
    fn kind(&self) -> &'static str {
        find::KIND
    }

    fn items<'a>(
        &'a self,
        user: &'a User,
        sandbox: &'a Sandbox,
    ) -> BoxFuture<'a, store::Result<trust::Items>> {
        Box::pin(async move {
            let found = find::find(&self.0.store, user.id, sandbox).await?;
            let mut items = trust::Items { problems: found.problems.clone(), ..trust::Items::default() };
            for tool in &found.tools {
                let said = self.0.described_lately(&(user.id, tool.hash.clone()));
                if let Some(Err(why)) = said.map(|described| described.said) {
                    let text = format!("the tool is not offered: {why}");
                    items.problems.push(Problem::of(&tool.path, text));
                }
            }
            items.items = found.tools.into_iter().map(Found::item).collect();
            Ok(items)
        })
    }
}

impl Inner {
    fn described(&self) -> MutexGuard<'_, HashMap<Key, Described>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.described.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tool's earlier answer; `None` if it failed to describe itself and that was some time ago.
    fn described_lately(&self, key: &Key) -> Option<Described> {
        let described = self.described().get(key).cloned()?;
        let counts = described.said.is_ok() || described.at.elapsed() < CUSTOM_TOOL_RETRY_AFTER;
        counts.then_some(described)
    }

    /// The tools for a new turn: those that are approved and have described themselves.
    async fn tools(self: &Arc<Self>, user: &User, chat: &ChatId) -> store::Result<Vec<Arc<dyn Tool>>> {
        let Some(sandbox) = of_chat(&self.store, &self.router, user, Some(chat)).await? else {
            return Ok(Vec::new());
        };
        let found = find::find(&self.store, user.id, &sandbox).await?;
        let approved = found.tools.into_iter().filter(|tool| tool.is_approved);
        let tools = approved.map(|tool| async {
            let description = self.description(user, chat, &sandbox, &tool).await.ok()?;
            Some(Arc::new(CustomTool::new(self, tool, description)) as Arc<dyn Tool>)
        });
        Ok(join_all(tools).await.into_iter().flatten().collect())
    }

    /// A tool's description of itself. The tool is asked once, and again some time after a failure.
    async fn description(
        self: &Arc<Self>,
        user: &User,
        chat: &ChatId,
        sandbox: &Sandbox,
        tool: &Found,
    ) -> Result<Arc<Description>, String> {
        let key = (user.id, tool.hash.clone());
        if let Some(described) = self.described_lately(&key) {
            return described.said;
        }
        let said = self.describe(user, chat, sandbox, tool).await.map(Arc::new);
        let mut described = self.described();
        if described.len() >= CUSTOM_TOOLS_DESCRIBED {
            described.clear();
        }
        described.insert(key, Described { said: said.clone(), at: Instant::now() });
        said
    }
}
