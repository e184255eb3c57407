//! Servers that can be killed, and time that stands still.

use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::*;

/// A server that can be killed: its tasks run in a runtime of their own, on a thread of its own.
pub(super) struct Life {
    pub(super) bench: Bench,
    runtime: Handle,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
}

impl Life {
    pub(super) async fn begin(database: &Path) -> Self {
        let own = Builder::new_current_thread().enable_all().build().unwrap();
        let runtime = own.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let _ = own.block_on(stopped);
            // With the runtime its tasks are dropped, wherever they are.
        });
        let database = database.to_owned();
        let bench = runtime.spawn(async move { Bench::of(&database).await }).await.unwrap();
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

    /// Ends it without a word.
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

/// Time that passes only when it is told to, though a database works meanwhile.
pub(super) struct HeldClock(std::sync::mpsc::Sender<()>);

impl HeldClock {
    pub(super) fn hold() -> Self {
        let (held, release) = std::sync::mpsc::channel();
        // While this waits, the clock does not run ahead.
        tokio::task::spawn_blocking(move || release.recv());
        tokio::time::pause();
        Self(held)
    }

    /// Lets time pass, in steps, until a message is told; it must be within `limit`.
    pub(super) async fn until_told(&self, bench: &mut Bench, limit: Duration) -> Message {
        let begin = tokio::time::Instant::now();
        loop {
            // The database takes its own time on its own thread, which is not the clock's.
            for _ in 0..100 {
                tokio::task::yield_now().await;
                if let Ok(ChatEvent::Message(message)) = bench.events.try_recv() {
                    return message;
                }
            }
            assert!(begin.elapsed() <= limit, "a message within {limit:?}");
            std::thread::sleep(Duration::from_millis(2));
            tokio::time::advance(Duration::from_millis(500)).await;
        }
    }
}

impl Drop for HeldClock {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}
