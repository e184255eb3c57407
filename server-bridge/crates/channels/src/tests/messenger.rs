//! A messenger in this process that can fail in every way.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use platforms::event::{Media, Message, Press, What};
use platforms::platform::{Caps, End, Setup, Unit};
use platforms::{
    Button, Conversation, Event, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sender, Sent, Styled,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The only kind of messenger in these tests.
pub(super) const KINDS: &[Kind] = &[Kind { name: "fake", title: "Fake", setup: SETUP, make }];

const SETUP: &[Setup] = &[
    Setup { key: "token", label: "Token", help: "Any.", is_secret: true, default: None },
    Setup { key: "address", label: "Address", help: "Any.", is_secret: false, default: Some("") },
    Setup { key: "listen", label: "Listen on", help: "Any.", is_secret: false, default: Some("") },
];

/// The pauses that a paced messenger requires, in milliseconds: between requests to a conversation, and between edits of a message.
const SEND_EVERY_MS: u64 = 40;
const EDIT_EVERY_MS: u64 = 120;

/// How long the messenger remembers a key, in milliseconds.
pub(super) const KEY_LIFETIME_MS: u64 = 60_000;

/// The longest text of a message, in characters.
const TEXT_MAX: usize = 400;

/// The messengers of all tests, by token.
static ALL: LazyLock<Mutex<HashMap<String, Messenger>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

fn make(values: &Value, _reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let all = ALL.lock().unwrap();
    let found = values["token"].as_str().and_then(|token| all.get(token));
    found
        .map(|found| Arc::new(found.clone()) as Arc<dyn Platform>)
        .ok_or_else(|| "the token is wrong".to_owned())
}

/// How a request to send fails.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The message is accepted, but the response is lost.
    TakenUnsaid,
    /// The message is not accepted, and the response is lost.
    LostUnsaid,
    /// The messenger cannot be reached.
    Away,
    /// The messenger requires a pause.
    TooFast,
    /// The message that is replied to was recalled, so that only messages without a reference to it are accepted.
    Recalled,
}

/// A message as its readers see it.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) to: String,
    pub(super) text: String,
    pub(super) buttons: Vec<Button>,
}

#[derive(Default)]
struct State {
    /// The events whose receipt was not confirmed.
    queue: VecDeque<Event>,
    shown: Vec<Shown>,
    keys: HashSet<String>,
    faults: VecDeque<Fault>,
    press_answers: Vec<String>,
    /// Ends each connection after this many events.
    cut_every: usize,
    /// Delivers each batch twice.
    repeats: bool,
    refuses: Option<String>,
    connections: usize,
    /// Refuses all requests, as if it could not be reached.
    is_away: bool,
    /// Ends all connections, as if it could not be reached.
    is_down: bool,
    /// The successive versions of each message.
    versions: HashMap<String, Vec<String>>,
    /// The times of the last request to each conversation, and of the last edit of each message.
    asked: HashMap<String, Instant>,
    changed: HashMap<String, Instant>,
    /// The number of requests that arrived too soon after the previous one.
    too_fast: usize,
    /// True if edits are refused.
    refuses_edits: bool,
    /// The number of upcoming edits that are not made and whose responses are lost.
    lost_edits: usize,
    /// True while files are held back.
    holds_files: bool,
    /// The number of files being fetched now, and the highest such number so far.
    fetching: (usize, usize),
}

impl State {
    /// Counts a request to a conversation, which may edit a message; refuses a request that arrives too soon.
    fn counts(&mut self, conversation: &str, changed: Option<&str>) -> Result<(), Failure> {
        let now = Instant::now();
        let is_early = |last: Option<Instant>, every_ms| {
            last.is_some_and(|last| now.duration_since(last) < Duration::from_millis(every_ms))
        };
        let mut is_refused = is_early(self.asked.insert(conversation.to_owned(), now), SEND_EVERY_MS);
        if let Some(id) = changed {
            is_refused |= is_early(self.changed.insert(id.to_owned(), now), EDIT_EVERY_MS);
        }
        if is_refused {
            self.too_fast += 1;
            return Err(Failure::TooFast { wait_ms: EDIT_EVERY_MS });
        }
        Ok(())
    }
}

/// The messenger. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub(super) struct Messenger {
    state: Arc<Mutex<State>>,
    news: Arc<Notify>,
    token: String,
    has_buttons: bool,
    /// True if its messages can be changed.
    has_edits: bool,
    is_keyed: bool,
    /// True if the messenger refuses requests that arrive too soon after the previous one.
    is_paced: bool,
}

impl Messenger {
    pub(super) fn new() -> Self {
        let token = format!("secret-{}", NEXT.fetch_add(1, Ordering::SeqCst));
        let (state, news) = (Arc::default(), Arc::default());
        Self { state, news, token, has_buttons: true, has_edits: true, is_keyed: true, is_paced: false }
    }

    /// Creates a messenger whose messages have no buttons and cannot be changed.
    pub(super) fn without_buttons() -> Self {
        Self { has_buttons: false, has_edits: false, ..Self::new() }
    }

