//! Resources that an agent watches: its model is reminded of a change until it reads the resource again. And lists of tools and prompts
//! that change.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::tool::visible;
use rmcp::RoleClient;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, ServiceError};
use store::{ChatId, User};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::Inner;
use super::connection::Connection;
use super::listing::Era;
use crate::limits::{MCP_LISTEN_PATIENCE, MCP_LISTEN_PAUSES, MCP_WATCH_AGAIN_PATIENCE, MCP_WATCHED};

/// The watched resources of a connection, by address.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<Mutex<BTreeMap<String, State>>>);

/// A watched resource.
#[derive(Clone, Copy, Default)]
struct State {
    /// True if it has changed, or may have.
    has_changed: bool,
    /// True if the server no longer reports its changes.
    is_lost: bool,
}

impl Watched {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, State>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a change to a resource, if it is watched.
    pub(super) fn changed(&self, uri: &str) {
        if let Some(state) = self.all().get_mut(uri) {
            state.has_changed = true;
        }
    }

    /// Records that the current content of a resource is read.
    pub(super) fn seen(&self, uri: &str) {
        if let Some(state) = self.all().get_mut(uri) {
            state.has_changed = false;
        }
    }

    /// Records that the server no longer reports changes of a resource, or of any without `uri`. Each of them may have changed.
    fn lose(&self, uri: Option<&str>) {
        for (known, state) in self.all().iter_mut() {
            if uri.is_none_or(|uri| uri == known) {
                *state = State { has_changed: true, is_lost: true };
            }
        }
    }

    /// The resources whose changes the server no longer reports.
    pub(super) fn lost(&self) -> Vec<String> {
        self.all().iter().filter(|(_, state)| state.is_lost).map(|(uri, _)| uri.clone()).collect()
    }

    /// True if a resource is watched.
    #[cfg(test)]
    pub(super) fn has(&self, uri: &str) -> bool {
        self.all().contains_key(uri)
    }

    /// The resources that have changed.
    pub(super) fn news(&self) -> Vec<String> {
        self.all().iter().filter(|(_, state)| state.has_changed).map(|(uri, _)| uri.clone()).collect()
    }
}

/// A resource that is about to be watched; dropping this before it is watched leaves it unwatched, or lost if it was.
struct Beginning<'a> {
    watched: &'a Watched,
    uri: &'a str,
    was_lost: bool,
    has_begun: bool,
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if self.has_begun {
            return;
        }
        let mut all = self.watched.all();
        if !self.was_lost {
            all.remove(self.uri);
        } else if let Some(state) = all.get_mut(self.uri) {
            state.is_lost = true;
        }
    }
}

/// The tasks that listen to a server. They end when this is dropped with its connection, or with the token.
pub(super) struct Listeners {
    tasks: TaskTracker,
    over: CancellationToken,
    _end: DropGuard,
}

impl Listeners {
    pub(super) fn new(tasks: TaskTracker, over: CancellationToken) -> Self {
        Self { tasks, _end: over.clone().drop_guard(), over }
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let over = self.over.clone();
        self.tasks.spawn(async move { over.run_until_cancelled(work).await });
    }
}

impl Default for Listeners {
    fn default() -> Self {
        Self::new(TaskTracker::new(), CancellationToken::new())
    }
}

impl Connection {
    /// Watches a resource from now on. Starting to watch it may take `patience`.
    ///
    /// Fails with the reason as text.
    pub(super) async fn watch(&self, uri: &str, patience: Duration) -> Result<(), String> {
        if self.service.peer_info().is_none_or(|info| {
            info.capabilities.resources.as_ref().is_none_or(|resources| resources.subscribe != Some(true))
        }) {
            return Err("it does not report changes of resources".to_owned());
        }
        self.note_renewal();
        let was_lost = {
            let mut all = self.watched.all();
            if !all.contains_key(uri) && all.len() >= MCP_WATCHED {
                return Err(format!("{MCP_WATCHED} of its resources are watched already"));
            }
            match all.insert(uri.to_owned(), State::default()) {
                Some(before) if !before.is_lost => return Ok(()),
                before => before.is_some(),
            }
        };
        let mut beginning = Beginning { watched: &self.watched, uri, was_lost, has_begun: false };
        self.wait(self.subscribed(uri), patience, None).await?;
        beginning.has_begun = true;
        Ok(())
    }

    /// Takes note of a new session, if there is one: nothing is watched in it yet, and the lists may have changed.
    pub(super) fn note_renewal(&self) {
        if self.is_renewed.swap(false, Ordering::Relaxed) {
            self.is_stale.store(true, Ordering::Relaxed);
            self.watched.lose(None);
        }
    }

