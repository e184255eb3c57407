//! Telegram's webhook deliveries: only deliveries with the secret are accepted, each once, and after the webhook is removed, polling continues where
//! the deliveries ended.

use std::collections::HashSet;

use serde_json::{Value, json};
use tests::eventually;
use tests::platforms::telegram::{TOKEN, Telegram};

use super::journey::{add, connected, link};
use super::messenger::Messenger;
use super::{PATIENCE, channel, reads};
use crate::http_tools::OPEN;
use crate::world::World;

/// The number of refused deliveries that the server accepts from one address in a minute, to one channel or to all together.
const REFUSED_PER_MINUTE: usize = 60;

/// Configures the account with this webhook address; an empty one removes the webhook.
fn with_deliveries(world: &World, telegram: &Telegram, address: &str) {
    let (api, deliveries) = (format!("api={}", telegram.url()), format!("deliveries={address}"));
    let add = ["channel", "add", "phone", "telegram", "--secrets-stdin", "--set", &api, "--set", &deliveries];
    let added = world.alice.with_stdin(&add, format!("token={TOKEN}\n").as_bytes());
    assert_eq!(added.code, 0, "{added:?}");
}

/// Delivers until every update was accepted; returns the updates.
fn delivered(telegram: &Telegram) -> Vec<Value> {
    let mut taken = Vec::new();
    eventually("everything is delivered", PATIENCE, || {
        taken.extend(telegram.deliver());
        (telegram.unconfirmed() == 0).then_some(())
    });
    taken
}

#[test]
fn telegram_delivers_to_a_webhook_with_a_secret_and_each_update_counts_once() {
    let mut world = World::with(|asked| tests::Reply::Say(format!("echo: {}", asked.last_of_user())), OPEN);
    let telegram = Telegram::start();
    telegram.unhurried();
    add(&world, &telegram);
    link(&world, &telegram, 0);
    let path = channel(&world)["delivery_path"].as_str().unwrap().to_owned();
    let address = format!("{}{path}", world.server.url());
    with_deliveries(&world, &telegram, &address);
    let (url, secret) = eventually("a webhook is requested", PATIENCE, || telegram.webhook());
    assert_eq!(url, address);
    assert!(secret.len() == 64 && !TOKEN.contains(&secret), "{secret}");
    connected(&world);
    Messenger::say(&telegram, 0, "hello");
    let taken = delivered(&telegram);
    reads(&telegram, "echo: hello");
    // Somebody else knows the address, but not the secret.
    let mut forged = taken[0].clone();
    forged["update_id"] = 999.into();
    forged["message"]["text"] = "forged".into();
    for wrong in ["", "wrong", &secret[1..], &format!("{secret}0"), TOKEN] {
        assert_eq!(Telegram::post(&url, wrong, &forged), Some(401), "{wrong}");
    }
    assert_eq!(Telegram::post(&url, &secret, &"no update".into()), Some(400));
    // Telegram redelivers updates for which it got no response.
    for update in &taken {
        assert_eq!(Telegram::post(&url, &secret, update), Some(200));
    }
    let options = [&["--docker", "off"], OPEN, &world.model.options("openai")[..]].concat();
    let options: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    world.server.kill();
    Messenger::say(&telegram, 0, "while you were away");
    assert!(telegram.deliver().is_empty());
    world.server.restart(&options);
    delivered(&telegram);
    reads(&telegram, "echo: while you were away");
    with_deliveries(&world, &telegram, "");
    eventually("the webhook is removed", PATIENCE, || telegram.webhook().is_none().then_some(()));
    Messenger::say(&telegram, 0, "polled");
    reads(&telegram, "echo: polled");
    // The account accepts no deliveries any more; those during the restart may have used up the limit on refused ones.
    let status = Telegram::post(&url, &secret, &taken[0]);
    assert!(matches!(status, Some(404 | 429)), "{status:?}");
    let echoes = telegram.messages().into_iter().filter(|message| super::text(message).starts_with("echo: "));
    assert_eq!(echoes.count(), 3);
}

#[test]
fn guesses_at_accounts_are_limited_together_and_hold_up_no_genuine_delivery() {
    let world = World::with(|asked| tests::Reply::Say(format!("echo: {}", asked.last_of_user())), OPEN);
    let telegram = Telegram::start();
    telegram.unhurried();
    add(&world, &telegram);
    link(&world, &telegram, 0);
    let path = channel(&world)["delivery_path"].as_str().unwrap().to_owned();
    let address = format!("{}{path}", world.server.url());
    let (ids, update) = (address.rsplit_once('/').unwrap().0, json!({"update_id": 7}));
    // It exists, but polls: it is refused like one that does not exist.
    assert_eq!(Telegram::post(&address, "", &update), Some(404));
    with_deliveries(&world, &telegram, &address);
    let (url, secret) = eventually("a webhook is requested", PATIENCE, || telegram.webhook());
    connected(&world);
    let mut guess = 1_000_000;
    let mut guessed = || {
        guess += 1;
        Telegram::post(&format!("{ids}/{guess}"), &secret, &update).unwrap()
    };
    let statuses: HashSet<u16> = (0..2 * REFUSED_PER_MINUTE).map(|_| guessed()).collect();
    assert_eq!(statuses, HashSet::from([404, 429]), "each id is another one, and the limit is one");
    // From then on, the account that exists cannot be told from one that does not. A guess is earned back each second.
    eventually("a forged delivery is limited like a guess", PATIENCE, || {
        while guessed() != 429 {}
        (Telegram::post(&url, "wrong", &update) == Some(429)).then_some(())
    });
    // The messenger delivers from the same address.
    Messenger::say(&telegram, 0, "hello");
    let taken = delivered(&telegram);
    reads(&telegram, "echo: hello");
    assert_eq!(Telegram::post(&url, &secret, &taken[0]), Some(200));
}
