//! Tests of Matrix with a real Synapse, over a network that breaks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use guard::Reach;
use platforms::event::What;
use platforms::{Button, Conversation, End, Failure, FileOut, Media, MediaKind, Outgoing, Platform, Styled};
use serde_json::{Value, json};
use tests::platforms::matrix::{Account, Fault, Network, Synapse};

use crate::support::{Memory, Running, made, refused, silent, until};

/// A homeserver, the bot's account, a person, and the bot itself with a breakable network between it and the homeserver.
struct World {
    synapse: Synapse,
    network: Network,
    bot: Account,
    ann: Account,
    platform: Arc<dyn Platform>,
    inbox: Memory,
}

fn here() -> Reach {
    Reach::public(&["127.0.0.1".to_owned()])
}

impl World {
    fn start(configuration: &str) -> Self {
        let synapse = Synapse::start(configuration);
        let (bot, ann, network) = (synapse.account("bot"), synapse.account("ann"), Network::to(&synapse));
        let platform = made("matrix", &json!({"server": network.url(), "token": bot.token}), &here());
        Self { synapse, network, bot, ann, platform, inbox: Memory::default() }
    }

    /// Creates a direct room, and waits until the bot has joined it by itself.
    async fn direct(&self) -> String {
        let room = self.ann.room(&[&self.bot]);
        self.joined(&room).await;
        room
    }

    async fn joined(&self, room: &str) {
        until("the bot has joined", || {
            let members =
                self.ann.call("GET", &format!("client/v3/rooms/{room}/joined_members"), &Value::Null);
            members["joined"].as_object().unwrap().contains_key(&self.bot.id)
        })
        .await;
    }

    fn text(&self, text: &str) -> Outgoing {
        self.platform.render(&Styled::markdown(text), &[]).remove(0)
    }
}

fn conversation(room: &str, is_group: bool) -> Conversation {
    Conversation { id: room.to_owned(), is_group }
}

