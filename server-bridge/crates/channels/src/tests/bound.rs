//! Conversations that are bound to a group of people and agents.

use api::chain::{GateAnswer, GateView};
use api::words::{GateKind, GateReply};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use platforms::event::{Media, MediaKind, Message, Quoted, What};
use serde_json::Value;
use store::{Access, AuditSearch, EntryKind, GroupEntry, NewEntry, NewGate, NewRunOfChain, Store, User};

use super::messenger::{Fault, Messenger, written};
use super::{World, echo, until};
use crate::limits::{LOG_ENTRIES, LOG_WAITING, PARTS_MAX};
use crate::{Error, GroupLogs, OpenGate, Result, ShownGroup};

/// The interface to the groups in the store; their agents never answer.
pub(super) struct Logs(pub(super) Store);

impl Logs {
    async fn check(&self, user: &User, group: i64, needs: Access) -> Result<ShownGroup> {
        let group = self.0.group(user.id, group).await?;
        if group.access < needs {
            return Err(Error::refused(
                "forbidden",
                format!("this needs {} access or higher", needs.as_str()),
            ));
        }
        Ok(ShownGroup { id: group.id, title: group.title })
    }
}

fn entry<'a>(group: i64, author: Option<&'a User>, text: &'a str) -> NewEntry<'a> {
    NewEntry {
        group,
        kind: if author.is_some() { EntryKind::Person } else { EntryKind::Agent },
        author: author.map_or("coder", |user| user.name.as_str()),
        user: author.map(|user| user.id),
        text,
        asks_json: "[]",
        send_id: None,
    }
}

impl GroupLogs for Logs {
    fn named<'a>(&'a self, user: &'a User, name: &'a str) -> BoxFuture<'a, Result<ShownGroup>> {
        async move {
            let groups = self.0.groups(user.id).await?;
            let found = groups.iter().find(|group| group.title == name);
            let found = found.ok_or_else(|| Error::refused("not_found", format!("there is no {name}")))?;
            self.check(user, found.id, Access::Owner).await
        }
        .boxed()
    }

    fn shown<'a>(&'a self, user: &'a User, group: i64) -> BoxFuture<'a, Result<ShownGroup>> {
        self.check(user, group, Access::Owner).boxed()
    }

    fn may_show<'a>(&'a self, user: &'a User, group: i64) -> BoxFuture<'a, Result<bool>> {
        async move { Ok(self.0.group(user.id, group).await?.access >= Access::Owner) }.boxed()
    }

    fn note<'a>(&'a self, group: i64, text: &'a str) -> BoxFuture<'a, Result<()>> {
        async move { Ok(self.0.post_notice(group, text).await?) }.boxed()
    }

    fn post<'a>(
        &'a self,
        user: &'a User,
        group: i64,
        text: String,
        send_id: String,
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        async move {
            self.check(user, group, Access::Member).await?;
            let post = NewEntry { send_id: Some(&send_id), ..entry(group, Some(user), &text) };
            self.0.post_entry(post, &[]).await?;
            let is_asking = text.starts_with('@');
            Ok(if is_asking { Vec::new() } else { vec!["nobody was asked".to_owned()] })
        }
        .boxed()
    }

    fn open_gates(&self, group: i64, after: i64) -> BoxFuture<'_, Result<Vec<OpenGate>>> {
        async move {
            let shown = |gate: store::GateRow| {
                let replies = vec![GateReply::Approve, GateReply::Stop];
                let gate = GateView {
                    id: gate.id,
                    step: 0,
                    attempt: 1,
                    kind: GateKind::Review,
                    question: gate.question,
                    replies,
                };
                OpenGate { chain: "story".to_owned(), gate }
            };
            Ok(self.0.open_gates(group, after).await?.into_iter().map(shown).collect())
        }
        .boxed()
    }

    fn answer_gate<'a>(
        &'a self,
        user: &'a User,
        group: i64,
        gate: i64,
        answer: GateAnswer,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            self.check(user, group, Access::Member).await?;
            let text = answer.text.unwrap_or_default();
            let is_first = self.0.answer_gate(group, gate, answer.reply.as_str(), &text, &user.name).await?;
            let row = self.0.gate(group, gate).await?;
            let is_same = row.answered_by.as_ref() == Some(&user.name)
                && row.reply.as_deref() == Some(answer.reply.as_str());
            if is_first || is_same {
                return Ok(());
            }
            let why = row
                .answered_by
                .map_or_else(|| "its run has ended".to_owned(), |by| format!("{by} answered it before"));
            Err(Error::refused("conflict", format!("the answer was not taken: {why}")))
        }
        .boxed()
    }
}

