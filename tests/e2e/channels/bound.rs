//! A messenger's group that is bound to a Sandbridge group: its members work in one log, from the messenger and from the page.

use serde_json::{Value, json};
use tests::eventually;
use tests::http::Client;
use tests::platforms::telegram::{Message, Telegram};

use super::asking::{ALICE, GROUP, OTHER, in_group};
use super::journey::{add, connected, link};
use super::messenger::arguments;
use super::{PATIENCE, channel, reads, text};
use crate::groups::{Team, echo};
use crate::http_tools::OPEN;

/// Bob's account on Telegram.
const BOB: i64 = 4002;

/// The number of times that the server is killed, each time right after a message was posted.
const KILLS: usize = 4;

/// A team whose log is shown in the messenger's group; alice and bob are linked.
fn bound(telegram: &Telegram) -> Team {
    telegram.unhurried();
    let team = Team::with(echo, OPEN);
    add(&team.world, telegram);
    let (options, secrets) = arguments(telegram);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let share =
        [&["channel", "add", "phone", "telegram", "--shared", "--secrets-stdin"], &options[..]].concat();
    let shared = team.world.alice.with_stdin(&share, secrets.as_bytes());
    assert_eq!(shared.code, 0, "{shared:?}");
    connected(&team.world);
    link(&team.world, telegram, 0);
    let code = team.bob.json(&["channel", "link", "phone", "--json"])["code"].as_str().unwrap().to_owned();
    telegram.say(BOB, &code);
    reads(telegram, "You are linked as bob");
    in_group(telegram, ALICE, "/group use Work", json!({}));
    reads(telegram, "belongs to the group \"Work\" now");
    team
}

/// The messages in the messenger's group.
fn shown(telegram: &Telegram) -> Vec<String> {
    telegram.messages().iter().filter(|message| message.chat == GROUP).map(text).collect()
}

