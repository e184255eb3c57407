//! The administrator's chat: only administrators may have one, it reports each event once, and former administrators get nothing.

use std::time::Duration;

use store::{AuditEntry, RunnerName};

use super::messenger::{Fault, Messenger};
use super::{World, echo, until};
use crate::limits::STARTED_AGAIN_MS;
use crate::watch::Watch;

/// Settings for these tests: checks are frequent, a runner counts as offline at once, and no disk counts as nearly full.
pub(super) fn watch() -> Watch {
    Watch { home: None, every: Duration::from_millis(20), away_ms: 0, low_disk_bytes: 0 }
}

/// A world whose administrator gets notices in the conversation `boss`.
async fn watched(messenger: Messenger) -> World {
    let world = World::new(echo(), messenger).await;
    world.link(&world.root, "boss").await;
    world.messenger.says("boss", "boss", "/notices on");
    world.reads("boss", "notices are now sent to this conversation").await;
    world
}

impl World {
    /// Locks a user's logins, as the server's limit does.
    async fn locks(&self, user: &str) {
        let entry = AuditEntry {
            user: Some(user.to_owned()),
            action: "login.locked".to_owned(),
            outcome: "rate_limited".to_owned(),
            target: "192.0.2.1".to_owned(),
            ..AuditEntry::default()
        };
        self.store.append_audit(&entry).await.unwrap();
    }

