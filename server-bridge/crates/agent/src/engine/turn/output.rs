//! The output of a call, shown at the end of its card at a readable pace.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use records::MessageId;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::engine::ports::{Ports, Stream};
use crate::live::Live;

/// The output of a call, shown until its card is changed.
pub(super) struct Output<'a> {
    ports: &'a Ports,
    message: MessageId,
    gathered: Mutex<Live<()>>,
    news: Notify,
}

impl<'a> Output<'a> {
    pub(super) fn new(ports: &'a Ports, message: MessageId) -> Self {
        Self { ports, message, gathered: Mutex::new(Live::new(Instant::now())), news: Notify::new() }
    }

    /// Adds the next piece of output.
    pub(super) fn push(&self, text: &str) {
        if self.gathered().push(Instant::now(), (), text) {
            self.take();
        }
        self.news.notify_one();
    }

    /// Shows the gathered output whenever it is due; never returns.
    pub(super) async fn tell(&self) -> Infallible {
        loop {
            let due = self.gathered().due();
            match due {
                Some(due) => {
                    sleep_until(due).await;
                    self.take();
                }
                None => self.news.notified().await,
            }
        }
    }

    fn take(&self) {
        let outputs = self.gathered().take(Instant::now(), &*self.ports.say);
        for (_, text) in outputs {
            self.ports.display.stream(self.message, Stream::Output, text);
        }
    }

    fn gathered(&self) -> MutexGuard<'_, Live<()>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