    /// One whose messages have buttons that stay, since they cannot be changed.
    pub(super) fn without_edits() -> Self {
        Self { has_edits: false, ..Self::new() }
    }

    /// Creates a messenger that refuses requests that arrive too soon after the previous one.
    pub(super) fn paced() -> Self {
        Self { is_paced: true, ..Self::new() }
    }

    /// Creates a messenger that does not support keys.
    pub(super) fn without_keys() -> Self {
        Self { is_keyed: false, ..Self::new() }
    }

    /// Registers the messenger; returns its token.
    pub(super) fn register(&self) -> String {
        ALL.lock().unwrap().insert(self.token.clone(), self.clone());
        self.token.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn cuts_every(&self, events: usize) {
        self.state().cut_every = events;
    }

    pub(super) fn repeats(&self) {
        self.state().repeats = true;
    }

    pub(super) fn refuses(&self, why: Option<&str>) {
        self.state().refuses = why.map(str::to_owned);
    }

    pub(super) fn fails(&self, faults: impl IntoIterator<Item = Fault>) {
        self.state().faults.extend(faults);
    }

    /// Forgets the keys of all earlier messages.
    pub(super) fn forgets_keys(&self) {
        self.state().keys.clear();
    }

    /// Refuses all requests from now on, or accepts them again.
    pub(super) fn goes_away(&self, is_away: bool) {
        self.state().is_away = is_away;
    }

    /// Cannot be reached from now on, or can be again.
    pub(super) fn goes_down(&self, is_down: bool) {
        self.state().is_down = is_down;
        self.goes_away(is_down);
        self.news.notify_one();
    }

    /// Refuses edits of messages from now on, or no longer.
    pub(super) fn refuses_edits(&self, refuses: bool) {
        self.state().refuses_edits = refuses;
    }

    /// Ignores the next `count` edits, without a response.
    pub(super) fn loses_edits(&self, count: usize) {
        self.state().lost_edits = count;
    }

    /// The number of requests that arrived too soon after the previous one.
    pub(super) fn too_fast(&self) -> usize {
        self.state().too_fast
    }

    /// The successive versions of a message.
    pub(super) fn versions(&self, id: &str) -> Vec<String> {
        self.state().versions.get(id).cloned().unwrap_or_default()
    }

    /// Holds files back from now on, or lets them arrive again.
    pub(super) fn holds_files(&self, holds: bool) {
        self.state().holds_files = holds;
    }

    /// The number of files being fetched now, and the highest such number so far.
    pub(super) fn fetching(&self) -> (usize, usize) {
        self.state().fetching
    }

    pub(super) fn connections(&self) -> usize {
        self.state().connections
    }

    /// True if all events were accepted.
    pub(super) fn is_delivered(&self) -> bool {
        self.state().queue.is_empty()
    }

    pub(super) fn press_answers(&self) -> Vec<String> {
        self.state().press_answers.clone()
    }

    /// The messages that a conversation shows.
    pub(super) fn shown(&self, conversation: &str) -> Vec<Shown> {
        self.state().shown.iter().filter(|shown| shown.to == conversation).cloned().collect()
    }

    pub(super) fn texts(&self, conversation: &str) -> Vec<String> {
        self.shown(conversation).into_iter().map(|shown| shown.text).collect()
    }

    /// Delivers an event.
    pub(super) fn happens(&self, person: &str, conversation: &str, is_group: bool, what: What) {
        let id = format!("e{}", NEXT.fetch_add(1, Ordering::SeqCst));
        let event = Event {
            id,
            at_ms: 0,
            conversation: Conversation { id: conversation.to_owned(), is_group },
            sender: Sender { id: person.to_owned(), name: person.to_uppercase(), is_bot: false },
            what,
            reply: json!({"to": conversation}),
        };
        self.state().queue.push_back(event);
        self.news.notify_one();
    }

    /// A person writes a message; if the conversation is not the person's own, it is a group, and the message mentions the bot.
    pub(super) fn says(&self, person: &str, conversation: &str, text: &str) {
        let is_group = person != conversation;
        self.writes(person, conversation, Message { mentions_us: is_group, ..written(text) });
    }

    pub(super) fn writes(&self, person: &str, conversation: &str, message: Message) {
        self.happens(person, conversation, person != conversation, What::Message(message));
    }

    /// A person presses a button.
    pub(super) fn presses(&self, person: &str, shown: &Shown, token: &str) {
        let press = Press { token: token.to_owned(), message: shown.id.clone(), handle: Value::Null };
        self.happens(person, &shown.to, person != shown.to, What::Press(press));
    }
}

/// A file that is being fetched, until this is dropped.
struct Fetching<'a>(&'a Messenger);

impl<'a> Fetching<'a> {
    fn begin(messenger: &'a Messenger) -> Self {
        let mut state = messenger.state();
        let (now, most) = state.fetching;
        state.fetching = (now + 1, most.max(now + 1));
        drop(state);
        Self(messenger)
    }
}

impl Drop for Fetching<'_> {
    fn drop(&mut self) {
        self.0.state().fetching.0 -= 1;
    }
}

/// A plain message with this text.
pub(super) fn written(text: &str) -> Message {
    Message {
        id: String::new(),
        text: text.to_owned(),
        mentions_us: false,
        is_edited: false,
        quoted: None,
        media: Vec::new(),
    }
}

