//! The window of a group.

use api::words::GateReply;

use super::*;

const MEMBER: &str = "member";

fn entry(id: i64, kind: &str, author: &str, text: &str) -> Value {
    json!({"id": id, "kind": kind, "author": author, "text": text, "asks": [], "call_id": null, "created_at": id})
}

fn news(access: &str, entries: Vec<Value>, more: bool) -> Value {
    let agent = |handle: &str, runner: &str, may_ask: bool| {
        json!({"handle": handle, "owner": "alice", "runner": runner, "online": true, "approval": "ask",
            "model": null, "persona": "", "chat_id": null, "may_ask": may_ask, "grants": []})
    };
    json!({
        "view": {"id": 3, "title": "Work", "access": access, "lead": null, "people": [], "updated_at": 1,
            "agents": [agent("coder", "gpu-box", true), agent("critic", "laptop", true), agent("other", "desk", false)]},
        "entries": {"entries": entries, "more": more},
        "calls": [],
        "run": null,
    })
}

fn with_gate(mut news: Value, gate: i64) -> Value {
    let step = |agent: &str, state: &str, output: &str| {
        json!({"agent": agent, "instruction": "x", "state": state, "attempts": 1, "runner": "gpu-box", "call_id": null,
            "output": output, "error": "", "received": null, "tokens": 0, "cost_micro_usd": 0, "begun_at": null,
            "ended_at": null})
    };
    news["run"] = json!({"id": 7, "chain": "story", "request": "x", "begun_by": "bob", "state": "asking",
        "steps": [step("coder", "asking", "a draft\nof it"), step("critic", "pending", "")],
        "gate": {"id": gate, "step": 0, "attempt": 1, "kind": "review", "question": "Step 1 of @coder is done. Go on?",
            "replies": ["approve", "edit", "redo", "stop"]},
        "budget": null, "tokens": 1, "cost_micro_usd": 0, "created_at": 1, "ended_at": null});
    news
}

const LOAD: Effect = Effect::LoadGroup { group: 3 };

/// A simulated person with the window of group 3 open.
fn in_group(news: Value) -> Person {
    let mut person = Person::new(80, 24);
    person.control('g');
    assert_eq!(person.wanted(), [Effect::LoadGroups]);
    let view = news["view"].clone();
    person.done(Effect::LoadGroups, json!([view]));
    assert!(person.sees().contains("Work") && person.sees().contains("@coder @critic"), "{}", person.sees());
    person.key(KeyCode::Enter);
    assert_eq!(person.wanted(), [LOAD]);
    person.done(LOAD, news);
    person
}

fn gate(reply: GateReply, text: Option<&str>) -> Effect {
    Effect::AnswerGate { group: 3, gate: 9, reply, text: text.map(str::to_owned) }
}

#[test]
fn the_log_shows_authors_and_machines_and_a_message_mentions_by_completion() {
    let hostile = "\u{1b}[2J**bold**\u{202e}";
    let entries = vec![
        entry(1, "person", "bob", "hello\nthere"),
        entry(2, "agent", "coder", hostile),
        entry(3, "server", "", "The chain story is done."),
    ];
    let mut person = in_group(news(MEMBER, entries, false));
    let sees = person.sees();
    for part in ["bob", "hello", "there", "@coder · gpu-box", "bold", "The chain story is done."] {
        assert!(sees.contains(part), "{part}: {sees}");
    }
    person.types("hi @c");
    assert!(person.sees().contains("@coder gpu-box  @critic laptop"), "{}", person.sees());
    person.key(KeyCode::Down).key(KeyCode::Tab).types("look").key(KeyCode::Enter);
    let post =
        Effect::PostToGroup { group: 3, text: "hi @critic look".to_owned(), send_id: format!("{OWN}-1") };
    assert_eq!(person.wanted(), std::slice::from_ref(&post));
    // The message may have arrived: if it is unchanged, it is sent as the same message.
    let lost = Failure { kind: "lost".to_owned(), ..Failure::other("lost", "no answer") };
    person.happens(Event::Done(post.clone(), Err(lost)));
    assert!(person.sees().contains("it cannot arrive twice"), "{}", person.sees());
    person.key(KeyCode::Enter);
    assert_eq!(person.wanted(), std::slice::from_ref(&post));
    let posted =
        json!({"entry": entry(4, "person", "alice", "hi"), "calls": [], "notes": ["nobody was asked"]});
    person.done(post, posted);
    assert!(person.sees().contains("nobody was asked"), "{}", person.sees());
    assert_eq!(person.wanted(), [LOAD]);
    // An address gets no completions, and neither does an agent that may not be asked.
    for text in ["me@c", "@o", "@coder"] {
        person.control('u').types(text);
        assert!(person.state.group.completions().is_empty(), "{text}");
    }
}

