//! The screen without a server.

mod control_tests;
mod group_tests;

use api::tui::ClientId;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::event::{Answer, Effect, Event};
use super::state::{Focus, Overlay, Scroll, State};
use super::update::update;
use super::view::theme::Theme;
use super::{text, view, wire};
use crate::failure::Failure;

/// The id of the terminal.
const OWN: ClientId = ClientId::of(0xa11ce);

/// A simulated person in front of the screen.
struct Person {
    state: State,
    terminal: Terminal<TestBackend>,
    now_ms: u64,
    effects: Vec<Effect>,
}

impl Person {
    /// A connected screen, without chats and with one runner.
    fn new(width: u16, height: u16) -> Self {
        let state = State::new(Theme::plain(), "http://127.0.0.1:1", "alice", "c1", OWN);
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut person = Self { state, terminal, now_ms: 10_000, effects: Vec::new() };
        person.happens(Event::Connected { is_whole: false });
        person.done(Effect::LoadPlaces, places("laptop", true));
        person.done(
            Effect::LoadChats,
            json!([{"id": "c1", "title": "First", "updated_at": 2}, {"id": "c2", "title": "Second", "updated_at": 1}]),
        );
        let command = |usage: &str| json!({"word": usage, "usage": usage, "about": format!("about {usage}")});
        let usages = ["/approval MODE", "/runner NAME", "/undo", "/undo --force", "/help"];
        person.done(Effect::LoadCommands, usages.map(command).into_iter().collect());
        person.effects.clear();
        person
    }

    fn happens(&mut self, event: Event) -> &mut Self {
        self.effects.extend(update(&mut self.state, self.now_ms, event));
        self.draw();
        self
    }

    fn draw(&mut self) {
        self.terminal.draw(|frame| view::draw(frame, &mut self.state)).unwrap();
    }

    fn done(&mut self, effect: Effect, answer: Value) -> &mut Self {
        let answer = as_answer(&effect, answer);
        self.happens(Event::Done(effect, Ok(answer)))
    }

    fn told(&mut self, event: Value) -> &mut Self {
        self.happens(Event::Server(wire::told(read(event)).unwrap()))
    }

    fn message(&mut self, message: Value) -> &mut Self {
        let mut whole = json!({"chat_id": "c1", "role": "assistant", "text": "", "created_at": 0});
        whole.as_object_mut().unwrap().extend(message.as_object().unwrap().clone());
        self.told(json!({"type": "message", "message": whole}))
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> &mut Self {
        self.happens(Event::Key(KeyEvent::new(code, modifiers)))
    }

    fn key(&mut self, code: KeyCode) -> &mut Self {
        self.press(code, KeyModifiers::NONE)
    }

    fn control(&mut self, character: char) -> &mut Self {
        self.press(KeyCode::Char(character), KeyModifiers::CONTROL)
    }

    fn types(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            self.key(KeyCode::Char(character));
        }
        self
    }

    fn waits(&mut self, ms: u64) -> &mut Self {
        self.now_ms += ms;
        self.happens(Event::Tick)
    }