/// A world with a group `Work`, which root owns and ada belongs to; its log is shown in the conversation `room`.
pub(super) async fn bound(messenger: Messenger) -> (World, i64) {
    let world = World::new(echo(), messenger).await;
    world.link(&world.root, "boss").await;
    world.link(&world.ada, "ann").await;
    let group = world.store.create_group(world.root.id, "Work").await.unwrap();
    world.store.put_group_person(group, world.ada.id, Access::Member).await.unwrap();
    world.binds("room").await;
    (world, group)
}

impl World {
    pub(super) async fn binds(&self, conversation: &str) {
        self.messenger.says("boss", conversation, "/group use Work");
        self.reads(conversation, "belongs to the group \"Work\" now").await;
    }

    /// Ends the first binding of a group, on the page.
    async fn ends(&self, user: &User, group: i64) -> Result<()> {
        let id = self.channels.bindings(&self.root, group).await.unwrap().remove(0).id;
        self.channels.unbind(user, group, &id).await
    }

    async fn log(&self, group: i64) -> Vec<GroupEntry> {
        self.store.entries_after(group, 0, 1_000).await.unwrap().0
    }

    /// Posts to the group from outside the conversation; without an author, the agent is the author.
    pub(super) async fn posts(&self, group: i64, author: Option<&User>, text: &str) {
        self.store.post_entry(entry(group, author, text), &[]).await.unwrap();
        self.channels.look();
    }

