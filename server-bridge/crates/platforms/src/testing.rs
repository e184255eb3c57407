//! Helpers of the platforms' tests: an inbox in memory, and an account that runs.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::event::{Event, Message, Press, What};
use crate::limits::MARKDOWN_MAX_BYTES;
use crate::platform::{End, Inbox, Platform};
use crate::styled::Styled;

/// An inbox in memory that ignores events that it already contains.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) events: Mutex<Vec<Event>>,
    known: Mutex<HashSet<String>>,
    cursor: Mutex<Option<String>>,
    /// The number of known events that arrived again.
    pub(crate) repeated: AtomicUsize,
    /// True while commits fail.
    pub(crate) is_broken: AtomicBool,
    pub(crate) names: Mutex<Vec<String>>,
    pub(crate) gaps: Mutex<Vec<String>>,
}

impl Inbox for Memory {
    fn take<'a>(&'a self, events: Vec<Event>, cursor: Option<String>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            if self.is_broken.load(Ordering::SeqCst) {
                return Err("the disk is full".to_owned());
            }
            for event in events {
                if self.known.lock().unwrap().insert(event.id.clone()) {
                    self.events.lock().unwrap().push(event);
                } else {
                    self.repeated.fetch_add(1, Ordering::SeqCst);
                }
            }
            if cursor.is_some() {
                *self.cursor.lock().unwrap() = cursor;
            }
            Ok(())
        })
    }

    fn cursor(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async { self.cursor.lock().unwrap().clone() })
    }

    fn alive(&self) {}

    fn connected(&self, name: &str) {
        self.names.lock().unwrap().push(name.to_owned());
    }

    fn gap(&self, why: &str) {
        self.gaps.lock().unwrap().push(why.to_owned());
    }
}

impl Memory {
    /// The events so far.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// The messages so far.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let message = |event: Event| match event.what {
            What::Message(message) => Some(message),
            _ => None,
        };
        self.events().into_iter().filter_map(message).collect()
    }

    /// The presses so far.
    pub(crate) fn presses(&self) -> Vec<Press> {
        let press = |event: Event| match event.what {
            What::Press(press) => Some(press),
            _ => None,
        };
        self.events().into_iter().filter_map(press).collect()
    }

    /// Returns how many times the account was connected.
    pub(crate) fn connections(&self) -> usize {
        self.names.lock().unwrap().len()
    }
}

/// A running account, which reconnects at once when its connection ends.
pub(crate) struct Running {
    pub(crate) inbox: Arc<Memory>,
    pub(crate) ends: Arc<Mutex<Vec<End>>>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn start(platform: Arc<dyn Platform>) -> Self {
        Self::with(platform, Arc::default())
    }

    pub(crate) fn with(platform: Arc<dyn Platform>, inbox: Arc<Memory>) -> Self {
        let (stop, ends) = (CancellationToken::new(), Arc::<Mutex<Vec<End>>>::default());
        let (stopped, taken, ended) = (stop.clone(), inbox.clone(), ends.clone());
        let task = tokio::spawn(async move {
            while !stopped.is_cancelled() {
                let end = platform.run(&*taken, &stopped).await;
                let is_over = !matches!(end, End::Lost(_));
                ended.lock().unwrap().push(end);
                if is_over {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        Self { inbox, ends, stop, task }
    }

    /// Stops the account; returns how its last run ended.
    pub(crate) async fn stop(self) -> End {
        self.stop.cancel();
        self.task.await.unwrap();
        self.ends.lock().unwrap().pop().unwrap()
    }
}

/// Waits until a condition is true.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("still waiting after 10 s: {what}");
}

/// Returns the key of a message; the same number always gives the same key.
pub(crate) fn key(number: u64) -> String {
    format!("{number:016x}").repeat(4)
}

/// Returns the letters of a text.
pub(crate) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns the letters of rendered Markdown, without the language names of fences. A line of text never begins with a fence.
pub(crate) fn letters_of_markdown(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("```")).map(letters).collect()
}

/// Checks that a rendered text has each letter of a styled one, in order. Addresses of links may be in between.
pub(crate) fn assert_kept(kept: &str, styled: &Styled) {
    let wanted = letters(&styled.text());
    if styled.pieces.iter().all(|piece| piece.style.link.is_none()) {
        return assert!(kept == wanted, "{:.200}", styled.text());
    }
    let mut written = kept.chars();
    assert!(wanted.chars().all(|letter| written.any(|c| c == letter)), "{:.200}", styled.text());
}

/// True if each fence in rendered Markdown is closed.
pub(crate) fn is_fenced(text: &str) -> bool {
    text.lines().filter(|line| line.starts_with("```")).count() % 2 == 0
}

/// Large texts with every kind of markup.
pub(crate) fn large() -> impl Iterator<Item = String> {
    ::tests::platforms::texts::large(MARKDOWN_MAX_BYTES)
}

/// Returns how many messages a test sends across disconnects; `scripts/soak` raises the number.
pub(crate) fn many() -> usize {
    std::env::var("SANDBRIDGE_CHANNEL_MESSAGES").ok().and_then(|many| many.parse().ok()).unwrap_or(300)
}