    fn sees(&self) -> String {
        let buffer = self.terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        // A wide character covers the cell after it, whatever that contains.
        let symbols = |row: &[Cell]| {
            let (mut line, mut at) = (String::new(), 0);
            while let Some(cell) = row.get(at) {
                line.push_str(cell.symbol());
                at += cell.symbol().width().max(1);
            }
            line
        };
        buffer
            .content
            .chunks(width)
            .map(symbols)
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn wanted(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
}

/// The server's answer to a request, as the screen receives it.
fn as_answer(effect: &Effect, answer: Value) -> Answer {
    fn read<T: serde::de::DeserializeOwned>(answer: Value) -> T {
        serde_json::from_value(answer).unwrap()
    }
    match effect {
        Effect::LoadChats => Answer::Chats(read(answer)),
        Effect::LoadPlaces => {
            Answer::Places(read(answer["settings"].clone()), read(answer["runners"].clone()))
        }
        Effect::LoadCommands => Answer::Commands(read(answer)),
        Effect::LoadModels { .. } => Answer::Models(read(answer)),
        Effect::LoadMessages { .. } | Effect::LoadFrom { .. } | Effect::LoadOlder { .. } => {
            Answer::Messages(read(answer))
        }
        Effect::Post { .. } => Answer::Posted(read(answer)),
        Effect::Cancel { .. } => Answer::Cancelled(read(answer["cancelled"].clone())),
        Effect::NewChat | Effect::Fork { .. } => Answer::Chat(read(answer)),
        Effect::Use { .. } => Answer::Place(read(answer)),
        Effect::Undo { .. } => Answer::Undone(read(answer["text"].clone())),
        Effect::LoadGroups => Answer::Groups(read(answer)),
        Effect::LoadGroup { .. } => Answer::Group(Box::new(super::event::GroupNews {
            view: read(answer["view"].clone()),
            entries: read(answer["entries"].clone()),
            calls: read(answer["calls"].clone()),
            run: read(answer["run"].clone()),
        })),
        Effect::LoadOlderEntries { .. } => Answer::Entries(read(answer)),
        Effect::PostToGroup { .. } => Answer::Said(read(answer)),
        _ => Answer::Done,
    }
}

fn read(event: Value) -> api::event::Event {
    serde_json::from_value::<api::event::ServerEvent>(event).unwrap().event
}

fn places(name: &str, online: bool) -> Value {
    json!({
        "settings": {"active_runner": name, "choices": [
            {"name": name, "kind": "runner", "online": online, "available": online, "note": null},
            {"name": "work", "kind": "runner", "online": true, "available": true, "note": null},
        ]},
        "runners": [{"name": name, "online": online, "profile": "workspace"}, {"name": "work", "online": true}],
    })
}

fn asking(id: i64, detail: &str) -> Value {
    json!({"id": id, "agent": {"kind": "tool", "tool": "Shell", "hint": "rm -r x", "status": "asking",
        "place": "laptop", "detail": detail}})
}

/// The first message that is sent.
fn post(text: &str) -> Effect {
    nth_post(1, text)
}

fn nth_post(count: u64, text: &str) -> Effect {
    let send_id = format!("{OWN}-{count}");
    Effect::Post { chat: "c1".to_owned(), text: text.to_owned(), send_id, client: OWN }
}

#[test]
fn what_is_written_is_sent_and_its_answer_streams_in() {
    let mut person = Person::new(60, 20);
    person.types("hello").press(KeyCode::Enter, KeyModifiers::ALT).types("there").key(KeyCode::Enter);
    assert_eq!(person.wanted(), [post("hello\nthere")]);
    let reply = json!({"kind": "reply", "status": "queued"});
    let messages = json!([{"id": 1, "chat_id": "c1", "role": "user", "text": "hello\nthere"},
        {"id": 2, "chat_id": "c1", "role": "assistant", "text": "", "agent": reply}]);
    person.done(post("hello\nthere"), json!({"messages": messages}));
    for piece in ["**So** ", "be ", "it"] {
        person.told(
            json!({"type": "output", "chat_id": "c1", "message_id": 2, "channel": "text", "text": piece}),
        );
    }
    assert!(
        person.sees().contains("› hello\n  there") && person.sees().contains("So be it"),
        "{}",
        person.sees()
    );
    assert!(person.sees().contains("● laptop online · workspace"), "{}", person.sees());
    person.told(
        json!({"type": "output", "chat_id": "other", "message_id": 2, "channel": "text", "text": "NO"}),
    );
    assert!(!person.sees().contains("NO"));
}

#[test]
fn keys_of_the_shell_work_in_the_text() {
    let mut person = Person::new(60, 20);
    person.types("one two").control('w').control('z');
    assert_eq!(person.state.input.text(), "one two");
    person.control('u');
    assert!(person.state.input.is_empty());
}

#[test]
fn an_approval_says_which_machine_and_is_answered_by_key() {
    for (key, allow, always) in [('a', true, false), ('A', true, true), ('d', false, false)] {
        let mut person = Person::new(60, 20);
        person.message(asking(7, "rm -r x"));
        assert!(person.sees().contains("Shell wants to run on  laptop"), "{}", person.sees());
        person.key(KeyCode::Tab).types("a");
        assert_eq!(person.wanted(), [], "a key that was under way already answers nothing");
        person.waits(600).types(&key.to_string());
        assert_eq!(person.wanted(), [Effect::Approve { chat: "c1".to_owned(), message: 7, allow, always }]);
        person.message(json!({"id": 7, "agent": {"kind": "tool", "tool": "Shell", "hint": "rm -r x",
            "status": "running", "place": "laptop"}}));
        assert!(person.state.focus == Focus::Input && !person.sees().contains("wants to run"));
    }
}

#[test]
fn an_approval_does_not_take_the_keys_of_who_is_writing() {
    let mut person = Person::new(60, 20);
    person.types("a draft").message(asking(7, "rm -r x")).waits(5000).types(" and add");
    assert_eq!((person.wanted(), person.state.input.text().as_str()), (vec![], "a draft and add"));
    person.key(KeyCode::Tab).types("d");
    assert!(matches!(person.wanted()[..], [Effect::Approve { allow: false, .. }]));
    assert_eq!(person.state.input.text(), "a draft and add");

    // An approval does not take the keys of a person who has not begun to write either.
    let mut person = Person::new(60, 20);
    person.message(asking(7, "rm -r x")).waits(5000);
    assert!(person.sees().contains("Tab: answer it"), "{}", person.sees());
    person.types("and");
    assert_eq!((person.wanted(), person.state.input.text().as_str()), (vec![], "and"));
}

#[test]
fn what_holds_once_only_is_not_allowed_for_good_and_a_long_text_is_read_whole() {
    let mut person = Person::new(40, 20);
    let detail: String = (0..50).map(|line| format!("line {line}\n")).collect();
    let mut once = asking(7, &detail);
    once["agent"]["data"] = json!({"kind": "once"});
    person.message(once).waits(1000).key(KeyCode::Tab).types("A");
    assert_eq!(person.wanted(), []);
    assert!(person.sees().contains("line 0") && !person.sees().contains("line 49"));
    for _ in 0..60 {
        person.key(KeyCode::Down);
    }
    assert!(person.sees().contains("line 49"), "{}", person.sees());
}

#[test]
fn a_question_is_answered_with_a_choice_or_in_own_words() {
    let question = json!({"id": 8, "agent": {"kind": "tool", "tool": "AskUser", "hint": "", "status": "asking",
        "place": null, "detail": "Which colour?", "data": {"kind": "question", "options": ["red", "blue"]}}});
    let answer = |text: Option<&str>| Effect::Answer {
        chat: "c1".to_owned(),
        message: 8,
        text: text.map(str::to_owned),
    };
    let mut person = Person::new(60, 20);
    person.message(question).waits(1000).key(KeyCode::Tab);
    assert!(
        person.sees().contains("Which colour?") && person.sees().contains("2) blue"),
        "{}",
        person.sees()
    );
    person.types("2").key(KeyCode::Enter).key(KeyCode::Enter);
    assert_eq!(person.wanted(), [answer(Some("blue"))], "it is answered once");
    let refused = |person: &mut Person| {
        let failure = Failure::other("unreachable", "no answer");
        person.happens(Event::Done(answer(None), Err(failure)));
    };
    refused(&mut person);
    person.types("green 2").key(KeyCode::Enter);
    assert_eq!(person.wanted(), [answer(Some("green 2"))]);
    refused(&mut person);
    for _ in 0..7 {
        person.key(KeyCode::Backspace);
    }
    person.key(KeyCode::Enter);
    assert_eq!(person.wanted(), [answer(None)]);
}

#[test]
fn the_palette_finds_and_switches_the_runner() {
    let mut person = Person::new(80, 24);
    person.control('k').types("runner").key(KeyCode::Enter);
    assert!(person.sees().contains("Where commands run") && person.sees().contains("active · online"));
    person.types("work").key(KeyCode::Enter);
    assert_eq!(person.wanted(), [Effect::Use { place: Some("work".to_owned()) }]);
    person.done(Effect::Use { place: Some("work".to_owned()) }, json!({"warning": "runner work is busy"}));
    assert_eq!(person.wanted(), [Effect::LoadPlaces]);
    assert!(person.sees().contains("runner work is busy"));
    person.done(Effect::LoadPlaces, places("laptop", false));
    assert!(person.sees().contains("○ laptop offline"), "{}", person.sees());
}

#[test]
fn every_command_of_the_palette_does_something() {
    for (query, is_done) in [
        ("new chat", Some(Effect::NewChat)),
        ("fork chat", Some(Effect::Fork { chat: "c1".to_owned() })),
        ("undo", Some(Effect::Undo { chat: "c1".to_owned(), force: false })),
        ("cancel what", Some(Effect::Cancel { chat: "c1".to_owned() })),
        ("undo by force", None),
        ("open chat", None),
        ("approval mode", None),
        ("choose model", None),
        ("rename", None),
        ("delete", None),
        ("help", None),
        ("quit", None),
    ] {
        let mut person = Person::new(80, 24);
        person.control('k').types(query).key(KeyCode::Enter);
        assert_eq!(person.wanted(), Vec::from_iter(is_done.clone()), "{query}");
        assert_eq!(person.state.overlay.is_some(), is_done.is_none(), "{query}");
    }
}

#[test]
fn chats_are_found_opened_renamed_and_deleted_and_drafts_wait_in_them() {
    let mut person = Person::new(80, 24);
    person.types("draft of one").control('o');
    assert!(person.sees().contains("First") && person.sees().contains("Second"), "{}", person.sees());
    person.types("sec").key(KeyCode::Enter);
    let load = Effect::LoadMessages { chat: "c2".to_owned(), asked: 0 };
    assert!(person.wanted().contains(&load) && person.state.input.is_empty());
    person.control('o').types("first").control('e');
    assert!(matches!(&person.state.overlay, Some(Overlay::Rename { title, .. }) if title == "First"));
    person.control('u').types("Tidy").key(KeyCode::Enter);
    assert_eq!(person.wanted(), [Effect::Rename { chat: "c1".to_owned(), title: "Tidy".to_owned() }]);
    person.control('o').types("first").control('d').key(KeyCode::Enter);
    assert_eq!(person.wanted(), [], "Enter alone deletes nothing");
    person.types("y");
    assert_eq!(person.wanted(), [], "nor does a key that was under way already");
    person.waits(600).types("y");
    assert_eq!(person.wanted(), [Effect::Delete { chat: "c1".to_owned() }]);
    person.told(json!({"type": "chat_removed", "id": "c2"}));
    assert_eq!((person.state.chat.as_str(), person.state.input.text().as_str()), ("c1", "draft of one"));
}

#[test]
fn escape_and_ctrl_c_cancel_first_and_quit_asks() {
    let running = json!({"id": 3, "agent": {"kind": "reply", "status": "running"}});
    let mut person = Person::new(60, 20);
    person.message(running.clone()).key(KeyCode::Esc);
    assert_eq!(person.wanted(), [Effect::Cancel { chat: "c1".to_owned() }]);
    let mut person = Person::new(60, 20);
    person.message(running).control('c');
    assert_eq!(person.wanted(), [Effect::Cancel { chat: "c1".to_owned() }]);
    person.control('c');
    assert!(person.sees().contains("Quit? Running commands go on"), "{}", person.sees());
    person.key(KeyCode::Esc);
    assert!(person.state.overlay.is_none() && person.wanted().is_empty());
    person.control('c').control('c');
    assert_eq!(person.wanted(), [Effect::Quit]);
}

#[test]
fn a_server_that_will_not_come_back_is_told_of_whole_and_what_was_written_stays() {
    let mut person = Person::new(60, 20);
    person.types("unsent");
    let farewell = "The `sandbridge here` that this chat joined has ended. Ctrl+D quits; to start it again: sandbridge here /work";
    person.happens(Event::Ended(farewell.to_owned()));
    let seen = person.sees().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(seen.contains(farewell) && !seen.contains("trying again"), "{seen}");
    assert_eq!(person.state.input.text(), "unsent");
}

#[test]
fn nothing_that_was_written_is_lost_with_the_server() {
    let mut person = Person::new(60, 20);
    let lost = || Event::Lost { why: "connection refused".to_owned(), retry_ms: 2000 };
    person.types("first").key(KeyCode::Enter).happens(lost());
    person.happens(Event::Done(post("first"), Err(Failure::other("unreachable", "no answer"))));
    assert_eq!(person.state.input.text(), "first");
    assert!(
        person.sees().contains("Not connected, trying again in 2 s: connection refused"),
        "{}",
        person.sees()
    );
    assert!(person.sees().contains("○ laptop (not known)"), "{}", person.sees());
    person.types(" more").key(KeyCode::Enter);
    let wanted = vec![post("first"), Effect::Reconnect];
    assert_eq!((person.wanted(), person.state.input.text().as_str()), (wanted, "first more"));
    person.happens(Event::Connected { is_whole: false });
    let wanted = person.wanted();
    assert!(wanted.iter().any(|effect| matches!(effect, Effect::LoadMessages { .. })), "{wanted:?}");
    person.key(KeyCode::Enter);
    assert_eq!(person.wanted(), [nth_post(2, "first more")]);
    assert!(!person.sees().contains("Not connected"));
}

#[test]
fn what_may_have_arrived_is_sent_again_as_the_same() {
    let mut person = Person::new(100, 24);
    let lost = |kind| Event::Done(post("once"), Err(Failure::other(kind, "no answer")));
    person.types("once").key(KeyCode::Enter).happens(lost("lost")).key(KeyCode::Enter);
    assert_eq!(person.wanted(), [post("once"), post("once")]);
    assert!(person.sees().contains("cannot arrive twice"), "{}", person.sees());
    person.happens(lost("invalid_body")).key(KeyCode::Enter);
    assert_eq!(person.wanted(), [nth_post(2, "once")], "that one was refused");
}

#[test]
fn a_connection_that_goes_on_where_it_stood_has_missed_nothing() {
    for is_whole in [true, false] {
        let mut person = Person::new(60, 24);
        person.message(json!({"id": 2, "agent": {"kind": "reply", "status": "running"}}));
        let piece = |text| json!({"type": "output", "chat_id": "c1", "message_id": 2, "channel": "text", "text": text});
        person.told(piece("one "));
        person.happens(Event::Lost { why: "gone".to_owned(), retry_ms: 1 });
        person.happens(Event::Connected { is_whole }).told(piece("two"));
        assert_eq!(person.sees().contains("one two"), is_whole, "{}", person.sees());
    }
}

#[test]
fn undo_is_forced_only_by_who_saw_the_question() {
    let undo = |force| Effect::Undo { chat: "c1".to_owned(), force };
    let refused = || Event::Done(undo(false), Err(Failure::other("conflict", "a.txt was changed since")));
    let mut person = Person::new(100, 24);
    person.happens(refused()).types("y");
    assert_eq!(person.wanted(), [], "it was under way already");
    person.waits(600).types("y");
    assert_eq!(person.wanted(), [undo(true)]);

    let mut writing = Person::new(100, 24);
    writing.types("wh").happens(refused()).waits(600).types("y");
    assert_eq!((writing.wanted(), writing.state.input.text().as_str()), (vec![], "why"));
    assert!(writing.sees().contains("Undo by force"), "{}", writing.sees());
    writing.control('k').types("undo by force").key(KeyCode::Enter).waits(600).types("y");
    assert_eq!(writing.wanted(), [undo(true)]);

    let mut elsewhere = Person::new(100, 24);
    elsewhere.state.open("c2");
    elsewhere.happens(refused());
    assert!(elsewhere.state.overlay.is_none());
    let mut choosing = Person::new(100, 24);
    choosing.control('o').happens(refused());
    assert!(matches!(choosing.state.overlay, Some(Overlay::Chats(_))));
}

#[test]
fn what_is_written_stays_with_its_chat_and_outlives_it() {
    let mut person = Person::new(80, 24);
    person.types("sent").key(KeyCode::Enter).types("draft");
    person.state.open("c2");
    person.happens(Event::Done(post("sent"), Err(Failure::other("internal", "no"))));
    person.done(Effect::Undo { chat: "c1".to_owned(), force: false }, json!({"text": "undone"}));
    assert!(person.state.input.is_empty());
    person.types("of two").told(json!({"type": "chat_removed", "id": "c2"}));
    assert_eq!(
        (person.state.chat.as_str(), person.state.input.text().as_str()),
        ("c1", "of two\nundone\nsent\ndraft")
    );
    person.told(json!({"type": "chat_removed", "id": "c1"}));
    person.done(Effect::NewChat, json!({"id": "c3", "title": "", "updated_at": 3}));
    assert_eq!(person.state.chat, "c3");
    assert_eq!(person.state.input.text(), "of two\nundone\nsent\ndraft");
}

#[test]
fn quitting_says_that_something_is_not_sent() {
    let mut person = Person::new(80, 24);
    person.types("unsent").control('c').waits(600);
    assert!(person.sees().contains("Your unsent text will be lost."), "{}", person.sees());
    person.key(KeyCode::Enter).control('c');
    assert_eq!((person.wanted(), person.state.overlay.is_none()), (vec![], true));
    person.control('c').waits(600).types("y");
    assert_eq!(person.wanted(), [Effect::Quit]);
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}evil\u{8}\r\u{0}";
    let mut person = Person::new(60, 30);
    person.done(
        Effect::LoadPlaces,
        json!({"settings": {"active_runner": hostile, "choices": [{"name": hostile, "kind": hostile, "note": hostile}]},
            "runners": [{"name": hostile, "online": true, "profile": hostile}]}),
    );
    person.done(Effect::LoadChats, json!([{"id": "c1", "title": hostile, "runner": hostile}]));
    let models = json!({"chosen": hostile, "models": [{"name": hostile, "default_tier": "swift", "models": {"swift": {"name": hostile}}}]});
    person.done(Effect::LoadModels { chat: "c1".to_owned() }, models);
    person.told(json!({"type": "notice", "level": hostile, "text": hostile}));
    for (id, role) in [(1, "user"), (2, "notice"), (3, "assistant")] {
        person.message(json!({"id": id, "role": role, "text": hostile}));
    }
    person.message(json!({"id": 4, "role": "exec", "text": hostile, "exec": exec("failed", hostile)}));
    person.message(json!({"id": 5, "role": "exec", "text": "", "exec": exec("running", hostile)}));
    person.told(
        json!({"type": "output", "chat_id": "c1", "message_id": 5, "channel": "stdout", "text": hostile}),
    );
    person.message(json!({"id": 6, "text": hostile, "agent": {"kind": "reply", "status": hostile,
        "reasoning": hostile, "error": hostile}}));
    person.message(json!({"id": 7, "text": hostile, "agent": {"kind": "tool", "tool": hostile, "hint": hostile,
        "status": hostile, "place": hostile, "data": {"kind": "todos", "items": [{"content": hostile, "status": hostile}]}}}));
    person.message(
        json!({"id": 8, "agent": {"kind": "tool", "tool": hostile, "hint": hostile, "status": "asking",
        "place": hostile, "detail": hostile, "data": {"kind": "question", "options": [hostile]}}}),
    );
    person.key(KeyCode::Tab).happens(Event::Paste(hostile.to_owned()));
    person.happens(Event::Lost { why: hostile.to_owned(), retry_ms: 1 });
    for key in ['k', 'o', 'r'] {
        person.control(key);
        let shown = person.terminal.backend().buffer().content.iter().map(|cell| cell.symbol());
        let unfit: Vec<&str> = shown.filter(|symbol| symbol.chars().any(text::is_unfit)).collect();
        assert!(unfit.is_empty(), "{unfit:?}");
        person.key(KeyCode::Esc);
    }
}

fn exec(status: &str, words: &str) -> Value {
    json!({"exec_id": "", "command": words, "status": status, "exit_code": null, "signal": null,
        "duration_ms": 1234, "runner": words, "sandbox_denied": false, "truncated": true, "stdout_bytes": 0,
        "stderr_bytes": 0, "output_path": words, "error": words})
}

#[test]
fn a_card_shows_how_it_ended_and_unfolds() {
    let mut person = Person::new(70, 30);
    let text: String = (1..=40).map(|line| format!("row {line}.\n")).collect();
    let mut ended = exec("exited", "laptop");
    ended["exit_code"] = json!(3);
    ended["command"] = json!("seq 40");
    ended["error"] = Value::Null;
    person.message(json!({"id": 4, "role": "exec", "text": text, "exec": ended}));
    let sees = person.sees();
    assert!(sees.contains("✗ $ seq 40  exit 3 · 1.2 s · on laptop"), "{sees}");
    assert!(sees.contains("row 16.") && !sees.contains("row 17.") && sees.contains("24 more"), "{sees}");
    person.key(KeyCode::Tab).key(KeyCode::Enter);
    assert!(person.sees().contains("row 40."), "{}", person.sees());
    person.key(KeyCode::Enter).key(KeyCode::Esc);
    assert!(!person.sees().contains("row 40.") && person.state.focus == Focus::Input);
}

#[test]
fn todos_and_usage_are_shown() {
    let mut person = Person::new(70, 24);
    person.message(json!({"id": 4, "text": "ok", "agent": {"kind": "tool", "tool": "Todo", "hint": "", "status": "done",
        "place": null, "data": {"kind": "todos", "items": [
            {"content": "read it", "status": "completed"}, {"content": "mend it", "status": "in_progress"}]}}}));
    person.message(json!({"id": 5, "text": "done", "agent": {"kind": "reply", "status": "done",
        "usage": {"input_tokens": 12345, "cache_read_tokens": 0, "output_tokens": 67, "cost_micros": 12_300}}}));
    let sees = person.sees();
    assert!(sees.contains("To do: 1 of 2 done") && sees.contains("▸ mend it"), "{sees}");
    assert!(sees.contains("12.3k in · 67 out · $0.0123"), "{sees}");
}

#[test]
fn scrolling_stays_where_it_is_while_more_comes_and_reads_older_ones_at_the_top() {
    let mut person = Person::new(40, 12);
    let messages: Vec<Value> = (10..60)
        .map(|id| json!({"id": id, "chat_id": "c1", "role": "notice", "text": format!("note {id}")}))
        .collect();
    let load = Effect::LoadMessages { chat: "c1".to_owned(), asked: 0 };
    person.done(load, json!({"messages": messages, "more": true}));
    assert!(person.sees().contains("note 59"));
    person.key(KeyCode::PageUp);
    let before = person.sees();
    assert!(!before.contains("note 59") && before.contains("more · Ctrl+End"), "{before}");
    person.message(json!({"id": 60, "role": "notice", "text": "note 60"}));
    assert_eq!(before.lines().nth(2), person.sees().lines().nth(2));
    person.press(KeyCode::Home, KeyModifiers::CONTROL);
    assert!(person.sees().contains("note 10"));
    assert_eq!(person.wanted(), [Effect::LoadOlder { chat: "c1".to_owned(), before: 10 }]);
    let older =
        json!({"messages": [{"id": 9, "chat_id": "c1", "role": "notice", "text": "note 9"}], "more": false});
    person.done(Effect::LoadOlder { chat: "c1".to_owned(), before: 10 }, older);
    assert!(person.sees().contains("note 10"), "what one reads stays in place: {}", person.sees());
    person.press(KeyCode::End, KeyModifiers::CONTROL);
    assert!(person.sees().contains("note 60") && person.state.scroll == Scroll::End);
}

#[test]
fn wide_characters_and_every_size_of_terminal_are_drawn() {
    let mut person = Person::new(30, 12);
    person
        .types("漢字漢字")
        .message(json!({"id": 1, "role": "user", "text": "你好，世界。这是一个很长的句子，需要换行显示。"}));
    assert!(person.sees().replace(' ', "").contains("你好，世界。"), "{}", person.sees());
    person.message(asking(7, "rm"));
    for key in [None, Some('k'), Some('o')] {
        key.map(|key| person.control(key));
        for (width, height) in [(1, 1), (2, 3), (5, 40), (200, 2), (80, 24), (13, 7)] {
            person.terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            person.draw();
        }
        person.key(KeyCode::Esc);
    }
}

#[test]
fn without_colours_there_is_none_and_with_them_there_are() {
    let mut person = Person::new(60, 20);
    person.message(json!({"id": 1, "text": "# T\n`c`", "role": "assistant"})).message(asking(7, "rm"));
    let coloured = |person: &Person| {
        let cells = &person.terminal.backend().buffer().content;
        cells.iter().filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset).count()
    };
    assert_eq!(coloured(&person), 0);
    person.state.theme = Theme::coloured();
    person.state.drawn.lines.clear();
    person.draw();
    assert!(coloured(&person) > 0);
}