    fn told(&self, conversation: &str, part: &str) -> usize {
        self.messenger.texts(conversation).iter().filter(|text| text.contains(part)).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_points_one_conversation_at_the_notices_and_others_cannot() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.messenger.says("ann", "ann", "/notices on");
    world.reads("ann", "only administrators get the server's notices").await;
    world.link(&world.root, "boss").await;
    world.link(&world.root, "phone").await;
    for (wish, answer) in [("", "Write /notices on"), ("loud", "Write /notices on"), ("on", "sent to this")] {
        let before = world.messenger.texts("boss").len();
        world.messenger.says("boss", "boss", &format!("/notices {wish}"));
        until(answer, async || {
            world.messenger.texts("boss")[before..].iter().any(|text| text.contains(answer)).then_some(())
        })
        .await;
    }
    world.messenger.says("boss", "group", "/group on");
    world.reads("group", "This group is on").await;
    world.messenger.says("boss", "group", "/notices on");
    world.reads("group", "only in a direct conversation").await;
    let pointed = async || {
        let links = world.channels.list(&world.root).await.unwrap().links;
        links.into_iter().filter(|link| link.notices).map(|link| link.person).collect::<Vec<_>>()
    };
    assert_eq!(pointed().await, ["boss"]);
    let links = world.channels.list(&world.root).await.unwrap().links;
    let id = |person: &str| links.iter().find(|link| link.person == person).unwrap().id;
    world.channels.set_notices(&world.root, id("phone"), true).await.unwrap();
    assert_eq!(pointed().await, ["phone"], "one conversation at most");
    // The owner of an account sees the links of others to it, but cannot change them.
    for (user, link) in [(&world.root, id("ann")), (&world.root, 9_999), (&world.ada, id("phone"))] {
        let refused = world.channels.set_notices(user, link, true).await.unwrap_err();
        assert_eq!(refused.kind(), "not_found", "{refused}");
    }
    let refused = world.channels.set_notices(&world.ada, id("ann"), true).await.unwrap_err();
    assert_eq!(refused.kind(), "forbidden", "{refused}");
    world.messenger.says("phone", "phone", "/notices off");
    world.reads("phone", "no longer sent to this conversation").await;
    assert!(pointed().await.is_empty());
    let audit = world.store.audit(100, None).await.unwrap();
    let noted: Vec<_> = audit
        .iter()
        .filter(|entry| entry.action == "channel.notices")
        .map(|entry| (entry.target.as_str(), entry.outcome.as_str()))
        .collect();
    assert_eq!(noted, [("desk to phone", "off"), ("desk to phone", "on"), ("desk to boss", "on")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thing_is_told_once_though_servers_follow_each_other_and_answers_are_lost() {
    let mut world = watched(Messenger::new()).await;
    let name = RunnerName::parse("laptop").unwrap();
    let runner = world.store.add_runner(world.ada.id, &name).await.unwrap().runner;
    world.store.touch_last_seen(runner).await.unwrap();
    world.messenger.fails([Fault::TakenUnsaid, Fault::LostUnsaid, Fault::Away, Fault::TooFast]);
    world.reads("boss", "• ada: laptop").await;
    world.locks("ada").await;
    world.reads("boss", "Too many wrong passwords").await;
    let started_ms = world.store.now_ms();
    for _ in 0..3 {
        world.restart().await;
        until("the server reports its start", async || (world.told("boss", "has started") > 0).then_some(()))
            .await;
        world.rests().await;
    }
    // Causes a new event: by the time it is reported, the old events would have been reported again if that were possible.
    world.locks("root").await;
    world.reads("boss", "• root").await;
    world.rests().await;
    for (part, wanted) in [("ada: laptop", 1), ("wrong passwords", 2), ("• ada\n", 0), ("• ada", 2)] {
        assert_eq!(world.told("boss", part), wanted, "{part}: {:?}", world.messenger.texts("boss"));
    }
    let windows = world.store.now_ms() / STARTED_AGAIN_MS - started_ms / STARTED_AGAIN_MS + 1;
    let told = i64::try_from(world.told("boss", "has started")).unwrap();
    assert!(told >= 1 && told <= windows, "{told} in {windows}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_before_is_not_told_and_many_things_share_a_message() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.root, "boss").await;
    world.locks("ada").await;
    let locked_ms = world.store.now_ms();
    until("the clock goes on", async || (world.store.now_ms() > locked_ms).then_some(())).await;
    world.messenger.goes_away(true);
    let links = world.channels.list(&world.root).await.unwrap().links;
    world.channels.set_notices(&world.root, links[0].id, true).await.unwrap();
    for number in 0..40 {
        let name = RunnerName::parse(&format!("box{number}")).unwrap();
        let runner = world.store.add_runner(world.ada.id, &name).await.unwrap().runner;
        world.store.touch_last_seen(runner).await.unwrap();
    }
    let account = world.store.channel(world.root.id, "desk").await.unwrap();
    let told = async || world.store.told_notices(links[0].id).await.unwrap().len();
    until("all are reported", async || (told().await == 40).then_some(())).await;
    let waiting = world.store.outbox_waiting(account.id, world.root.id).await.unwrap();
    assert!(waiting < 40, "{waiting}");
    world.messenger.goes_away(false);
    world.rests().await;
    let texts = world.messenger.texts("boss");
    let more = |text: &String| -> usize {
        let rest = text.split_once("… and ").map_or("0", |(_, rest)| rest);
        text.matches('•').count() + rest.trim_end_matches(" more").parse::<usize>().unwrap()
    };
    let counted: usize = texts.iter().filter(|text| text.contains("offline for a while")).map(more).sum();
    assert_eq!(counted, 40, "{texts:?}");
    assert_eq!(world.told("boss", "wrong passwords"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_no_administrator_any_more_or_no_longer_linked_gets_nothing_more() {
    let world = World::new(echo(), Messenger::new()).await;
    world.link(&world.ada, "ann").await;
    world.store.change_user("ada", Some(true), None).await.unwrap();
    world.messenger.says("ann", "ann", "/notices on");
    world.reads("ann", "notices are now sent to this conversation").await;
    // One notice waits to be sent when she is demoted.
    world.messenger.goes_away(true);
    world.locks("root").await;
    let lanes = async || world.store.outbox_lanes(9).await.unwrap().len();
    until("a notice waits", async || (lanes().await == 1).then_some(())).await;
    world.store.change_user("ada", Some(false), None).await.unwrap();
    // The messenger stays away until the notice is given up: an attempt that began before may still send it.
    until("the notice is given up", async || (lanes().await == 0).then_some(())).await;
    world.messenger.goes_away(false);
    world.rests().await;
    assert!(world.store.notice_links().await.unwrap().is_empty());
    assert_eq!(world.told("ann", "wrong passwords"), 0, "{:?}", world.messenger.texts("ann"));
    // Once she is an administrator again, she gets new notices; without her link she gets none.
    world.store.change_user("ada", Some(true), None).await.unwrap();
    world.locks("ada").await;
    world.reads("ann", "wrong passwords").await;
    let link = world.channels.list(&world.ada).await.unwrap().links.remove(0).id;
    world.channels.unlink(&world.ada, link).await.unwrap();
    assert!(world.store.notice_links().await.unwrap().is_empty());
    assert!(world.store.told_notices(link).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nearly_full_disk_is_told_with_its_real_size() {
    let watch = Watch { home: Some(std::env::temp_dir()), low_disk_bytes: u64::MAX, ..watch() };
    let around = crate::Surroundings { watch, ..super::around() };
    let world = World::with(echo(), Messenger::new(), around).await;
    world.link(&world.root, "boss").await;
    world.messenger.says("boss", "boss", "/notices on");
    let shown = world.reads("boss", "nearly full").await;
    let (free, size) = shown.text.rsplit_once("• ").unwrap().1.split_once(" / ").unwrap();
    let mib = |text: &str| text.strip_suffix(" MiB").unwrap().parse::<u64>().unwrap();
    assert!(mib(free) <= mib(size) && mib(size) > 0, "{shown:?}");
}
