//! What agents ask the terminal for.

use api::words::TuiState;

use super::super::wire::Control;
use super::*;

/// The last of the effects, which reports the end of an action.
fn end(effects: &[Effect]) -> (TuiState, &str) {
    match effects.last() {
        Some(Effect::EndControl { state, text, .. }) => (state.clone(), text),
        other => panic!("not the end: {other:?}"),
    }
}

impl Person {
    /// The agent of a chat asks the terminal with this id for an action; returns the request that takes it.
    fn is_asked(&mut self, client: ClientId, chat: &str, action: Value) -> Vec<Effect> {
        self.wanted();
        self.told(json!({"type": "tui_control", "client_id": client, "call_id": "7", "chat_id": chat, "action": action}));
        self.wanted()
    }

    /// The agent of a chat asks this terminal for an action, which the server lets it take; returns what follows.
    fn is_led_from(&mut self, chat: &str, action: Value) -> Vec<Effect> {
        let asked = self.is_asked(OWN, chat, action);
        let [Effect::TakeControl(control)] = &asked[..] else { panic!("it is not taken: {asked:?}") };
        self.takes(control.clone())
    }

    fn is_led(&mut self, action: Value) -> Vec<Effect> {
        self.is_led_from("c1", action)
    }

    fn takes(&mut self, control: Box<Control>) -> Vec<Effect> {
        self.happens(Event::Done(Effect::TakeControl(control), Ok(Answer::Done)));
        self.wanted()
    }

    fn is_refused(&mut self, action: Value, why: &str) {
        let before = self.sees();
        let effects = self.is_led(action);
        assert_eq!(effects.len(), 1, "{effects:?}");
        let (state, text) = end(&effects);
        assert!(state == TuiState::Refused && text.contains(why), "{text}");
        assert_eq!(self.sees(), before, "nothing is changed, and nothing is said");
    }
}

fn show(view: &str) -> Value {
    json!({"kind": "show", "view": view})
}

fn write(text: &str) -> Value {
    json!({"kind": "write", "text": text})
}

#[test]
fn only_the_terminal_that_is_asked_acts_and_only_once_the_server_lets_it() {
    let mut person = Person::new(80, 24);
    assert_eq!(person.is_asked(ClientId::of(1), "c1", show("chats")), []);
    let asked = person.is_asked(OWN, "c1", show("chats"));
    let [Effect::TakeControl(control)] = &asked[..] else { panic!("{asked:?}") };
    assert!(person.state.overlay.is_none(), "not before the server lets it");
    // It is too late, or another window took it: nothing happens, and nobody is told.
    let failure = Failure::other("not_found", "too late");
    person.happens(Event::Done(Effect::TakeControl(control.clone()), Err(failure)));
    assert!(
        person.wanted().is_empty() && person.state.overlay.is_none() && !person.sees().contains("too late")
    );
    let done = person.takes(control.clone());
    assert_eq!(end(&done), (TuiState::Done, "the list is open"));
    let sees = person.sees();
    assert!(sees.contains("Ctrl+E rename") && sees.contains("the agent opened the list of chats"), "{sees}");
}

#[test]
fn every_view_opens_and_is_not_chosen_from_by_a_key_that_was_on_its_way() {
    for (view, shown) in [
        ("chats", "Second"),
        ("runners", "Where commands run"),
        ("models", "Model of this chat"),
        ("commands", "Switch runner"),
        ("help", "Keys"),
    ] {
        let mut person = Person::new(90, 30);
        let done = person.is_led(show(view));
        assert_eq!(end(&done).0, TuiState::Done, "{view}");
        assert!(
            person.sees().contains(shown) && person.sees().contains("the agent opened"),
            "{}",
            person.sees()
        );
        assert_eq!(person.key(KeyCode::Enter).wanted(), [], "{view}");
        assert!(person.state.overlay.is_some(), "{view}");
    }
    let mut person = Person::new(90, 30);
    person.is_led(show("runners"));
    person.waits(600).key(KeyCode::Down).key(KeyCode::Enter);
    assert!(matches!(person.wanted()[..], [Effect::Use { place: Some(_) }]), "the person chooses");
    person.is_refused(show("approval"), "does not know this view");
    person.is_refused(json!({"kind": "approve"}), "does not know this action");
}

