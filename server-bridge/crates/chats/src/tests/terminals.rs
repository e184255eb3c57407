//! Agents operate the terminal in which the message of their turn was written.

use agent::approval::Mode;
use api::tui::{ClientId, TuiAction, TuiAnswer};
use api::words::TuiState;
use serde_json::{Value, json};
use store::ChatId;
use tests::{Reply, ScriptedModel};

use super::talk::{Talk, answered_by};
use super::*;
use crate::limits::TUI_CALLS_PER_TURN;
use crate::models::Provider;
use crate::{Author, Error, NewPost};

const OWN: ClientId = ClientId::of(0xada);

/// Asks the terminal for these actions, one after the other, and then ends each turn at once.
fn operates(actions: Vec<Value>) -> ScriptedModel {
    ScriptedModel::start(move |asked| match actions.get(asked.results().len()) {
        Some(action) => Reply::Call(vec![("tui_control", action.clone())]),
        None => Reply::Say("done".to_owned()),
    })
}

impl Talk {
    /// Posts a message that was written in this terminal; returns the message that represents the answer.
    async fn writes(&self, client: Option<ClientId>) -> MessageId {
        let post = NewPost { text: "go", send_id: None, attachments: &[], author: Author::Owner, client };
        self.service.say(&self.user, &self.id, post).await.unwrap().messages[1].id
    }

    /// The error of a terminal's answer to a call, if it is refused.
    fn tells(&self, call: &str, state: TuiState, text: &str) -> Option<&'static str> {
        let answer = TuiAnswer { client_id: OWN, call_id: call.to_owned(), state, text: text.to_owned() };
        self.service.answer_tui(self.user.id, &self.id, &answer).err().map(|error| error.kind())
    }
}

impl Bench {
    /// Waits for the next action that a terminal is asked for; returns the call's id, and the action.
    async fn asked_of_terminal(&mut self) -> (String, TuiAction) {
        loop {
            if let ChatEvent::Control { chat, client, call, action } = self.next_event().await {
                assert_eq!((&chat, client), (&self.chat.id, OWN));
                return (call, action);
            }
        }
    }
}

/// The tool results that the model got.
fn results(model: &ScriptedModel) -> Vec<String> {
    model.asked().pop().unwrap().results()
}

#[tokio::test]
async fn the_terminal_that_wrote_the_message_is_operated_and_nobody_else_answers_for_it() {
    let model =
        operates(vec![json!({"action": "show", "view": "chats"}), json!({"action": "scroll_to_end"})]);
    let mut bench = Bench::played(&model).await;
    let eve = bench.somebody("eve").await;
    let (talk, hers) = (bench.talk(Mode::Plan).await, bench.talk_of(&eve).await);
    let own = bench.other_talk().await;
    let answer = talk.writes(Some(OWN)).await;
    let (call, action) = bench.asked_of_terminal().await;
    assert_eq!(action, TuiAction::Show { view: "chats".into() });
    assert!(model.asked()[0].tools().contains(&"tui_control".to_owned()));
    for other in [&hers, &own] {
        assert_eq!(other.tells(&call, TuiState::Taken, ""), Some("not_found"), "another user, another chat");
    }
    let theirs = TuiAnswer {
        client_id: ClientId::of(1),
        call_id: call.clone(),
        state: TuiState::Taken,
        text: String::new(),
    };
    let refused: Error = talk.service.answer_tui(talk.user.id, &talk.id, &theirs).unwrap_err();
    assert_eq!(refused.kind(), "not_found", "another terminal of the same user");
    assert_eq!(talk.tells("none", TuiState::Taken, ""), Some("not_found"));
    assert_eq!(talk.tells(&call, TuiState::Done, "early"), Some("conflict"));
    assert_eq!(talk.tells(&call, TuiState::Taken, ""), None);
    assert_eq!(talk.tells(&call, TuiState::Taken, ""), Some("conflict"), "two windows do not both act");
    assert_eq!(talk.tells(&call, TuiState::Done, &"é".repeat(301)), Some("invalid"));
    assert_eq!(talk.tells(&call, TuiState::Done, "the list is open"), None);
    assert_eq!(talk.tells(&call, TuiState::Refused, "or not"), Some("not_found"), "the first answer counts");

    let (call, action) = bench.asked_of_terminal().await;
    assert_eq!(action, TuiAction::ScrollToEnd);
    assert_eq!(talk.tells(&call, TuiState::Taken, ""), None);
    assert_eq!(talk.tells(&call, TuiState::Refused, "a window is open\u{1b}[2J"), None);
    // It is neither asked about nor denied, in whatever mode: it changes nothing but the screen.
    assert_eq!(talk.ended(answer).await["agent"]["status"], "done");
    let results = results(&model);
    assert_eq!(results[0], "done: the list is open");
    assert!(results[1].contains("did nothing: a window is open\\u{1b}[2J."), "{results:?}");
    let cards = talk.cards("tui_control").await;
    assert_eq!((&cards[0]["agent"]["hint"], &cards[0]["agent"]["status"]), (&json!("chats"), &json!("done")));
    assert_eq!(cards[1]["agent"]["status"], "failed");
}

