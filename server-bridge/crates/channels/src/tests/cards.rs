//! Cards, and the people who may answer them.

use api::card::CardReply;
use chats::{Surface, card_of};
use serde_json::{Value, json};
use store::{Message, MessageId, MessageRole, User};
use tests::{Reply, ScriptedModel};

use super::World;
use super::messenger::{Messenger, Shown};
use super::until;

/// A model that sends a card with these controls if a message asks for one, and repeats any other message.
fn sends_card(controls: Value) -> ScriptedModel {
    ScriptedModel::start(move |asked| {
        let said = asked.last_of_user();
        if !said.contains("card, please") {
            return Reply::Say(format!("you chose: {said}"));
        }
        let results = asked.results();
        let id = || results[0].trim_start_matches("the card's id is ").to_owned();
        match results.len() {
            0 => Reply::Call(vec![("card_create", json!({"title": "Deploy *now*?", "style": "warning"}))]),
            1 => {
                let fields = json!([{"kind": "fields", "fields": [{"name": "Branch", "value": "main"}]}]);
                Reply::Call(vec![
                    ("card_add_content", json!({"card": id(), "content": fields})),
                    ("card_add_interactive", json!({"card": id(), "controls": controls})),
                ])
            }
            3 => Reply::Call(vec![("card_send", json!({"card": id()}))]),
            _ => Reply::Say("Choose, please.".to_owned()),
        }
    })
}

fn buttons() -> Value {
    json!([
        {"kind": "button", "name": "yes", "label": "Deploy", "style": "primary"},
        {"kind": "button", "name": "no", "label": "Not now"},
    ])
}

/// Returns the message in a user's newest chat that shows a sent card.
async fn card_message(world: &World, user: &User) -> Message {
    let account = world.store.channel(world.root.id, "desk").await.unwrap();
    let chat = world.store.channel_chat(account.id, "ann", user.id).await.unwrap();
    let (messages, _) = world.store.messages(user.id, &chat, None, 100).await.unwrap();
    messages.into_iter().rfind(|message| card_of(message).is_some()).unwrap()
}

/// Returns the messages that a user wrote in the chat of a message.
async fn said(world: &World, user: &User, shown: &Message) -> Vec<String> {
    let (messages, _) = world.store.messages(user.id, &shown.chat, None, 100).await.unwrap();
    messages
        .into_iter()
        .filter(|message| message.role == MessageRole::User)
        .map(|message| message.text)
        .collect()
}