#[test]
fn a_window_and_a_text_and_an_answer_in_progress_are_left_to_the_person() {
    let taking = [
        show("help"),
        write("x"),
        json!({"kind": "new_chat"}),
        json!({"kind": "open_chat", "chat_id": "c2"}),
    ];
    let mut person = Person::new(80, 24);
    person.types("a draft").waits(5000);
    for action in taking.clone() {
        person.is_refused(action, "is writing");
    }
    assert_eq!(person.state.input.text(), "a draft");
    person.control('u');
    person.is_refused(write("x"), "is writing");
    person.waits(2000).control('o');
    for action in
        taking.into_iter().chain([json!({"kind": "scroll_to_start"}), json!({"kind": "scroll_to_end"})])
    {
        person.is_refused(action, "a window is open");
    }
    person.key(KeyCode::Esc).message(asking(7, "rm -r x")).waits(1000).key(KeyCode::Tab);
    person.is_refused(show("chats"), "answering a question");
    assert_eq!(person.state.focus, Focus::Asking);
}

#[test]
fn a_text_is_put_into_the_input_and_sent_by_the_person_only() {
    let mut person = Person::new(80, 24);
    for text in ["!rm -r x", " \n/approval full", " "] {
        person.is_refused(write(text), if text == " " { "empty" } else { "by the user only" });
    }
    person.is_refused(write(&"x".repeat(crate::limits::INPUT_MAX_BYTES + 1)), "too long");
    let done = person.is_led(write("Dear \u{1b}[2J all,\nhello"));
    assert_eq!(end(&done).0, TuiState::Done);
    assert_eq!((done.len(), person.state.input.text().as_str()), (1, "Dear \u{fffd}[2J all,\nhello"));
    assert!(person.sees().contains("nothing is sent before you press Enter"), "{}", person.sees());
    assert_eq!(person.key(KeyCode::Enter).wanted(), [], "a key that was on its way sends nothing");
    person.is_refused(write("more"), "is writing");
    person.waits(600).key(KeyCode::Enter);
    assert_eq!(person.wanted(), [post("Dear \u{fffd}[2J all,\nhello")]);
}

#[test]
fn another_chat_is_opened_and_the_agent_does_not_follow_the_person_elsewhere() {
    let open = |chat: &str| json!({"kind": "open_chat", "chat_id": chat});
    let mut person = Person::new(80, 24);
    assert_eq!(end(&person.is_led(open("c1"))), (TuiState::Done, "that chat is open already"));
    let done = person.is_led(open("c2"));
    assert_eq!((person.state.chat.as_str(), end(&done).0), ("c2", TuiState::Done));
    assert!(done.contains(&Effect::LoadMessages { chat: "c2".to_owned(), asked: 0 }), "{done:?}");
    assert!(person.sees().contains("the agent opened the chat “Second”"), "{}", person.sees());
    // The same turn goes on in the chat that it opened; the agent of that chat may act there too.
    assert_eq!(end(&person.is_led(json!({"kind": "scroll_to_end"}))).0, TuiState::Done);
    assert_eq!(end(&person.is_led_from("c2", json!({"kind": "scroll_to_end"}))).0, TuiState::Done);
    // Once the person writes there, the chat is theirs.
    person.waits(600).types("hi").key(KeyCode::Enter);
    person.is_refused(open("c1"), "gone to another chat");

    // A person who went elsewhere by themselves is left alone.
    let mut person = Person::new(80, 24);
    person.control('o').waits(600).key(KeyCode::Down).key(KeyCode::Enter);
    assert_eq!(person.state.chat, "c2");
    person.is_refused(json!({"kind": "unfold_cards"}), "gone to another chat");
}