#[tokio::test]
async fn a_conversation_on_a_real_homeserver() {
    let world = World::start(Synapse::unhurried());
    let (ann, bot, inbox) = (&world.ann, &world.bot, &world.inbox);
    let old = ann.room(&[]);
    ann.say(&old, "@bot:localhost before you came");
    ann.call(
        "PUT",
        &format!("client/v3/profile/{}/displayname", ann.id),
        &json!({"displayname": "Ann\u{202e}\u{200b}!"}),
    );
    let running = Running::start(&world.platform, inbox);
    inbox.until("connected", |held| !held.connected.is_empty() && held.cursor.is_some()).await;
    assert_eq!(inbox.held().connected, ["@bot:localhost"]);

    // In a direct room, messages from before the bot accepted the invitation count too.
    let room = ann.room(&[bot]);
    ann.say(&room, "hello");
    inbox.count(1).await;
    let (event, message) = inbox.messages().remove(0);
    assert_eq!(
        (event.conversation, event.sender.name.as_str(), event.sender.is_bot),
        (conversation(&room, false), "Ann!", false)
    );
    assert_eq!(
        (message.text.as_str(), message.mentions_us, event.sender.id.as_str()),
        ("hello", false, "@ann:localhost")
    );

    // A message appears once, however many times it is sent.
    let answer = world.text("**yes** `&<b>`");
    let direct = conversation(&room, false);
    let key = "ab".repeat(32);
    world.network.fault("/send/m.room.message/", Fault::DoneAndCut);
    assert!(matches!(
        world.platform.send(&direct, &answer, &Value::Null, &key).await,
        Err(Failure::Unknown(_))
    ));
    let sent = world.platform.send(&direct, &answer, &Value::Null, &key).await.unwrap();
    let again = world.platform.send(&direct, &answer, &Value::Null, &key).await.unwrap();
    assert_eq!(sent, again);
    let heard = ann.heard(&room);
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[1]["content"]["formatted_body"], "<strong>yes</strong> <code>&amp;&lt;b&gt;</code>");
    world.platform.edit(&direct, &sent.id, &world.text("no")).await.unwrap();
    assert_eq!(ann.heard(&room)[2]["content"]["m.new_content"]["body"], "no");
    let choices = [Button { label: "Allow".to_owned(), token: "t".to_owned() }];
    let asked = world.platform.render(&Styled::plain("May I?"), &choices).remove(0);
    world.platform.send(&direct, &asked, &Value::Null, &"cd".repeat(32)).await.unwrap();
    assert_eq!(ann.heard(&room)[3]["content"]["body"], "May I?\n\n1. Allow");

    // Sends a reply to the bot, an edit, a bot's notice, and a message in a thread.
    let answer = json!({"msgtype": "m.text", "body": "> <@bot:localhost> yes\n\nwhy?", "m.relates_to": {"m.in_reply_to": {"event_id": sent.id}}});
    let answered = ann.send(&room, "m.room.message", &answer);
    let edit = json!({"msgtype": "m.text", "body": "* how?", "m.new_content": {"msgtype": "m.text", "body": "how?"},
        "m.relates_to": {"rel_type": "m.replace", "event_id": answered}});
    ann.send(&room, "m.room.message", &edit);
    ann.send(&room, "m.room.message", &json!({"msgtype": "m.notice", "body": "beep"}));
    let threaded = json!({"msgtype": "m.text", "body": "aside", "m.relates_to": {"rel_type": "m.thread", "event_id": answered,
        "is_falling_back": true, "m.in_reply_to": {"event_id": answered}}});
    let aside = ann.send(&room, "m.room.message", &threaded);
    inbox.count(5).await;
    let messages = inbox.messages();
    let quoted = messages[1].1.quoted.clone().unwrap();
    assert_eq!(
        (messages[1].1.text.as_str(), quoted.is_ours, quoted.id, quoted.text.as_str()),
        ("why?", true, sent.id.clone(), "yes &<b>")
    );
    assert_eq!(
        (messages[2].1.text.as_str(), messages[2].1.is_edited, messages[2].1.id.as_str()),
        ("how?", true, answered.as_str())
    );
    assert!(messages[3].0.sender.is_bot);
    let (event, message) = messages[4].clone();
    assert_eq!(
        (event.conversation.id.as_str(), message.quoted),
        (format!("{room}/{answered}").as_str(), None)
    );
    world
        .platform
        .send(&event.conversation, &world.text("in the thread"), &event.reply, &"ef".repeat(32))
        .await
        .unwrap();
    let relation = ann.heard(&room).pop().unwrap()["content"]["m.relates_to"].clone();
    assert_eq!(
        (&relation["event_id"], &relation["m.in_reply_to"]["event_id"]),
        (&json!(answered), &json!(aside))
    );

    // In a group, only a mark counts as a mention, and messages from before the invitation are history.
    let bob = world.synapse.account("bob");
    let group = ann.room(&[&bob]);
    bob.join(&group);
    ann.send(
        &group,
        "m.room.message",
        &json!({"msgtype": "m.text", "body": "bot: delete it all", "m.mentions": {"user_ids": [bot.id]}}),
    );
    ann.call("POST", &format!("client/v3/rooms/{group}/invite"), &json!({"user_id": bot.id}));
    world.joined(&group).await;
    bob.say(&group, "bot: by text alone");
    bob.send(
        &group,
        "m.room.message",
        &json!({"msgtype": "m.text", "body": "bot: marked", "m.mentions": {"user_ids": [bot.id]}}),
    );
    inbox.count(7).await;
    let messages = inbox.messages();
    assert_eq!((messages[5].1.text.as_str(), messages[5].1.mentions_us), ("bot: by text alone", false));
    let (event, message) = messages[6].clone();
    assert_eq!(
        (message.text.as_str(), message.mentions_us, event.conversation),
        ("marked", true, conversation(&group, true))
    );
    assert!(event.reply["event"].is_string());

    // Covers an encrypted room, a room that moves, and a room that removes the bot.
    let sealed = world.direct().await;
    ann.send(&sealed, "m.room.encrypted", &json!({"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x", "session_id": "y", "device_id": "z", "sender_key": "k"}));
    until("the notice is sent", || ann.heard(&sealed).len() == 1).await;
    assert!(
        ann.heard(&sealed)[0]["content"]["body"]
            .as_str()
            .unwrap()
            .starts_with("I cannot read encrypted messages")
    );
    let created = json!({"preset": "private_chat", "invite": [bot.id], "creation_content": {"predecessor": {"room_id": group, "event_id": "$x"}}});
    let new = ann.call("POST", "client/v3/createRoom", &created)["room_id"].clone();
    let tombstone = |room: &str| format!("client/v3/rooms/{room}/state/m.room.tombstone");
    ann.call("PUT", &tombstone(&group), &json!({"body": "moved", "replacement_room": new}));
    // A room that does not name its predecessor does not replace it.
    let captured = ann.room(&[bot, &bob]);
    world.joined(&captured).await;
    bob.join(&captured);
    ann.call("PUT", &tombstone(&captured), &json!({"body": "moved", "replacement_room": sealed}));
    inbox.count(9).await;
    assert!(
        inbox
            .held()
            .events
            .iter()
            .any(|event| event.what == What::Removed && event.conversation.id == captured)
    );

    // A direct conversation becomes readable by another person.
    ann.call("POST", &format!("client/v3/rooms/{room}/invite"), &json!({"user_id": bob.id}));
    bob.join(&room);
    let heard = ann.heard(&room).len();
    let secret = FileOut { name: "s".to_owned(), bytes: Bytes::from_static(b"s"), is_image: false };
    let refused = [
        world.platform.send(&direct, &world.text("secret"), &Value::Null, &"02".repeat(32)).await.map(drop),
        world.platform.send_file(&direct, &secret, &Value::Null, &"03".repeat(32)).await.map(drop),
        world.platform.edit(&direct, &sent.id, &world.text("secret")).await,
    ];
    for refused in refused {
        assert!(
            matches!(&refused, Err(Failure::Message(why)) if why == "other people can read this room now"),
            "{refused:?}"
        );
    }
    assert_eq!(ann.heard(&room).len(), heard);
    ann.call("POST", &format!("client/v3/rooms/{room}/kick"), &json!({"user_id": bot.id}));
    inbox.count(10).await;
    let events = inbox.held().events.clone();
    assert!(events.iter().any(|event| event.what == What::Moved { to: new.as_str().unwrap().to_owned() }
        && event.conversation.id == group));
    assert!(events.iter().any(|event| event.what == What::Removed && event.conversation.id == room));
    assert!(matches!(
        world.platform.send(&direct, &world.text("x"), &Value::Null, &"01".repeat(32)).await,
        Err(Failure::Closed(_))
    ));
    running.stop().await;
    let held = inbox.held();
    assert_eq!(held.events.len(), 10, "{:#?}", held.events);
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_by_kills_cuts_and_restarts() {
    let mut world = World::start(Synapse::unhurried());
    let inbox = world.inbox.clone();
    let first = Running::start(&world.platform, &inbox);
    inbox.until("connected", |held| held.cursor.is_some()).await;
    let room = world.direct().await;
    world.ann.say(&room, "0");
    inbox.count(1).await;
    first.stop().await;

    // Sends more messages than one sync contains while the bot is not connected.
    let mut count = 1;
    for _ in 0..70 {
        world.ann.say(&room, &count.to_string());
        count += 1;
    }
    inbox.held().refusals = 1;
    let end = Running::start(&world.platform, &inbox).end().await;
    assert!(matches!(&end, End::Lost(why) if why.contains("the disk is full")), "{end:?}");
    inbox.held().dies_after_commit = true;
    let killed = Running::start(&world.platform, &inbox);
    inbox.count(2).await;
    killed.kill().await;

    let running = Running::keep(&world.platform, &inbox);
    for round in 0..30 {
        world.ann.say(&room, &count.to_string());
        count += 1;
        match round % 5 {
            0 => world.network.cut(),
            1 => world.network.fault("/sync", Fault::DoneAndCut),
            2 => world.network.fault("/sync", Fault::Answer(502, Value::Null)),
            3 => world.network.fault(
                "/sync",
                Fault::Answer(
                    429,
                    json!({"errcode": "M_LIMIT_EXCEEDED", "error": "slow", "retry_after_ms": 1}),
                ),
            ),
            _ => world.network.fault("/joined_members", Fault::Cut),
        }
    }
    inbox.count(count).await;
    world.synapse.restart();
    world.ann.say(&room, &count.to_string());
    count += 1;
    inbox.count(count).await;
    running.stop().await;
    let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    assert_eq!(inbox.texts(), expected);
    assert_eq!(inbox.held().gaps, [""; 0]);

    // A position that the homeserver does not know is reported as a gap, and does not stop the account.
    inbox.held().cursor = Some("nonsense".to_owned());
    let running = Running::start(&world.platform, &inbox);
    inbox.until("the gap is reported", |held| held.gaps.len() == 1).await;
    inbox.until("a new place", |held| held.cursor.as_deref() != Some("nonsense")).await;
    world.ann.say(&room, "after the gap");
    inbox.count(count + 1).await;
    running.stop().await;
}

