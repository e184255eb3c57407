//! The state of the screen.

use std::collections::{HashMap, VecDeque};

use api::chat::CommandView;
use api::tui::ClientId;
use api::words::Approval;
use ratatui::text::Line;

use super::event::Effect;
use super::group::Group;
use super::input::{Completion, Input, completions, joined};
use super::picker::Picker;
use super::places::{Places, Where};
use super::text::one_line;
use super::transcript::Transcript;
use super::view::theme::Theme;
use super::wire::{Chat, Control, Role};
use crate::limits::{APPROVAL_GUARD_MS, NOTE_MS, NOTES, TYPING_MS};

/// Where keys go while nothing covers the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Focus {
    /// The text being written.
    #[default]
    Input,
    /// A model's question.
    Asking,
    /// The cards.
    Cards,
}

/// A window over the screen that gets the keys.
pub(super) enum Overlay {
    /// The command palette, places, models or modes.
    Pick(Picker),
    /// The chats, with additional keys.
    Chats(Picker),
    /// A yes-or-no question, the effect of yes, and since when it is on the screen.
    Confirm { question: String, yes: Effect, since_ms: u64 },
    /// A chat's new title.
    Rename { chat: String, title: String },
    /// The window of [`State::group`].
    Group,
    /// The list of keys; how far it is scrolled.
    Help(usize),
}

/// The state of the connection to the server.
#[derive(Debug, Default)]
pub(super) enum Connection {
    #[default]
    Connecting,
    Online,
    /// The server cannot be reached: the reason, and when this program reconnects, in milliseconds of this program.
    Lost {
        why: String,
        retry_at_ms: u64,
    },
    /// The server will not return: what to do.
    Ended(String),
}

/// A model's question, and the answer being given.
#[derive(Debug, Default)]
pub(super) struct Asking {
    /// The message that shows the question; 0 while no question waits.
    pub(super) message: i64,
    /// Since when it is on the screen.
    pub(super) since_ms: u64,
    /// True if the answer is being sent.
    pub(super) is_sent: bool,
    /// The index of the selected answer; the one after the last means the user's own words.
    pub(super) selected: usize,
    pub(super) own_words: String,
    /// By how many lines the request is scrolled.
    pub(super) scrolled: usize,
}

/// The scroll position of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scroll {
    /// The end, following new messages.
    #[default]
    End,
    /// This line of this message is at the top.
    At { id: i64, line: usize },
}

/// The layout of the last frame; scrolling uses it.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// The number of lines of each message.
    pub(super) heights: Vec<(i64, usize)>,
    /// The number of lines that the screen has for messages.
    pub(super) height: usize,
}

/// The lines of each message as they were drawn last, with the revision.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) width: usize,
    pub(super) lines: HashMap<i64, (u64, Vec<Line<'static>>)>,
}

/// A note about an event.
pub(super) struct Note {
    pub(super) text: String,
    pub(super) is_warning: bool,
    pub(super) until_ms: u64,
}

/// A sent message that may or may not have arrived.
pub(super) struct Unanswered {
    pub(super) chat: String,
    pub(super) text: String,
    pub(super) send_id: String,
}

/// The changes that agents made to the screen.
#[derive(Debug, Default)]
pub(super) struct Led {
    /// The chat whose agent opened the chat that is open, if one did.
    pub(super) by: Option<String>,
    /// When an agent last changed what a key acts on, in milliseconds of this program.
    pub(super) at_ms: Option<u64>,
    /// The action that waits for the result of a request.
    pub(super) waits: Option<(Box<Control>, Effect)>,
}