/// The labels of a message's buttons, each with the data that a press on it sends.
fn buttons(message: &Message) -> Vec<(String, String)> {
    let rows = message.parameters["reply_markup"]["inline_keyboard"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let buttons = rows.iter().flat_map(|row| row.as_array().unwrap());
    buttons.map(|button| (text(&button["text"]), text(&button["callback_data"]))).collect()
}

/// Presses the button with this label, as a person.
fn presses(telegram: &Telegram, person: i64, message: &Message, label: &str) {
    let buttons = buttons(message);
    let (_, data) = buttons.iter().find(|(known, _)| known == label).unwrap();
    telegram.press(person, message, data);
}

#[test]
fn a_messengers_group_shares_the_log_of_its_bound_group_over_kills() {
    let telegram = Telegram::start();
    let mut team = bound(&telegram);
    in_group(&telegram, ALICE, "@coder hello", json!({}));
    reads(&telegram, "@coder: coder heard: @coder hello");
    in_group(&telegram, BOB, "@writer hello", json!({}));
    reads(&telegram, "@writer: writer heard: @writer hello");
    for round in 0..KILLS {
        team.post(&team.bob, &format!("round {round} from the page"));
        in_group(&telegram, ALICE, &format!("@coder round {round}"), json!({}));
        team.world.kill_and_restart(OPEN);
        connected(&team.world);
        reads(&telegram, &format!("@coder: coder heard: @coder round {round}"));
    }
    let last = reads(&telegram, &format!("bob: round {} from the page", KILLS - 1));
    assert_eq!(last.chat, GROUP);
    eventually("everything is sent", PATIENCE, || (channel(&team.world)["waiting"] == 0).then_some(()));
    let texts = shown(&telegram);
    let mut doubled = 0;
    for round in 0..KILLS {
        let heard = format!("@coder: coder heard: @coder round {round}");
        for wanted in [format!("bob: round {round} from the page"), heard] {
            let count = texts.iter().filter(|text| **text == wanted).count();
            assert!(count >= 1, "{wanted}: {texts:?}");
            doubled += count - 1;
        }
        let posted = |text: &str| {
            team.all_entries()
                .iter()
                .filter(|entry| entry["text"] == text && entry["kind"] == "person")
                .count()
        };
        assert_eq!(posted(&format!("@coder round {round}")), 1);
    }
    // Telegram has no idempotency keys: a message whose outcome is unknown after a kill is sent again, and marked.
    let status = channel(&team.world);
    assert!(doubled <= usize::try_from(status["unsure"].as_u64().unwrap()).unwrap(), "{status}: {texts:?}");
    assert!(
        !texts.iter().any(|text| text.starts_with("alice:") || text.starts_with("bob: @writer")),
        "{texts:?}"
    );
    assert_eq!(team.calls().len(), 2 + KILLS, "{:?}", team.calls());
    let chats = team.world.alice.json(&["chat", "list", "--json"]).to_string();
    assert!(!chats.contains("round"), "no message started a separate chat: {chats}");
}

#[test]
fn a_stranger_in_a_bound_group_can_ask_nobody_and_members_answer_gates_there() {
    let telegram = Telegram::start();
    let team = bound(&telegram);
    let of_alice = json!({"id": ALICE, "is_bot": false, "first_name": "alice", "username": "alice"});
    let before = json!({"message_id": 1, "date": 1_780_000_000, "from": of_alice, "chat": {"id": GROUP, "type": "supergroup"}, "text": "@coder crossed"});
    let forgeries = [
        json!({}),
        json!({"sender_chat": {"id": GROUP, "type": "supergroup", "title": "Work"}}),
        json!({"forward_origin": {"type": "user", "date": 1_780_000_000, "sender_user": of_alice}}),
        json!({"reply_to_message": before}),
        json!({"via_bot": {"id": ALICE, "is_bot": true, "first_name": "alice"}}),
    ];
    for forged in &forgeries {
        in_group(&telegram, OTHER, "@coder crossed", forged.clone());
    }
    in_group(&telegram, OTHER, "/group off", json!({}));
    // A mention inside a quotation asks nobody either.
    let of_other = json!({"id": OTHER, "is_bot": false, "first_name": "alice"});
    let quoted = json!({"message_id": 2, "date": 1_780_000_000, "from": of_other, "chat": {"id": GROUP, "type": "supergroup"}, "text": "well\n@coder crossed"});
    in_group(&telegram, ALICE, "what does this mean?", json!({"reply_to_message": quoted}));
    reads(&telegram, "nobody was asked");

    let run = team.begin("1. @coder: write [gate]\n2. @coder: end\n");
    let asked = text(&reads(&telegram, "The chain story asks"));
    assert!(asked.contains("Step 1 (@coder) is done"), "{asked}");
    let gate = asked.split_once("/edit ").and_then(|(_, rest)| rest.split_once(' ')).unwrap().0.to_owned();
    in_group(&telegram, OTHER, &format!("/approve {gate}"), json!({}));
    in_group(&telegram, BOB, &format!("/redo {gate} make it longer"), json!({}));
    // Bob may not ask alice's agent, so his change request is refused.
    reads(&telegram, "has not let you ask it");
    in_group(&telegram, BOB, &format!("/approve {gate}"), json!({}));
    reads(&telegram, &format!("bob answered question {gate}: approve."));
    in_group(&telegram, ALICE, &format!("/stop {gate}"), json!({}));
    reads(&telegram, "bob answered it before");
    team.until_run(&run, "done");
    reads(&telegram, "The chain story is done.");

    team.alice(&["remove-person", &team.group, "bob"]);
    in_group(&telegram, BOB, "am I still here?", json!({}));
    reads(&telegram, "You are not in the group");
    team.world.run(&["group", "delete", &team.group]);
    in_group(&telegram, ALICE, "@coder and I?", json!({}));
    eventually("everything is read", PATIENCE, || (telegram.unconfirmed() == 0).then_some(()));
    in_group(&telegram, ALICE, "/group on", json!({}));
    reads(&telegram, "This group is on");
    let asked: Vec<Value> =
        team.world.model.asked().iter().map(|asked| json!(asked.last_of_user())).collect();
    let heard = |words: &str| asked.iter().any(|text| text.as_str().unwrap().contains(words));
    assert!(!heard("am I still here") && !heard("and I?"), "{asked:?}");
    let is_command = |text: &str| text.lines().last().unwrap_or_default() == "@coder crossed";
    assert!(
        !asked.iter().any(|text| is_command(text.as_str().unwrap())),
        "a stranger asked an agent: {asked:?}"
    );
}

#[test]
fn members_see_where_the_log_is_shown_and_an_owner_ends_that() {
    let telegram = Telegram::start();
    let team = bound(&telegram);
    let path = format!("/groups/{}/conversations", team.group);
    let (alice, bob) = (Client::login(&team.world.server, "alice"), Client::login(&team.world.server, "bob"));
    let shown_to = |client: &Client| client.call("GET", &path).json();
    let of_bob = shown_to(&bob);
    let is_as = |what: &Value, may_end: bool| {
        what["channel"] == "phone"
            && what["messenger"] == "Telegram"
            && what["conversation"] == json!(GROUP.to_string())
            && what["bound_by"] == "alice"
            && what["may_end"] == may_end
    };
    assert!(is_as(&of_bob[0], false) && is_as(&shown_to(&alice)[0], true), "{of_bob}");
    let one = format!("{path}/{}", of_bob[0]["id"].as_str().unwrap());
    team.world.server.person("eve");
    let eve = Client::login(&team.world.server, "eve");
    assert_eq!((eve.call("GET", &path).status, eve.call("DELETE", &one).status), (404, 404));
    let refused = bob.call("DELETE", &one);
    assert_eq!(refused.status, 403, "{refused:?}");

    team.alice(&["add-person", &team.group, "bob", "--access", "owner"]);
    assert_eq!(bob.call("DELETE", &one).status, 204);
    reads(&telegram, "no longer belongs to its group: bob ended that.");
    assert_eq!((shown_to(&alice), bob.call("DELETE", &one).status), (json!([]), 404));
    let trail = alice.call("GET", "/audit?action=channel.group.unbind&limit=9").json();
    let target = format!("phone in {GROUP}: group {}", team.group);
    assert_eq!(
        (&trail["entries"][0]["user"], &trail["entries"][0]["target"]),
        (&json!("bob"), &json!(target)),
        "{trail}"
    );
    // Nothing reaches the log from the messenger's group, and nothing of the log is shown there.
    in_group(&telegram, ALICE, "@coder are you there?", json!({}));
    team.post(&team.bob, "among ourselves");
    in_group(&telegram, ALICE, "/group on", json!({}));
    reads(&telegram, "This group is on");
    let texts = shown(&telegram);
    assert!(!texts.iter().any(|text| text.contains("among ourselves")), "{texts:?}");
    assert!(team.all_entries().iter().all(|entry| entry["text"] != "@coder are you there?"));
}

#[test]
fn gates_have_buttons_and_each_answer_is_reported_once_over_kills() {
    let telegram = Telegram::start();
    let mut team = bound(&telegram);
    let mut doubled = 0;
    for round in 0..KILLS {
        let run = team.begin("1. @coder: write [gate]\n2. @coder: end\n");
        let gate = team.until_run(&run, "asking")["gate"].clone();
        let id = &gate["id"];
        let asked = reads(&telegram, &format!("Or mention me and write: /edit {id} TEXT, /redo {id} TEXT"));
        let labels: Vec<String> = buttons(&asked).into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, ["Approve", "Do it again", "Stop the run"]);
        assert!(buttons(&asked).iter().all(|(_, data)| data.len() <= 64), "{asked:?}");
        let refused = telegram.answered().len();
        for (label, _) in buttons(&asked) {
            presses(&telegram, OTHER, &asked, &label);
        }
        let told = eventually("the stranger gets a reply", PATIENCE, || {
            Some(telegram.answered().split_off(refused)).filter(|told| told.len() == labels.len())
        });
        assert!(told.iter().all(|(_, text)| text.contains("for somebody else")), "{told:?}");
        assert_eq!(team.run(&run)["gate"], gate, "a stranger changes nothing");
        // One gate is answered in the messenger, and one elsewhere.
        if round % 2 == 0 {
            presses(&telegram, BOB, &asked, "Approve");
            eventually("the press is accepted", PATIENCE, || team.run(&run)["gate"].is_null().then_some(()));
        } else {
            team.answer(&team.bob, &gate, &["approve"]);
        }
        team.world.kill_and_restart(OPEN);
        connected(&team.world);
        let line = format!("bob answered question {id}: approve.");
        let count = || shown(&telegram).iter().filter(|text| **text == line).count();
        eventually("the conversation gets a message", PATIENCE, || (count() > 0).then_some(()));
        team.until_run(&run, "done");
        eventually("everything is sent", PATIENCE, || (channel(&team.world)["waiting"] == 0).then_some(()));
        doubled += count() - 1;
        let asked = telegram.messages().into_iter().find(|message| message.id == asked.id).unwrap();
        assert!(buttons(&asked).is_empty() && text(&asked).ends_with(&format!("→ {line}")), "{asked:?}");
    }
    // Telegram has no idempotency keys: a message whose outcome is unknown after a kill is sent again, and marked.
    let status = channel(&team.world);
    assert!(doubled <= usize::try_from(status["unsure"].as_u64().unwrap()).unwrap(), "{status}");
}