#[test]
fn a_new_chat_and_the_groups_are_reported_once_they_are_there() {
    let chat = json!({"id": "c3", "title": "", "updated_at": 9});
    let mut person = Person::new(80, 24);
    assert_eq!(person.is_led(json!({"kind": "new_chat"})), [Effect::NewChat]);
    person.done(Effect::NewChat, chat.clone());
    assert_eq!(end(&person.wanted()), (TuiState::Done, "a new chat is open"));
    assert!(person.state.chat == "c3" && person.sees().contains("the agent opened a new chat"));

    // The person began to write in the meantime.
    let mut person = Person::new(80, 24);
    person.is_led(json!({"kind": "new_chat"}));
    person.types("wait").done(Effect::NewChat, chat);
    let effects = person.wanted();
    assert_eq!((end(&effects).0, effects.len(), person.state.chat.as_str()), (TuiState::Refused, 1, "c1"));
    person.happens(Event::Done(effects[0].clone(), Err(Failure::other("not_found", "too late"))));
    assert!(!person.sees().contains("too late"), "nobody waits for the answer any more");

    let mut person = Person::new(80, 24);
    assert_eq!(person.is_led(show("groups")), [Effect::LoadGroups]);
    person.happens(Event::Done(Effect::LoadGroups, Err(Failure::other("internal", "it broke"))));
    assert_eq!(end(&person.wanted()), (TuiState::Refused, "it broke"));
    person.is_led(show("groups"));
    person.done(Effect::LoadGroups, json!([]));
    assert_eq!(end(&person.wanted()), (TuiState::Refused, "the user is in no group"));
    person.is_led(show("groups"));
    person.done(Effect::LoadGroups, json!([{"id": 3, "title": "Work", "access": "member", "lead": null, "people": [], "agents": [], "updated_at": 1}]));
    assert_eq!(end(&person.wanted()).0, TuiState::Done);
    assert!(person.sees().contains("Work"), "{}", person.sees());
}

#[test]
fn cards_are_folded_and_unfolded_and_messages_are_scrolled() {
    let output: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let mut person = Person::new(60, 20);
    assert_eq!(end(&person.is_led(json!({"kind": "unfold_cards"}))).1, "there was nothing to change");
    person.message(json!({"id": 7, "text": output, "agent": {"kind": "tool", "tool": "Shell", "hint": "x", "status": "done"}}));
    assert_eq!(end(&person.is_led(json!({"kind": "fold_cards"}))).1, "there was nothing to change");
    assert_eq!(end(&person.is_led(json!({"kind": "unfold_cards"}))).1, "all cards are unfolded");
    assert!(person.sees().contains("line 39"), "{}", person.sees());
    assert_eq!(end(&person.is_led(json!({"kind": "scroll_to_start"}))).0, TuiState::Done);
    assert!(person.sees().contains("line 0") && !person.sees().contains("line 39"), "{}", person.sees());
    assert_eq!(end(&person.is_led(json!({"kind": "scroll_to_end"}))).0, TuiState::Done);
    assert!(person.state.scroll == Scroll::End && person.sees().contains("line 39"));
    assert_eq!(end(&person.is_led(json!({"kind": "fold_cards"}))).1, "all cards are folded");
    assert!(!person.sees().contains("line 20"), "{}", person.sees());
}

#[test]
fn the_notes_speak_the_persons_language_and_a_storm_leaves_few_of_them() {
    let mut person = Person::new(80, 24);
    person.state.theme = Theme { language: api::language::Language::Chinese, ..Theme::plain() };
    person.is_led(json!({"kind": "open_chat", "chat_id": "c2"}));
    assert!(person.sees().contains("智能体打开了会话“Second”"), "{}", person.sees());
    for _ in 0..100 {
        person.is_led(json!({"kind": "scroll_to_end"}));
    }
    assert_eq!(person.state.notes.len(), crate::limits::NOTES);
}