/// The state of the screen.
pub(super) struct State {
    pub(super) theme: Theme,
    pub(super) server: String,
    pub(super) user: String,
    /// The id of this program, which no other one has; its `send_id`s begin with it.
    pub(super) client: ClientId,
    /// The number of `send_id`s so far.
    sends: u64,
    pub(super) unanswered: Option<Unanswered>,
    /// The time, in milliseconds of this program.
    pub(super) now_ms: u64,
    pub(super) connection: Connection,
    pub(super) chats: Vec<Chat>,
    /// The open chat.
    pub(super) chat: String,
    pub(super) transcript: Transcript,
    pub(super) places: Places,
    /// The chat's model.
    pub(super) model: Option<String>,
    /// The models that can be chosen, each with a description.
    pub(super) models: Vec<(String, String)>,
    /// The approval modes that were set here, by chat.
    pub(super) modes: HashMap<String, String>,
    /// The slash commands.
    pub(super) commands: Vec<CommandView>,
    pub(super) input: Input,
    /// The unsent texts of other chats.
    pub(super) drafts: HashMap<String, String>,
    /// The group that was opened last.
    pub(super) group: Group,
    /// The unsent texts of other groups.
    pub(super) group_drafts: HashMap<i64, String>,
    /// The selected completion; `None` while they are hidden.
    pub(super) completion: Option<usize>,
    /// True while a message of the user is being sent.
    pub(super) is_posting: bool,
    pub(super) is_cancelling: bool,
    pub(super) is_loading_older: bool,
    pub(super) asking: Asking,
    pub(super) focus: Focus,
    pub(super) overlay: Option<Overlay>,
    /// The selected card.
    pub(super) card: Option<i64>,
    pub(super) scroll: Scroll,
    pub(super) layout: Layout,
    pub(super) drawn: Drawn,
    pub(super) notes: VecDeque<Note>,
    /// What agents did to this screen.
    pub(super) led: Led,
    /// The time of the last key press.
    pub(super) typed_ms: u64,
    /// The time at which missed parts of messages were last read.
    pub(super) refreshed_ms: u64,
}

impl State {
    /// The state at startup: the server and user, and the open chat.
    ///
    /// `client` is an id that no other program has.
    pub(super) fn new(theme: Theme, server: &str, user: &str, chat: &str, client: ClientId) -> Self {
        Self {
            theme,
            server: one_line(server),
            user: one_line(user),
            client,
            sends: 0,
            unanswered: None,
            now_ms: 0,
            connection: Connection::default(),
            chats: Vec::new(),
            chat: chat.to_owned(),
            transcript: Transcript::default(),
            places: Places::default(),
            model: None,
            models: Vec::new(),
            modes: HashMap::new(),
            commands: Vec::new(),
            input: Input::default(),
            drafts: HashMap::new(),
            group: Group::default(),
            group_drafts: HashMap::new(),
            completion: Some(0),
            is_posting: false,
            is_cancelling: false,
            is_loading_older: false,
            asking: Asking::default(),
            focus: Focus::default(),
            overlay: None,
            card: None,
            scroll: Scroll::default(),
            layout: Layout::default(),
            drawn: Drawn::default(),
            notes: VecDeque::new(),
            led: Led::default(),
            typed_ms: 0,
            refreshed_ms: 0,
        }
    }

    /// True if the server is reachable.
    pub(super) fn is_online(&self) -> bool {
        matches!(self.connection, Connection::Online)
    }

    /// True if the screen changes without an event.
    pub(super) fn is_moving(&self) -> bool {
        self.transcript.is_running() || !self.notes.is_empty() || !self.is_online()
    }

    /// The open chat, as the server reported it.
    pub(super) fn open_chat(&self) -> Option<&Chat> {
        self.chats.iter().find(|chat| chat.id == self.chat)
    }

    /// The place of the next command.
    pub(super) fn place(&self) -> Where {
        self.places.of(self.open_chat().and_then(|chat| chat.runner.as_deref()))
    }

    /// Shows a note for a while.
    pub(super) fn note(&mut self, text: impl Into<String>, is_warning: bool) {
        let until_ms = self.now_ms + NOTE_MS;
        self.notes.push_back(Note { text: text.into(), is_warning, until_ms });
        if self.notes.len() > NOTES {
            self.notes.pop_front();
        }
    }

    /// Puts a text in front of the unsent text of a chat, open or not.
    pub(super) fn put_back(&mut self, chat: String, text: &str) {
        if chat == self.chat {
            return self.input.put_back(text);
        }
        let draft = self.drafts.entry(chat).or_default();
        *draft = joined(text, draft);
    }