async fn outcomes(world: &World) -> Vec<String> {
    let audit = world.store.audit(100, None).await.unwrap();
    audit.into_iter().filter(|entry| entry.action == "card.answer").map(|entry| entry.outcome).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_on_a_card_is_its_persons_message_once_and_the_card_shows_it() {
    let world = World::new(sends_card(buttons()), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.link(&world.root, "boss").await;
    world.messenger.says("ann", "ann", "a card, please");
    let card = world.reads("ann", "Deploy *now*?").await;
    assert!(card.text.contains("Branch: main"), "{card:?}");
    assert_eq!(
        card.buttons.iter().map(|button| button.label.as_str()).collect::<Vec<_>>(),
        ["Deploy", "Not now"]
    );
    world.reads("ann", "Choose, please.").await;
    world.rests().await;
    assert_eq!(world.messenger.shown("ann").iter().filter(|shown| !shown.buttons.is_empty()).count(), 1);
    let (yes, no) = (card.buttons[0].token.clone(), card.buttons[1].token.clone());
    // Refused presses: another person with the right token, the wrong message, and a wrong token.
    let account = world.store.channel(world.root.id, "desk").await.unwrap();
    world.store.set_channel_group(&account, "ann", true).await.unwrap();
    world.messenger.presses("boss", &card, &yes);
    world.messenger.presses("mallory", &card, &yes);
    world.messenger.presses("ann", &Shown { id: "other".to_owned(), ..card.clone() }, &yes);
    world.messenger.presses("ann", &card, "0123456789abcdef0123456789abcdef");
    world.rests().await;
    let shown = card_message(&world, &world.ada).await;
    assert_eq!(said(&world, &world.ada, &shown).await, ["a card, please"]);
    assert_eq!(outcomes(&world).await, ["refused: for somebody else"]);
    world.messenger.presses("ann", &card, &yes);
    world.messenger.presses("ann", &card, &yes);
    world.messenger.presses("ann", &card, &no);
    world.reads("ann", "you chose: → Deploy (Deploy now?)").await;
    let outcome = world.reads("ann", "→ Deploy").await;
    assert!(outcome.id == card.id && outcome.buttons.is_empty(), "{outcome:?}");
    world.rests().await;
    assert_eq!(said(&world, &world.ada, &shown).await.len(), 2);
    let answer = card_of(&card_message(&world, &world.ada).await).unwrap().answer.unwrap();
    assert_eq!((answer.label.as_str(), answer.surface.as_str()), ("Deploy", "fake"));
    let outcomes = outcomes(&world).await;
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "ok").count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| outcome.starts_with("refused:")).count(), 3, "{outcomes:?}");
    assert!(world.messenger.press_answers().last().unwrap().contains("already answered"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_answered_by_a_number_without_buttons_and_after_a_restart() {
    let mut world = World::new(sends_card(buttons()), Messenger::without_buttons()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "a card, please");
    let card = world.reads("ann", "Answer with a number:").await;
    assert!(card.text.contains("1 Deploy") && card.text.contains("2 Not now"), "{card:?}");
    world.reads("ann", "Choose, please.").await;
    world.rests().await;
    world.restart().await;
    world.messenger.says("ann", "ann", "2");
    world.reads("ann", "you chose: → Not now").await;
    world.rests().await;
    assert_eq!(outcomes(&world).await, ["ok"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_answered_on_the_page_is_closed_in_the_messenger() {
    let world = World::new(sends_card(buttons()), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "a card, please");
    let card = world.reads("ann", "Deploy *now*?").await;
    world.reads("ann", "Choose, please.").await;
    let shown = card_message(&world, &world.ada).await;
    let reply = |button: &str| CardReply { button: button.to_owned(), ..CardReply::default() };
    let answer = async |user: &User, message: MessageId, reply: CardReply| {
        let answered = world.chats.answer_card(user, &shown.chat, message, &reply, Surface("page")).await;
        answered.map(drop).map_err(|error| error.kind().to_owned())
    };
    assert_eq!(answer(&world.root, shown.id, reply("no")).await, Err("not_found".to_owned()));
    assert_eq!(answer(&world.ada, MessageId(shown.id.0 - 1), reply("no")).await, Err("not_found".to_owned()));
    assert_eq!(answer(&world.ada, shown.id, reply("other")).await, Err("invalid".to_owned()));
    assert_eq!(answer(&world.ada, shown.id, reply("no")).await, Ok(()));
    assert_eq!(answer(&world.ada, shown.id, reply("yes")).await, Err("conflict".to_owned()));
    until("the message shows the answer", async || {
        let now = world.messenger.shown("ann").into_iter().find(|now| now.id == card.id);
        now.filter(|now| now.text.ends_with("→ Not now") && now.buttons.is_empty())
    })
    .await;
    world.messenger.presses("ann", &card, &card.buttons[0].token);
    world.rests().await;
    assert_eq!(said(&world, &world.ada, &shown).await, ["a card, please", "→ Not now (Deploy *now*?)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_gets_no_buttons_and_says_where_it_is_filled_in() {
    let controls = json!([
        {"kind": "input", "name": "why", "label": "Reason", "required": true},
        {"kind": "button", "name": "yes", "label": "Deploy"},
    ]);
    let world = World::new(sends_card(controls), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "a card, please");
    let card = world.reads("ann", "Fill in this card on the server's page").await;
    assert!(card.buttons.is_empty() && card.text.contains("Reason *: ____"), "{card:?}");
    world.reads("ann", "Choose, please.").await;
    world.messenger.says("ann", "ann", "because it is Friday");
    world.reads("ann", "you chose: because it is Friday").await;
}