impl Platform for Messenger {
    fn caps(&self) -> Caps {
        Caps {
            text_max: TEXT_MAX,
            unit: Unit::Chars,
            buttons: self.has_buttons,
            edits: self.has_edits,
            edit_every_ms: if self.is_paced { EDIT_EVERY_MS } else { 1 },
            send_every_ms: if self.is_paced { SEND_EVERY_MS } else { 0 },
            key_lifetime_ms: self.is_keyed.then_some(KEY_LIFETIME_MS),
            reply_window_ms: None,
            replies_max: None,
            replays: true,
            file_max_bytes: 1024,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async { Ok("desk_bot".to_owned()) })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            self.state().connections += 1;
            if let Some(why) = self.state().refuses.clone() {
                return End::Refused(why);
            }
            if self.state().is_down {
                return End::Lost("nobody answers".to_owned());
            }
            inbox.connected("desk_bot");
            let mut delivered = 0;
            loop {
                if self.state().is_down {
                    return End::Lost("the connection ended".to_owned());
                }
                let (batch, cut_every, repeats) = {
                    let state = self.state();
                    let batch: Vec<Event> = state.queue.iter().take(7).cloned().collect();
                    (batch, state.cut_every, state.repeats)
                };
                if batch.is_empty() {
                    tokio::select! {
                        () = self.news.notified() => continue,
                        () = stop.cancelled() => return End::Stopped,
                    }
                }
                inbox.alive();
                for _ in 0..1 + usize::from(repeats) {
                    if let Err(why) = inbox.take(batch.clone(), Some("c".to_owned())).await {
                        return End::Lost(why);
                    }
                }
                delivered += batch.len();
                if cut_every > 0 && delivered >= cut_every {
                    // The batch was accepted but not confirmed, so it is delivered again.
                    self.state().cut_every = 0;
                    return End::Lost("cut".to_owned());
                }
                self.state().queue.drain(..batch.len());
            }
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        let parts = platforms::parts::split(text, TEXT_MAX, &Unit::Chars);
        let count = parts.len();
        let part = |(at, part): (usize, &Styled)| {
            let buttons = if at + 1 == count { buttons } else { &[] };
            Outgoing { payload: json!({"text": part.text(), "buttons": buttons}) }
        };
        parts.iter().enumerate().map(part).collect()
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        reply: &'a Value,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let mut state = self.state();
            if state.is_away {
                return Err(Failure::Away("nobody".to_owned()));
            }
            if self.is_paced {
                state.counts(&to.id, None)?;
            }
            let fault = state.faults.pop_front();
            match fault {
                Some(Fault::Away) => return Err(Failure::Away("nobody".to_owned())),
                Some(Fault::TooFast) => return Err(Failure::TooFast { wait_ms: 1 }),
                Some(Fault::LostUnsaid) => return Err(Failure::Unknown("cut".to_owned())),
                Some(Fault::Recalled) if !reply.is_null() => return Err(Failure::Expired),
                Some(Fault::TakenUnsaid | Fault::Recalled) | None => {}
            }
            let id = format!("m{key}");
            let is_new = state.keys.insert(key.to_owned());
            if is_new || !self.is_keyed {
                let text = message.payload["text"].as_str().unwrap().to_owned();
                let buttons = serde_json::from_value(message.payload["buttons"].clone()).unwrap();
                state.versions.entry(id.clone()).or_default().push(text.clone());
                state.shown.push(Shown { id: id.clone(), to: to.id.clone(), text, buttons });
            }
            match fault {
                Some(Fault::TakenUnsaid) => Err(Failure::Unknown("cut".to_owned())),
                _ => Ok(Sent { id }),
            }
        })
    }

    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let mut state = self.state();
            if self.is_paced {
                state.counts(&to.id, Some(id))?;
            }
            if state.refuses_edits {
                return Err(Failure::Message("it cannot be changed".to_owned()));
            }
            if state.lost_edits > 0 {
                state.lost_edits -= 1;
                return Err(Failure::Unknown("cut".to_owned()));
            }
            let text = message.payload["text"].as_str().unwrap().to_owned();
            state.versions.entry(id.to_owned()).or_default().push(text);
            let found = state.shown.iter_mut().find(|shown| shown.id == id);
            let shown = found.ok_or_else(|| Failure::Message("no such message".to_owned()))?;
            message.payload["text"].as_str().unwrap().clone_into(&mut shown.text);
            shown.buttons.clear();
            Ok(())
        })
    }

    fn send_file<'a>(
        &'a self,
        _to: &'a Conversation,
        _file: &'a FileOut,
        _reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async { Err(Failure::Message("no files here".to_owned())) })
    }

    fn answer_press<'a>(&'a self, _handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        self.state().press_answers.push(text.to_owned());
        Box::pin(async { Ok(()) })
    }

    fn fetch<'a>(&'a self, _media: &'a Media, _max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async {
            let _fetching = Fetching::begin(self);
            while self.state().holds_files {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Ok(Bytes::from_static(b"picture"))
        })
    }
}