#[test]
fn slash_commands_are_completed_as_one_writes() {
    let mut person = Person::new(80, 24);
    person.types("/appr");
    assert!(person.sees().contains("/approval"), "{}", person.sees());
    person.key(KeyCode::Tab);
    assert_eq!(person.state.input.text(), "/approval ");
    person.types("f").key(KeyCode::Tab).key(KeyCode::Enter);
    assert_eq!(person.wanted(), [post("/approval full")]);
}

#[test]
fn a_flood_of_output_is_drawn_from_its_end() {
    let mut person = Person::new(80, 24);
    person.message(json!({"id": 5, "role": "exec", "text": "", "exec": exec("running", "yes")}));
    for number in 0..2_000 {
        let text = format!("{number} {}\n", "y".repeat(60));
        let event =
            json!({"type": "output", "chat_id": "c1", "message_id": 5, "channel": "stdout", "text": text});
        update(&mut person.state, 10_000, Event::Server(wire::told(read(event)).unwrap()));
    }
    person.draw();
    assert!(person.sees().contains("1999 y") && person.sees().contains("earlier"), "{}", person.sees());
}

#[test]
fn a_person_with_a_chinese_locale_reads_chinese_and_their_own_words_stay() {
    let mut person = Person::new(80, 24);
    person.state.theme.language = api::language::Language::Chinese;
    person.message(json!({"id": 1, "role": "user", "text": "Help"}));
    person.message(
        json!({"id": 2, "role": "exec", "exec": {"command": "ls", "status": "exited", "exit_code": 3}}),
    );
    let sees = person.sees().replace(' ', "");
    assert!(sees.contains("›Help") && sees.contains("退出码3") && sees.contains("laptop在线"), "{sees}");
    let sees = person.control('k').sees().replace(' ', "");
    assert!(sees.contains("新建会话") && sees.contains("Enter选择·Esc关闭"), "{sees}");
    // Typing finds the displayed words.
    person.types("撤回");
    assert!(person.sees().replace(' ', "").contains("撤回上一条消息"));
    person.key(KeyCode::Esc).key(KeyCode::F(1));
    assert!(person.sees().replace(' ', "").contains("按任意其他键关闭"));
}