#[tokio::test]
async fn a_turn_of_another_client_has_no_such_tool_and_a_call_says_that_no_terminal_asked() {
    let model = operates(vec![json!({"action": "new_chat"})]);
    let bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.writes(None).await;
    assert_eq!(talk.ended(answer).await["agent"]["status"], "done");
    let asked = model.asked();
    assert!(asked.iter().all(|asked| !asked.tools().contains(&"tui_control".to_owned())));
    assert!(results(&model)[0].contains("No terminal asked for this"), "{:?}", results(&model));
    // The next message is written in a terminal: its turn has the tool.
    let answer = talk.writes(Some(OWN)).await;
    talk.ended(answer).await;
    assert!(model.asked().pop().unwrap().tools().contains(&"tui_control".to_owned()));
    // The one after that is not.
    talk.say("go").await;
    assert!(!model.asked().pop().unwrap().tools().contains(&"tui_control".to_owned()));
}

#[tokio::test]
async fn only_the_users_own_chats_are_opened_and_what_is_wrong_reaches_no_terminal() {
    let store = Store::open_in_memory().await.unwrap();
    let name = |name: &str| Name::parse(name).unwrap();
    let eve = store.add_user(&name("eve"), "correct horse", false).await.unwrap();
    let ada = store.add_user(&name("ada"), "correct horse", false).await.unwrap();
    let hers = store.create_chat(eve.id).await.unwrap().id;
    store.rename_chat(eve.id, &hers, "The secret plan").await.unwrap();
    let titled = async |title: &str| {
        let chat = store.create_chat(ada.id).await.unwrap().id;
        store.rename_chat(ada.id, &chat, title).await.unwrap();
        chat
    };
    let (release, _may, _june) =
        (titled("The release").await, titled("Notes of May").await, titled("Notes of June").await);
    let open = |chat: &str| json!({"action": "open_chat", "chat": chat});
    let model = operates(vec![
        open(hers.as_str()),
        open("secret plan"),
        open(ChatId::random().as_str()),
        open(""),
        open("notes"),
        json!({"action": "write", "text": "/approval full"}),
        json!({"action": "write", "text": "a\u{1b}[2J"}),
        json!({"action": "write", "text": "x".repeat(4_001)}),
        json!({"action": "approve"}),
        json!({"action": "show", "view": "keys"}),
        open("RELEASE"),
    ]);
    let mut bench = Bench::with_models(store.clone(), answered_by(&model, Provider::OpenAi)).await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.writes(Some(OWN)).await;
    // The first action that a terminal hears of is the one that is right.
    let (call, action) = bench.asked_of_terminal().await;
    assert_eq!(action, TuiAction::OpenChat { chat_id: release.to_string() });
    assert_eq!(talk.tells(&call, TuiState::Taken, ""), None);
    assert_eq!(talk.tells(&call, TuiState::Done, "the chat is open"), None);
    talk.ended(answer).await;
    let results = results(&model);
    for (result, part) in results.iter().zip([
        "the user has no chat",
        "no chat of the user has the title",
        "the user has no chat",
        "open_chat needs `chat`",
        "2 chats have that title",
        "by the user only",
        "control characters",
        "1 to 4000 characters",
        "unknown variant `approve`",
        "unknown variant `keys`",
        "done: the chat is open",
    ]) {
        assert!(result.contains(part), "{part}: {result}");
    }
}

#[tokio::test]
async fn a_turn_that_is_resumed_has_no_terminal_and_a_cancelled_call_is_withdrawn() {
    let model = operates(vec![json!({"action": "fold_cards"})]);
    let mut bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.writes(Some(OWN)).await;
    let (call, _) = bench.asked_of_terminal().await;
    let bench = bench.restarted(answered_by(&model, Provider::OpenAi)).await;
    let talk = bench.talk(Mode::Full).await;
    assert_eq!(talk.ended(answer).await["agent"]["status"], "done");
    assert_eq!(talk.tells(&call, TuiState::Taken, ""), Some("not_found"));
    assert!(results(&model)[0].contains("No terminal asked for this"), "{:?}", results(&model));
    drop(bench);

    let model = operates(vec![json!({"action": "fold_cards"})]);
    let mut bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.writes(Some(OWN)).await;
    let (call, _) = bench.asked_of_terminal().await;
    assert_eq!(talk.service.cancel(talk.user.id, &talk.id).await.unwrap(), 1);
    assert_eq!(talk.ended(answer).await["agent"]["status"], "cancelled");
    assert_eq!(talk.tells(&call, TuiState::Taken, ""), Some("not_found"), "nothing happens any more");
}

#[tokio::test]
async fn a_storm_of_calls_in_one_turn_is_bounded() {
    let model = operates(vec![json!({"action": "scroll_to_end"}); TUI_CALLS_PER_TURN + 2]);
    let mut bench = Bench::played(&model).await;
    let talk = bench.talk(Mode::Full).await;
    let answer = talk.writes(Some(OWN)).await;
    for _ in 0..TUI_CALLS_PER_TURN {
        let (call, _) = bench.asked_of_terminal().await;
        assert_eq!(talk.tells(&call, TuiState::Taken, ""), None);
        assert_eq!(talk.tells(&call, TuiState::Done, "ok"), None);
    }
    talk.ended(answer).await;
    let results = results(&model);
    assert!(results[..TUI_CALLS_PER_TURN].iter().all(|result| result == "done: ok"), "{results:?}");
    assert!(results[TUI_CALLS_PER_TURN..].iter().all(|result| result.contains("too often")), "{results:?}");
}