#[tokio::test]
async fn answers_that_are_too_large_are_asked_for_in_smaller_parts() {
    let world = World::start(Synapse::unhurried());
    let (ann, inbox) = (&world.ann, &world.inbox);
    let running = Running::start(&world.platform, inbox);
    inbox.until("connected", |held| held.cursor.is_some()).await;
    let room = world.direct().await;
    ann.say(&room, "0");
    inbox.count(1).await;
    running.stop().await;
    let too_large = || world.network.fault("/sync", Fault::Lying(17 << 20, b"x".to_vec()));
    for number in 1..8 {
        ann.say(&room, &number.to_string());
    }
    // The syncs with 50 and with 5 events are too large; after the sync with 1 event, the other six are looked up.
    too_large();
    too_large();
    let running = Running::start(&world.platform, inbox);
    inbox.count(8).await;
    running.stop().await;
    let expected: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    assert_eq!((inbox.texts(), inbox.held().gaps.len()), (expected, 0));

    // Even one event is too large: the account continues after it, and reports a gap.
    ann.say(&room, "missed");
    for _ in 0..3 {
        too_large();
    }
    let running = Running::start(&world.platform, inbox);
    inbox.until("the gap is reported", |held| held.gaps.len() == 1).await;
    let cursor = inbox.held().cursor.clone();
    inbox.until("the message after the gap arrives", |held| held.cursor != cursor || held.beats > 2).await;
    ann.say(&room, "after");
    inbox.count(9).await;
    running.stop().await;
    assert_eq!(inbox.texts()[8], "after");

    // Of 9 MB of messages sent while the bot was not connected, the newest are read, in order.
    let long = "x".repeat(60_000);
    for number in 100..250 {
        ann.say(&room, &format!("{number} {long}"));
    }
    too_large();
    let running = Running::start(&world.platform, inbox);
    inbox
        .until("the newest is there", |held| {
            let last = held.events.last().map(|event| &event.what);
            matches!(last, Some(What::Message(message)) if message.text.starts_with("249 "))
        })
        .await;
    running.stop().await;
    let numbers: Vec<usize> = inbox.texts()[9..].iter().map(|text| text[..3].parse().unwrap()).collect();
    assert!(numbers.iter().copied().eq(250 - numbers.len()..250), "{numbers:?}");
    assert!(numbers.len() > 120 && numbers.len() < 150 && inbox.held().gaps.len() == 2, "{numbers:?}");
    assert_eq!(inbox.held().repeated, 0);
}