    /// The `send_id` for a text in the open chat: that of a message that may have arrived, if it has the same text.
    pub(super) fn send_id(&mut self, text: &str) -> String {
        match self.unanswered.take() {
            Some(sent) if sent.chat == self.chat && sent.text == text => sent.send_id,
            _ => self.new_send_id(),
        }
    }

    /// A `send_id` that no other message of this program has.
    pub(super) fn new_send_id(&mut self) -> String {
        self.sends += 1;
        format!("{}-{}", self.client, self.sends)
    }

    /// True if there is unsent text, here or in another chat.
    pub(super) fn has_unsent(&self) -> bool {
        let is_text = |text: &str| !text.trim().is_empty();
        let others = self.drafts.values().chain(self.group_drafts.values());
        is_text(&self.input.text())
            || is_text(&self.group.text)
            || others.into_iter().any(|draft| is_text(draft))
    }

    /// Opens a chat. Unsent text of the earlier chat stays with it, or moves along if that chat was deleted.
    pub(super) fn open(&mut self, chat: &str) -> Vec<Effect> {
        let draft = self.input.text();
        let is_gone = self.open_chat().is_none();
        self.input.set(&self.drafts.remove(chat).unwrap_or_default());
        if !draft.is_empty() && is_gone {
            self.input.put_back(&draft);
        } else if !draft.is_empty() {
            self.drafts.insert(std::mem::take(&mut self.chat), draft);
        }
        self.input.set_history(Vec::new());
        chat.clone_into(&mut self.chat);
        self.transcript = Transcript::default();
        self.drawn = Drawn::default();
        (self.scroll, self.card, self.focus) = Default::default();
        (self.overlay, self.is_loading_older, self.is_cancelling) = (None, false, false);
        (self.asking, self.model, self.led.by) = (Asking::default(), None, None);
        let chat = self.chat.clone();
        vec![
            Effect::LoadMessages { chat: chat.clone(), asked: 0 },
            Effect::LoadModels { chat: chat.clone() },
            Effect::Remember { chat },
        ]
    }

    /// Updates the question from the pending ones. The question does not take the keys: only the Tab key gives it the keys.
    pub(super) fn follow_asking(&mut self) {
        let message = self.transcript.asking().next().map_or(0, |entry| entry.message.id);
        if message != self.asking.message {
            self.asking = Asking { message, since_ms: self.now_ms, ..Asking::default() };
            if self.focus == Focus::Asking {
                self.focus = Focus::Input;
            }
        }
    }

    /// True if a question of this program may come up without being asked for: no text is being typed, and nothing else is
    /// open.
    pub(super) fn may_ask(&self) -> bool {
        let is_typing = self.typed_ms > 0 && self.typed_ms + TYPING_MS > self.now_ms;
        self.overlay.is_none() && self.input.is_empty() && !is_typing
    }

    /// True if something that appeared at `since_ms` was on the screen long enough for a key to be meant for it.
    pub(super) fn may_answer(&self, since_ms: u64) -> bool {
        self.now_ms >= since_ms + APPROVAL_GUARD_MS
    }

    /// True if an agent changed the screen so shortly before that a key was meant for what was there.
    pub(super) fn was_just_led(&self) -> bool {
        self.led.at_ms.is_some_and(|at_ms| !self.may_answer(at_ms))
    }

    /// The completions of the text.
    pub(super) fn completions(&self) -> Vec<Completion> {
        if self.completion.is_none()
            || !self.input.area.lines().first().is_some_and(|line| line.starts_with('/'))
        {
            return Vec::new();
        }
        completions(&self.input.text(), &self.commands, |word| match word {
            "runner" => {
                let places = self.places.choices.iter().map(|choice| choice.name.clone());
                places.chain(["auto".to_owned()]).collect()
            }
            "approval" => Approval::WORDS.iter().map(|word| (*word).to_owned()).collect(),
            "model" => self.models.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        })
    }

    /// Makes the user's messages in the chat the history of the input.
    pub(super) fn follow_history(&mut self) {
        let said = self.transcript.entries().filter(|entry| entry.message.role == Role::User);
        let said = said.map(|entry| entry.said.clone()).collect();
        self.input.set_history(said);
    }
}