    fn count(&self, conversation: &str, part: &str) -> usize {
        self.messenger.texts(conversation).iter().filter(|text| text.contains(part)).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_member_says_is_posted_once_and_what_others_say_is_shown_once() {
    let (world, group) = bound(Messenger::new()).await;
    world.binds("room2").await;
    let log = world.log(group).await;
    assert!(log[0].text.starts_with("root now shows this log on fake (channel desk)"), "{log:?}");
    world.messenger.repeats();
    world.messenger.says("ann", "room", "@coder hello");
    world.messenger.says("mallory", "room", "@coder obey me");
    world.messenger.writes("ann", "room", written("not for you"));
    let forged = Message { is_edited: true, mentions_us: true, ..written("@coder edited") };
    world.messenger.writes("ann", "room", forged);
    let quoted = Quoted { id: "1".to_owned(), text: "\n@coder obey".to_owned(), is_ours: false };
    let asking = Message { mentions_us: true, quoted: Some(quoted), ..written("what is that?") };
    world.messenger.writes("ann", "room", asking);
    for text in ["!ls", "/new", "/settings", "1"] {
        world.messenger.says("ann", "room", text);
    }
    let picture = Media { kind: MediaKind::Image, name: String::new(), bytes: Some(7), handle: Value::Null };
    let with_file = Message { mentions_us: true, media: vec![picture], ..written("@coder see") };
    world.messenger.writes("ann", "room", with_file);
    world.reads("room", "Files are not posted to the group").await;
    world.reads("room2", "ada: @coder see").await;
    world.rests().await;
    let of_ada: Vec<String> = world
        .log(group)
        .await
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::Person)
        .map(|entry| format!("{}: {}", entry.author, entry.text))
        .collect();
    assert_eq!(of_ada[0], "ada: @coder hello");
    assert!(
        of_ada[1].starts_with("ada: what is that?\n\n> ") && of_ada[1].ends_with("\n> \"\\n@coder obey\"")
    );
    assert_eq!(of_ada[2..], ["ada: !ls", "ada: /new", "ada: /settings", "ada: 1", "ada: @coder see"]);
    world.posts(group, None, "**done**").await;
    world.posts(group, Some(&world.root), "from the page").await;
    for room in ["room", "room2"] {
        world.reads(room, "@coder: done").await;
        world.reads(room, "root: from the page").await;
    }
    world.rests().await;
    assert_eq!(world.count("room", "ada:"), 0, "{:?}", world.messenger.texts("room"));
    assert_eq!(world.count("room2", "ada:"), 7, "{:?}", world.messenger.texts("room2"));
    assert_eq!(world.count("room2", "@coder: done") + world.count("room2", "root: from the page"), 2);
    assert_eq!(world.count("room", "nobody was asked"), 5, "those that mention nobody");
    assert!(world.store.chats(world.ada.id, 10).await.unwrap().is_empty(), "nothing reached a chat");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_entry_is_shown_once_in_order_over_restarts_and_lost_answers() {
    const ENTRIES: i64 = 3 * LOG_ENTRIES;
    let (mut world, group) = bound(Messenger::new()).await;
    world.rests().await;
    let before = world.messenger.texts("room").len();
    world.messenger.goes_away(true);
    for number in 0..ENTRIES {
        world.posts(group, None, &format!("entry {number}.")).await;
        if number % 25 == 10 {
            world.restart().await;
        }
    }
    let waiting = async || {
        let channel = world.channels.list(&world.root).await.unwrap().channels.remove(0);
        channel.waiting
    };
    until("some are in the outbox", async || (waiting().await >= LOG_WAITING).then_some(())).await;
    assert!(waiting().await < LOG_WAITING + LOG_ENTRIES, "the log is the queue");
    world.messenger.fails([Fault::TakenUnsaid, Fault::LostUnsaid, Fault::TooFast]);
    world.messenger.goes_away(false);
    world.reads("room", &format!("entry {}.", ENTRIES / 2)).await;
    world.restart().await;
    world.reads("room", &format!("entry {}.", ENTRIES - 1)).await;
    world.rests().await;
    let wanted: Vec<String> = (0..ENTRIES).map(|number| format!("@coder: entry {number}.")).collect();
    assert_eq!(world.messenger.texts("room")[before..], wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_entry_is_five_messages_and_a_link_and_the_next_one_comes() {
    let (world, group) = bound(Messenger::new()).await;
    world.rests().await;
    let before = world.messenger.texts("room").len();
    world.posts(group, None, &"w ".repeat(512 * 1024)).await;
    world.posts(group, None, "short").await;
    world.reads("room", "@coder: short").await;
    let texts = world.messenger.texts("room").split_off(before);
    assert_eq!(texts.len(), PARTS_MAX + 1);
    assert!(
        texts[PARTS_MAX - 1].contains(&format!("https://sandbridge.example/#/groups/{group}")),
        "{texts:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_in_the_group_is_told_so_and_only_its_owner_binds_it() {
    let (world, group) = bound(Messenger::new()).await;
    world.messenger.says("ann", "room", "/group use Work");
    world.reads("room", "Only the owner of this bot can switch").await;
    world.messenger.says("mallory", "room", "/group off");
    world.messenger.says("boss", "boss", "/group use Work");
    world.reads("boss", "This works in groups only").await;
    world.messenger.says("boss", "other", "/group use Elsewhere");
    world.reads("other", "there is no Elsewhere").await;
    let hers = world.store.create_group(world.ada.id, "Hers").await.unwrap();
    world.store.put_group_person(hers, world.root.id, Access::Editor).await.unwrap();
    world.messenger.says("boss", "other", "/group use Hers");
    world.reads("other", "this needs owner access or higher").await;
    world.store.put_group_person(group, world.ada.id, Access::Reader).await.unwrap();
    world.messenger.says("ann", "room", "@coder as a reader");
    world.reads("room", "this needs member access or higher").await;
    world.store.remove_group_person(group, world.ada.id).await.unwrap();
    world.messenger.says("ann", "room", "@coder as nobody");
    world.reads("room", "You are not in the group").await;
    let log = world.log(group).await;
    assert!(log.iter().all(|entry| entry.kind == EntryKind::Server), "{log:?}");
    let search =
        AuditSearch { user: Some("root"), action: "channel.group", limit: 9, ..AuditSearch::default() };
    let audit = world.store.search_audit(&search).await.unwrap();
    let done: Vec<_> = audit.iter().map(|entry| (entry.action.as_str(), entry.target.as_str())).collect();
    assert_eq!(done, [("channel.group.bind", format!("desk in room: group {group}").as_str())]);
}

/// The ways in which a binding ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Off,
    On,
    OwnerDemoted,
    OwnerRemoved,
    GroupDeleted,
    BotRemoved,
    OtherGroup,
    /// The owner of the bot ends it on the page.
    Binder,
    /// Another owner of the group ends it on the page.
    GroupOwner,
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_binding_nothing_of_the_log_is_shown_not_even_what_was_on_its_way() {
    use End::*;
    for end in [Off, On, OwnerDemoted, OwnerRemoved, GroupDeleted, BotRemoved, OtherGroup, Binder, GroupOwner]
    {
        let (world, group) = bound(Messenger::new()).await;
        let (store, root) = (&world.store, world.root.id);
        store.put_group_person(group, world.ada.id, Access::Owner).await.unwrap();
        store.create_group(root, "Other").await.unwrap();
        world.rests().await;
        world.messenger.goes_away(true);
        world.posts(group, None, "on its way").await;
        until("it is in the outbox", async || {
            (!store.outbox_lanes(1).await.unwrap().is_empty()).then_some(())
        })
        .await;
        let says = |text| world.messenger.says("boss", "room", text);
        match end {
            Off => says("/group off"),
            On => says("/group on"),
            OtherGroup => says("/group use Other"),
            OwnerDemoted => store.put_group_person(group, root, Access::Editor).await.unwrap(),
            OwnerRemoved => assert!(store.remove_group_person(group, root).await.unwrap()),
            GroupDeleted => store.delete_group(group).await.unwrap(),
            BotRemoved => world.messenger.happens("boss", "room", true, What::Removed),
            Binder => world.ends(&world.root, group).await.unwrap(),
            GroupOwner => world.ends(&world.ada, group).await.unwrap(),
        }
        let told = match end {
            Off => "This group is off",
            On => "This group is on",
            OtherGroup => "belongs to the group \"Other\"",
            OwnerDemoted | OwnerRemoved => "no longer belongs to its group",
            Binder => "no longer belongs to its group: root ended that",
            GroupOwner => "no longer belongs to its group: ada ended that",
            GroupDeleted | BotRemoved => "",
        };
        until("it has ended", async || {
            let account = store.channels(root).await.unwrap().remove(0).id;
            let binding = store.channel_binding(account, "room").await.unwrap();
            binding.is_none_or(|binding| binding.group != group).then_some(())
        })
        .await;
        world.messenger.goes_away(false);
        if !told.is_empty() {
            world.reads("room", told).await;
        }
        if !matches!(end, GroupDeleted) {
            world.posts(group, None, "later").await;
            until("the log says so", async || {
                let log = world.log(group).await;
                log.iter()
                    .any(|entry| entry.text.starts_with("This log is no longer shown on fake"))
                    .then_some(())
            })
            .await;
        }
        world.rests().await;
        for never in ["on its way", "later"] {
            assert_eq!(world.count("room", never), 0, "{end:?}: {:?}", world.messenger.texts("room"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_people_of_a_group_see_where_its_log_is_shown_and_its_owners_and_who_bound_it_end_that() {
    let (world, group) = bound(Messenger::new()).await;
    world.binds("room/7").await;
    let (store, channels) = (&world.store, &world.channels);
    let (root, ada) = (&world.root, &world.ada);
    let eve = store.add_user(&store::Name::parse("eve").unwrap(), "correct horse", false).await.unwrap();
    let listed = async |user: &User| channels.bindings(user, group).await;
    let of_root = listed(root).await.unwrap();
    let rooms: Vec<_> = of_root.iter().map(|one| one.conversation.as_str()).collect();
    assert_eq!(rooms, ["room", "room/7"]);
    let first = &of_root[0];
    let named = [&first.channel, &first.kind, &first.messenger, &first.bound_by].map(String::as_str);
    assert_eq!(named, ["desk", "fake", "Fake", "root"]);
    assert!(of_root.iter().all(|one| one.may_end && one.since > 0), "{of_root:?}");
    let account = store.channels(root.id).await.unwrap().remove(0).id;
    let mark = store.channel_binding(account, "room").await.unwrap().unwrap().mark;
    assert!(first.id != of_root[1].id && first.id != mark, "the mark is not revealed");

    // A member sees the bindings but cannot end any; a user who is not in the group does not see them.
    assert!(listed(ada).await.unwrap().iter().all(|one| !one.may_end));
    let kind = |result: Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(channels.unbind(ada, group, &first.id).await), "forbidden");
    assert_eq!(kind(channels.unbind(ada, group, "none").await), "forbidden");
    assert_eq!(listed(&eve).await.unwrap_err().kind(), "not_found");
    assert_eq!(kind(channels.unbind(&eve, group, &first.id).await), "not_found");
    let other = store.create_group(eve.id, "Hers").await.unwrap();
    assert_eq!(
        kind(channels.unbind(&eve, other, &first.id).await),
        "not_found",
        "the conversation is not bound to her group"
    );

    // An owner of the group can end a binding that another person created, even if the bot is off; after that there is nothing to end.
    store.put_group_person(group, ada.id, Access::Owner).await.unwrap();
    world.put(false).await;
    channels.unbind(ada, group, &first.id).await.unwrap();
    assert_eq!(kind(channels.unbind(ada, group, &first.id).await), "not_found");
    world.put(true).await;
    world.reads("room", "no longer belongs to its group: ada ended that.").await;
    world.reads("room/7", "This log is no longer shown on fake").await;
    world.rests().await;
    // The person who created a binding can end it, even if they are no longer an owner of the group.
    store.put_group_person(group, root.id, Access::Reader).await.unwrap();
    let left = listed(root).await.unwrap();
    assert_eq!((left.len(), left[0].may_end), (1, true));
    channels.unbind(root, group, &left[0].id).await.unwrap();
    assert!(listed(ada).await.unwrap().is_empty());
    let search = AuditSearch { action: "channel.group.unbind", limit: 9, ..AuditSearch::default() };
    let audit = store.search_audit(&search).await.unwrap();
    let done: Vec<_> = audit
        .iter()
        .map(|entry| format!("{}: {}", entry.user.as_deref().unwrap_or_default(), entry.target))
        .collect();
    let target = |room: &str| format!("desk in {room}: group {group}");
    assert_eq!(done, [format!("root: {}", target("room/7")), format!("ada: {}", target("room"))]);
    let ends = world.log(group).await;
    let ends =
        ends.iter().filter(|entry| entry.text == "This log is no longer shown on fake (channel desk).");
    assert_eq!(ends.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_moves_goes_on_with_its_group() {
    let (world, group) = bound(Messenger::new()).await;
    world.messenger.happens("boss", "room", true, What::Moved { to: "hall".to_owned() });
    world.rests().await;
    world.messenger.says("ann", "hall", "@coder moved");
    world.rests().await;
    assert!(world.log(group).await.iter().any(|entry| entry.text == "@coder moved"));
    world.posts(group, None, "seen").await;
    world.reads("hall", "@coder: seen").await;
    world.rests().await;
    assert_eq!((world.count("hall", "ada: "), world.count("room", "seen")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_is_shown_once_after_what_it_asks_about_and_the_first_answer_counts() {
    let (mut world, group) = bound(Messenger::without_buttons()).await;
    let run = NewRunOfChain {
        group,
        chain: "story",
        document_json: "{}",
        request: "rain",
        user: world.root.id,
        user_name: "root",
        send_id: None,
        gate: None,
    };
    let run = world.store.begin_run(run).await.unwrap();
    let run = world.store.group_run(group, run).await.unwrap();
    world.posts(group, None, "the output").await;
    let gate = NewGate { step: 0, attempt: 1, kind: "review", question: "Does its output go on?" };
    world.store.open_gate(&run, gate).await.unwrap();
    world.channels.look();
    let id = world.store.open_gates(group, 0).await.unwrap()[0].id;
    let shown = world.reads("room", "Does its output go on?").await;
    let wanted = format!("Mention me and answer with:\n/approve {id}\n/stop {id}");
    assert!(shown.text.starts_with("The chain story asks:\n") && shown.text.ends_with(&wanted), "{shown:?}");
    let texts = world.messenger.texts("room");
    let place = |part: &str| texts.iter().position(|text| text.contains(part));
    assert!(place("the output") < place("Does its output go on?"), "{texts:?}");
    world.restart().await;
    world.messenger.says("mallory", "room", &format!("/stop {id}"));
    world.messenger.says("ann", "room", "/approve it");
    world.reads("room", "Write the question's number").await;
    world.messenger.says("ann", "room", &format!("/approve {id}"));
    world.reads("room", &format!("ada answered question {id}: approve.")).await;
    world.messenger.says("boss", "room", &format!("/stop {id}"));
    world.reads("room", "ada answered it before").await;
    world.rests().await;
    assert_eq!(world.count("room", "Does its output go on?"), 1);
    let answered = world.store.gate(group, id).await.unwrap();
    assert_eq!((answered.reply.as_deref(), answered.answered_by.as_deref()), (Some("approve"), Some("ada")));
    assert!(!world.log(group).await.iter().any(|entry| entry.kind == EntryKind::Person));
}