    /// Watches the resources again whose changes the server no longer reports. Those that it refuses are tried again at the next call.
    pub(super) async fn watch_again(&self) {
        self.note_renewal();
        let lost = self.watched.lost();
        if lost.is_empty() {
            return;
        }
        let again = Box::pin(async {
            for uri in &lost {
                if let Some(state) = self.watched.all().get_mut(uri) {
                    state.is_lost = false;
                }
                let mut beginning =
                    Beginning { watched: &self.watched, uri, was_lost: true, has_begun: false };
                beginning.has_begun = self.subscribed(uri).await.is_ok();
            }
        });
        // The call is useful without them.
        let _ = timeout(MCP_WATCH_AGAIN_PATIENCE, again).await;
    }

    #[expect(deprecated, reason = "servers of the revisions up to 2025-11-25 know no other way")]
    async fn subscribed(&self, uri: &str) -> Result<(), ServiceError> {
        if self.era() != Era::Discover {
            return self.service.subscribe(rmcp::model::SubscribeRequestParams::new(uri)).await;
        }
        let filter = SubscriptionFilter::builder().resource_subscriptions(vec![uri.to_owned()]).build();
        let mut subscription = self.service.listen(filter).await?;
        let (watched, uri) = (self.watched.clone(), uri.to_owned());
        self.listeners.spawn(async move {
            while let Ok(Some(told)) = subscription.next().await {
                if let ServerNotification::ResourceUpdatedNotification(updated) = told {
                    watched.changed(&updated.params.uri);
                }
            }
            watched.lose(Some(&uri));
        });
        Ok(())
    }

    /// Starts a task that learns of changed lists of tools and prompts, which a server of the newer era only reports to those who ask for
    /// it. If it does not agree, its lists are still requested again every minute.
    pub(super) fn hear_of_lists(&self) {
        let Some(info) = self.service.peer_info().filter(|info| !info.protocol_version.has_initialize())
        else {
            return;
        };
        let reports = |changes: Option<bool>| changes == Some(true);
        let of_tools = info.capabilities.tools.as_ref().is_some_and(|tools| reports(tools.list_changed));
        let of_prompts =
            info.capabilities.prompts.as_ref().is_some_and(|prompts| reports(prompts.list_changed));
        let mut filter = SubscriptionFilter::builder();
        if of_tools {
            filter = filter.tools_list_changed();
        }
        if of_prompts {
            filter = filter.prompts_list_changed();
        }
        if !of_tools && !of_prompts {
            return;
        }
        let (peer, is_stale, filter) =
            (self.service.peer().clone(), Arc::clone(&self.is_stale), filter.build());
        self.listeners.spawn(async move { listened(&peer, &filter, &is_stale).await });
    }
}

/// Listens for changed lists until the connection is over. What changes between two streams is not reported, so the end of each one counts as
/// a change.
async fn listened(peer: &Peer<RoleClient>, filter: &SubscriptionFilter, is_stale: &AtomicBool) {
    let (shortest, longest) = MCP_LISTEN_PAUSES;
    let mut pause = shortest;
    while !peer.is_transport_closed() {
        if let Ok(Ok(mut subscription)) = timeout(MCP_LISTEN_PATIENCE, peer.listen(filter.clone())).await {
            let since = Instant::now();
            while let Ok(Some(told)) = subscription.next().await {
                if matches!(
                    told,
                    ServerNotification::ToolListChangedNotification(_)
                        | ServerNotification::PromptListChangedNotification(_)
                ) {
                    is_stale.store(true, Ordering::Relaxed);
                }
            }
            is_stale.store(true, Ordering::Relaxed);
            // A server that ends each stream at once is asked less and less often.
            if since.elapsed() > pause {
                pause = shortest;
            }
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

impl Inner {
    /// The watched resources of a chat that changed, for its model.
    pub(super) fn changed_resources(&self, user: &User, chat: &ChatId) -> Option<String> {
        let mut lines = Vec::new();
        for (server, connection) in self.pool.of_chat(user.id, chat) {
            connection.note_renewal();
            let changed = connection.watched.news();
            let server = visible::line(&server);
            lines.extend(
                changed.iter().map(|uri| format!("- {} of the MCP server {server}", visible::line(uri))),
            );
        }
        let head = "These resources that you watch have changed since you read them; read them again if you need them:";
        (!lines.is_empty()).then(|| format!("{head}\n{}", lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_until_the_resource_is_read_and_only_of_what_is_watched() {
        let watched = Watched::default();
        watched.changed("a://b");
        assert!(watched.news().is_empty());
        watched.all().insert("a://b".to_owned(), State::default());
        watched.changed("a://b");
        assert_eq!(watched.news(), ["a://b"]);
        watched.seen("a://b");
        assert!(watched.news().is_empty());
    }
}
