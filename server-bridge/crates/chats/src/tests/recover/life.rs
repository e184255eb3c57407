//! Servers that can be killed, and a clock that can be held.

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::*;

/// A server that can be killed: its tasks run in their own runtime, on their own thread.
pub(super) struct Life {
    pub(super) bench: Bench,
    runtime: Handle,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Life {
    pub(super) async fn begin(database: &Path) -> Self {
        Self::begin_with(database, ModelsConfig::default()).await
    }

    /// Starts a server with these models.
    pub(super) async fn begin_with(database: &Path, models: ModelsConfig) -> Self {
        let own = Builder::new_current_thread().enable_all().build().unwrap();
        let runtime = own.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let _ = own.block_on(stopped);
            // The server's tasks are dropped with the runtime, wherever they are.
        });
        let database = database.to_owned();
        let begun = async move { Bench::with_models(Store::open(&database).await.unwrap(), models).await };
        let bench = runtime.spawn(begun).await.unwrap();
        Self { bench, runtime, stop, thread }
    }

    pub(super) async fn post(&self, text: &str) -> MessageId {
        let mut posting = pin!(self.bench.post(text));
        let posted = poll_fn(|cx| {
            let _here = self.runtime.enter();
            posting.as_mut().poll(cx)
        });
        posted.await.messages[1].id
    }

    /// Ends the server abruptly.
    pub(super) async fn kill(self, runner: &ScriptedRunner) {
        runner.cut();
        let key = execs::sandbox_user(&self.bench.user).key;
        while !self.bench.router.runners(&key).is_empty() {
            tokio::task::yield_now().await;
        }
        self.stop.send(()).unwrap();
        tokio::task::spawn_blocking(|| self.thread.join().unwrap()).await.unwrap();
    }
}

/// How long the database may take, in real time, for work that the clock made due.
const DATABASE_LIMIT: Duration = Duration::from_secs(30);

/// A clock that only advances on request, even while a database works.
pub(super) struct HeldClock(std::sync::mpsc::Sender<()>);

impl HeldClock {
    pub(super) fn hold() -> Self {
        let (held, release) = std::sync::mpsc::channel();
        // While this waits, the clock does not advance by itself.
        tokio::task::spawn_blocking(move || release.recv());
        tokio::time::pause();
        Self(held)
    }

    /// Advances the clock in steps until a message's event arrives, which must happen within `limit` on the clock.
    pub(super) async fn until_told(&self, bench: &mut Bench, limit: Duration) -> Message {
        let (begin, really) = (tokio::time::Instant::now(), std::time::Instant::now());
        loop {
            for _ in 0..100 {
                tokio::task::yield_now().await;
                if let Ok(ChatEvent::Message(message)) = bench.events.try_recv() {
                    return message;
                }
            }
            // The database takes real time on its own thread, which the clock does not control.
            std::thread::sleep(Duration::from_millis(2));
            if begin.elapsed() < limit {
                tokio::time::advance(Duration::from_millis(500)).await;
            } else {
                assert!(really.elapsed() < DATABASE_LIMIT, "a message within {limit:?}");
            }
        }
    }
}

impl Drop for HeldClock {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}