#[test]
fn a_gate_is_answered_only_by_keys_that_are_meant_for_it() {
    let mut person = in_group(with_gate(news(MEMBER, Vec::new(), false), 9));
    let sees = person.sees();
    assert!(sees.contains("story, run 7: ? @coder gpu-box › · @critic gpu-box"), "{sees}");
    assert!(
        sees.contains("? Step 1 of @coder is done.")
            && sees.contains("│ a draft")
            && sees.contains("Tab: answer it")
    );
    // Keys still go to the text.
    person.types("as").key(KeyCode::Tab);
    assert_eq!(person.state.group.text, "as");
    person.types("a");
    assert!(person.wanted().is_empty(), "it was not on the screen for long enough");
    person.waits(2_000);
    assert!(
        person.sees().contains("a approve   e edit the output   r do it again   s stop the run"),
        "{}",
        person.sees()
    );
    person.types("m");
    assert!(person.wanted().is_empty(), "this gate does not take it");
    person.types("e");
    assert!(person.sees().contains("› a draft"), "{}", person.sees());
    person.types("!").key(KeyCode::Enter);
    assert_eq!(person.wanted(), [gate(GateReply::Edit, Some("a draft\nof it!"))]);
    person.key(KeyCode::Enter);
    assert!(person.wanted().is_empty(), "it is sent once");
    // Another person answered first.
    let failure = Failure::other("conflict", "the answer was not accepted: bob answered it before");
    person.happens(Event::Done(gate(GateReply::Edit, Some("a draft\nof it!")), Err(failure)));
    assert!(person.sees().contains("bob answered it before"), "{}", person.sees());
    assert_eq!(person.wanted(), [LOAD]);
    // Another gate takes the keys away again.
    person.done(LOAD, with_gate(news(MEMBER, Vec::new(), false), 9));
    person.key(KeyCode::Tab).waits(2_000).types("a");
    assert_eq!(person.wanted(), [gate(GateReply::Approve, None)]);
    person.told(json!({"type": "group", "id": 3}));
    person.done(LOAD, with_gate(news(MEMBER, Vec::new(), false), 10));
    person.types("s");
    assert!(person.wanted().iter().all(|effect| *effect == LOAD), "a key that was meant for the gate before");
}

#[test]
fn a_group_is_read_again_when_it_changes_and_once_at_a_time() {
    let mut person = in_group(news(MEMBER, vec![entry(5, "person", "bob", "five")], true));
    for _ in 0..5 {
        person.told(json!({"type": "group", "id": 3})).told(json!({"type": "group", "id": 4}));
    }
    assert_eq!(person.wanted(), [LOAD]);
    person.done(LOAD, news(MEMBER, vec![entry(6, "person", "bob", "six")], true));
    assert_eq!(person.wanted(), [LOAD], "it changed meanwhile");
    // Scrolled to the top, older messages are read.
    person.done(LOAD, news(MEMBER, vec![entry(6, "person", "bob", "six")], true));
    person.key(KeyCode::PageUp).key(KeyCode::PageUp);
    let older = Effect::LoadOlderEntries { group: 3, before: 6 };
    assert_eq!(person.wanted(), std::slice::from_ref(&older));
    person.done(older, json!({"entries": [entry(1, "person", "bob", "one")], "more": false}));
    assert!(person.sees().contains("one") && person.sees().contains("six"), "{}", person.sees());
    // The text stays while the window is closed, and for each group.
    person.types("unsent").key(KeyCode::Esc);
    assert!(person.state.overlay.is_none() && person.state.has_unsent());
    person.told(json!({"type": "group", "id": 3}));
    assert!(person.wanted().is_empty(), "the window is closed");
    let failure = Failure::other("not_found", "there is no such group");
    person
        .control('g')
        .done(Effect::LoadGroups, json!([news(MEMBER, Vec::new(), false)["view"]]))
        .key(KeyCode::Enter);
    assert!(person.sees().contains("› unsent▏"), "{}", person.sees());
    person.happens(Event::Done(LOAD, Err(failure)));
    assert!(
        person.state.overlay.is_none() && person.sees().contains("not in this group any more"),
        "{}",
        person.sees()
    );
}

#[test]
fn a_reader_reads_and_every_size_of_terminal_is_drawn() {
    let long: Vec<_> =
        (1..100).map(|id| entry(id, "agent", "coder", &"漢字 `code` ".repeat(2_000))).collect();
    let mut person = in_group(with_gate(news("reader", long, true), 9));
    person.types("hello").key(KeyCode::Enter).key(KeyCode::Tab);
    assert!(person.wanted().is_empty() && person.state.group.answering.is_none());
    assert!(person.sees().contains("you may only read this group"), "{}", person.sees());
    for (width, height) in [(1, 1), (2, 3), (5, 40), (200, 2), (80, 24), (13, 7)] {
        person.terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        person.draw();
        person.key(KeyCode::PageUp);
    }
    person.state.theme.language = api::language::Language::Chinese;
    person.terminal = Terminal::new(TestBackend::new(100, 24)).unwrap();
    person.draw();
    assert!(person.sees().replace(' ', "").contains("你在此群组中只能查看"), "{}", person.sees());
}