#[tokio::test]
async fn files_limits_tokens_and_deaf_networks() {
    // This homeserver keeps Synapse's default limits.
    let world = World::start("");
    let (ann, inbox, platform) = (&world.ann, &world.inbox, &world.platform);
    let running = Running::start(platform, inbox);
    inbox.until("connected", |held| held.cursor.is_some()).await;
    let room = world.direct().await;
    let direct = conversation(&room, false);

    let url = ann.upload("a.txt", b"what it holds");
    ann.send(
        &room,
        "m.room.message",
        &json!({"msgtype": "m.file", "body": "a.txt", "url": url, "info": {"size": 1}}),
    );
    inbox.count(1).await;
    let media = inbox.messages()[0].1.media[0].clone();
    assert_eq!((media.kind, media.name.as_str(), media.bytes), (MediaKind::File, "a.txt", Some(1)));
    assert_eq!(platform.fetch(&media, 13).await.unwrap(), "what it holds");
    assert!(matches!(platform.fetch(&media, 12).await, Err(Failure::Message(_))));
    for to in ["http://169.254.169.254/latest", "http://localhost/x", "http://10.0.0.1/"] {
        world.network.fault("/media/download", Fault::Moved(to.to_owned()));
        assert!(matches!(platform.fetch(&media, 100).await, Err(Failure::Message(_))), "{to}");
    }
    world.network.fault("/media/download", Fault::Lying(1 << 40, b"x".to_vec()));
    assert!(matches!(platform.fetch(&media, 100).await, Err(Failure::Message(_))));
    world.network.fault("/media/download", Fault::Lying(50, b"x".to_vec()));
    assert!(matches!(platform.fetch(&media, 100).await, Err(Failure::Away(_))));
    for address in ["http://a.example/x", "mxc://localhost/../../x", "mxc://localhost", "mxc://a/b?c"] {
        let media = Media { handle: json!(address), ..media.clone() };
        assert!(matches!(platform.fetch(&media, 100).await, Err(Failure::Message(_))), "{address}");
    }

    let picture = FileOut {
        name: "../p.png".to_owned(),
        bytes: Bytes::from_static(b"\x89PNG\r\n\x1a\n--"),
        is_image: true,
    };
    let key = "ab".repeat(32);
    world.network.fault("/send/m.room.message/", Fault::Cut);
    assert!(matches!(
        platform.send_file(&direct, &picture, &Value::Null, &key).await,
        Err(Failure::Unknown(_))
    ));
    platform.send_file(&direct, &picture, &Value::Null, &key).await.unwrap();
    let sent = ann.heard(&room).pop().unwrap()["content"].clone();
    assert_eq!((&sent["msgtype"], &sent["body"]), (&json!("m.image"), &json!("p.png")));
    assert_eq!(ann.download(sent["url"].as_str().unwrap()), picture.bytes);

    // A large text is sent in parts that the homeserver accepts, within its rate limit.
    let parts = platform.render(&Styled::markdown(&"**名字** & `<c>` \"q\"\n\n".repeat(12_000)), &[]);
    let mut refusals = 0;
    for (at, part) in parts.iter().take(12).enumerate() {
        match platform.send(&direct, part, &Value::Null, &format!("{at:064x}")).await {
            Ok(_) => {}
            Err(Failure::TooFast { wait_ms }) => {
                // The limit is one message per 5 s, and part of that time has passed.
                assert!((1..=5_000).contains(&wait_ms), "{wait_ms}");
                refusals += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(parts.len() > 12 && refusals > 0, "{} {refusals}", parts.len());
    running.stop().await;

    world.network.fault("/sync", Fault::Answer(429, json!({"errcode": "M_LIMIT_EXCEEDED", "error": "slow"})));
    let end = Running::start(platform, inbox).end().await;
    assert!(matches!(end, End::Wait { ms: 5000, .. }), "{end:?}");
    let looked = world.network.asked("/sync");
    world.network.fault("/sync", Fault::Silent);
    let deaf = Running::start(platform, inbox);
    until("it looks", || world.network.asked("/sync") > looked).await;
    tokio::time::pause();
    let end = tokio::time::timeout(Duration::from_secs(90), deaf.end_at_any_time()).await.unwrap();
    tokio::time::resume();
    assert!(matches!(&end, End::Lost(why) if why.contains("too long")), "{end:?}");

    world.bot.call("POST", "client/v3/logout", &json!({}));
    let why = refused(Running::start(platform, inbox).end().await);
    assert!(why.starts_with("the homeserver refuses the token"), "{why}");
    silent(&why, &world.bot.token);
    assert!(matches!(platform.probe().await, Err(Failure::Account(_))));
}
