//! Helpers of these tests: an inbox in memory, and a platform that runs in the background.

use std::collections::HashSet;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use platforms::event::What;
use platforms::{End, Event, Inbox, Message, Platform, Press};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The deadline for everything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The content of an inbox.
#[derive(Default)]
pub(crate) struct Held {
    /// Each event once, in the order in which they arrived.
    pub(crate) events: Vec<Event>,
    /// The number of events that were handed over although they were on record already.
    pub(crate) repeated: usize,
    pub(crate) cursor: Option<String>,
    /// The names under which the account was connected.
    pub(crate) connected: Vec<String>,
    pub(crate) gaps: Vec<String>,
    pub(crate) beats: usize,
    /// The number of upcoming batches that the inbox refuses.
    pub(crate) refusals: usize,
    /// True if the next batch with a new event is to be committed but not acknowledged, as if the server were killed in between.
    pub(crate) dies_after_commit: bool,
    ids: HashSet<String>,
}

/// An inbox in memory that behaves like the one in the database.
#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Held>>);

impl Memory {
    pub(crate) fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn messages(&self) -> Vec<(Event, Message)> {
        let message = |event: &Event| match &event.what {
            What::Message(message) => Some((event.clone(), message.clone())),
            _ => None,
        };
        self.held().events.iter().filter_map(message).collect()
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.messages().into_iter().map(|(_, message)| message.text).collect()
    }

    pub(crate) fn presses(&self) -> Vec<(Event, Press)> {
        let press = |event: &Event| match &event.what {
            What::Press(press) => Some((event.clone(), press.clone())),
            _ => None,
        };
        self.held().events.iter().filter_map(press).collect()
    }

    /// Waits until the content of the inbox meets a condition.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Held) -> bool) {
        until(what, || holds(&self.held())).await;
    }

    /// Waits until the inbox contains this many events.
    pub(crate) async fn count(&self, count: usize) {
        let until = async {
            while self.held().events.len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, until).await;
        let texts = self.texts();
        assert!(done.is_ok(), "not {count} events: {texts:?}");
    }
}

impl Inbox for Memory {
    fn take<'a>(&'a self, events: Vec<Event>, cursor: Option<String>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let dies = {
                let mut held = self.held();
                if held.refusals > 0 {
                    held.refusals -= 1;
                    return Err("the disk is full".to_owned());
                }
                let mut is_new = false;
                for event in events {
                    if held.ids.insert(event.id.clone()) {
                        is_new = true;
                        held.events.push(event);
                    } else {
                        held.repeated += 1;
                    }
                }
                held.cursor = cursor.or(held.cursor.take());
                is_new && std::mem::take(&mut held.dies_after_commit)
            };
            if dies {
                // Never acknowledges, until the test drops this future like a killed process.
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }

    fn cursor(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.held().cursor.clone() })
    }

    fn alive(&self) {
        self.held().beats += 1;
    }

    fn connected(&self, name: &str) {
        self.held().connected.push(name.to_owned());
    }

    fn gap(&self, why: &str) {
        self.held().gaps.push(why.to_owned());
    }
}

/// An account's connection in the background, which is killed when this is dropped.
pub(crate) struct Running {
    stop: CancellationToken,
    task: JoinHandle<End>,
}

impl Running {
    /// Connects once.
    pub(crate) fn start(platform: &Arc<dyn Platform>, inbox: &Memory) -> Self {
        let (platform, inbox, stop) = (platform.clone(), inbox.clone(), CancellationToken::new());
        let stopped = stop.clone();
        Self { stop, task: tokio::spawn(async move { platform.run(&inbox, &stopped).await }) }
    }

    /// Connects, and reconnects almost at once whenever the connection is lost.
    pub(crate) fn keep(platform: &Arc<dyn Platform>, inbox: &Memory) -> Self {
        let (platform, inbox, stop) = (platform.clone(), inbox.clone(), CancellationToken::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            loop {
                match platform.run(&inbox, &stopped).await {
                    End::Lost(_) | End::Wait { .. } => tokio::time::sleep(Duration::from_millis(20)).await,
                    end => return end,
                }
            }
        });
        Self { stop, task }
    }

    /// Waits until the connection ends by itself; returns its end.
    pub(crate) async fn end(mut self) -> End {
        within("the connection's end", &mut self.task).await.unwrap()
    }

    /// As [`Self::end`], without a deadline, for a paused clock that jumps ahead.
    pub(crate) async fn end_at_any_time(mut self) -> End {
        (&mut self.task).await.unwrap()
    }

    /// Stops the connection, and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        let end = self.end().await;
        assert!(matches!(end, End::Stopped), "{end:?}");
    }

    /// Aborts the connection at once, like a killed process.
    pub(crate) async fn kill(mut self) {
        self.task.abort();
        // The result is the cancellation.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for a future that has to complete before the deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not in time: {what}"))
}

/// Waits until a condition is true.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    within(what, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Returns the reason of an end that has to be a refusal.
pub(crate) fn refused(end: End) -> String {
    match end {
        End::Refused(why) => why,
        other => panic!("not refused: {other:?}"),
    }
}

/// Creates the platform of this kind from its set-up.
pub(crate) fn made(kind: &str, setup: &serde_json::Value, reach: &guard::Reach) -> Arc<dyn Platform> {
    let kind = platforms::KINDS.iter().find(|known| known.name == kind).unwrap();
    (kind.make)(setup, reach).unwrap()
}

/// Asserts that the debug output contains no secret.
pub(crate) fn silent(what: &impl Debug, secret: &str) {
    assert!(!format!("{what:?}").contains(secret), "a secret in {what:?}");
}
