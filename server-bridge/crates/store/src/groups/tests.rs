mod folders;
mod memories;
mod messages;
mod spending;

use crate::testing;
use crate::{
    Access, AgentDraft, CallEnd, CallState, ChainBase, EntryKind, Error, GrantMode, GroupCall, HandedOver,
    Name, NewCall, NewEntry, NewGate, NewHandOver, NewRunOfChain, RunEnd, Store, User,
};

/// A group of ada (owner) and bob (member), with ada's agent `coder` and bob's agent `writer`.
struct World {
    store: Store,
    ada: User,
    bob: User,
    group: i64,
    coder: i64,
    writer: i64,
}

async fn user(store: &Store, name: &str) -> User {
    store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap()
}

fn draft(handle: &str) -> AgentDraft<'_> {
    AgentDraft {
        handle,
        runner: "laptop",
        approval: "ask",
        model: None,
        persona: "",
        tools_json: None,
        folder: None,
    }
}

impl World {
    async fn new() -> Self {
        let store = testing::empty().await;
        let (ada, bob) = (user(&store, "ada").await, user(&store, "bob").await);
        let group = store.create_group(ada.id, "Work").await.unwrap();
        store.put_group_person(group, bob.id, Access::Member).await.unwrap();
        let coder = store.put_group_agent(group, ada.id, draft("coder")).await.unwrap();
        let writer = store.put_group_agent(group, bob.id, draft("Writer")).await.unwrap();
        Self { store, ada, bob, group, coder, writer }
    }

    fn call<'a>(&self, agent: i64, user: &'a User) -> NewCall<'a> {
        let user_name = &user.name;
        NewCall {
            group: self.group,
            agent,
            user: user.id,
            user_name,
            request: "do it",
            step: None,
            limit_ms: None,
        }
    }

    fn entry<'a>(&self, user: &'a User, send_id: Option<&'a str>, text: &'a str) -> NewEntry<'a> {
        NewEntry {
            group: self.group,
            kind: EntryKind::Person,
            author: &user.name,
            user: Some(user.id),
            text,
            asks_json: "[]",
            send_id,
        }
    }

    async fn post(&self, user: &User, send_id: Option<&str>, agents: &[i64]) -> (i64, Vec<i64>, bool) {
        let entry = self.entry(user, send_id, "hello");
        let calls: Vec<_> = agents.iter().map(|agent| self.call(*agent, user)).collect();
        let (entry, calls, is_new) = self.store.post_entry(entry, &calls).await.unwrap();
        (entry.id, calls, is_new)
    }

    async fn at_work(&self) -> Vec<GroupCall> {
        self.store.calls_at_work().await.unwrap()
    }
}

const DONE: CallEnd<'_> = CallEnd { state: CallState::Done, reason: "", output: "answer", note: "" };

#[tokio::test]
async fn a_group_is_seen_by_its_people_alone() {
    let World { store, ada, bob, group, .. } = World::new().await;
    let eve = user(&store, "eve").await;
    assert_eq!(store.group(ada.id, group).await.unwrap().access, Access::Owner);
    assert_eq!(store.groups(bob.id).await.unwrap()[0].access, Access::Member);
    assert!(matches!(store.group(eve.id, group).await, Err(Error::NotFound { .. })));
    assert!(store.groups(eve.id).await.unwrap().is_empty());
    assert!(matches!(store.put_group_agent(group, eve.id, draft("x")).await, Err(Error::NotFound { .. })));
    store.rename_group(group, "Play").await.unwrap();
    assert_eq!(store.group(bob.id, group).await.unwrap().title, "Play");
    assert!(store.rename_group(group, " ").await.is_err());
    store.delete_group(group).await.unwrap();
    assert!(store.groups(ada.id).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_group_keeps_an_owner() {
    let World { store, ada, bob, group, .. } = World::new().await;
    assert!(store.remove_group_person(group, ada.id).await.is_err());
    assert!(store.put_group_person(group, ada.id, Access::Editor).await.is_err());
    store.put_group_person(group, bob.id, Access::Owner).await.unwrap();
    assert!(store.remove_group_person(group, ada.id).await.unwrap());
    assert!(!store.remove_group_person(group, ada.id).await.unwrap());
}

#[tokio::test]
async fn a_group_whose_last_owner_is_removed_belongs_to_who_may_do_most_and_was_there_first() {
    let World { store, bob, group, .. } = World::new().await;
    let (eve, dan) = (user(&store, "eve").await, user(&store, "dan").await);
    store.put_group_person(group, eve.id, Access::Editor).await.unwrap();
    store.put_group_person(group, dan.id, Access::Editor).await.unwrap();
    store.remove_user("ada").await.unwrap();
    let access = async |user: &User| store.group(user.id, group).await.unwrap().access;
    assert_eq!(
        (access(&bob).await, access(&eve).await, access(&dan).await),
        (Access::Member, Access::Owner, Access::Editor)
    );
    let said = store.entries_before(group, i64::MAX, 10).await.unwrap().0;
    assert_eq!(said.last().unwrap().text, "ada was removed from this server. eve owns the group now.");
    // A group that another person owns too keeps its owners.
    store.put_group_person(group, bob.id, Access::Owner).await.unwrap();
    store.remove_user("eve").await.unwrap();
    assert_eq!((access(&bob).await, access(&dan).await), (Access::Owner, Access::Editor));
    store.remove_user("dan").await.unwrap();
    store.remove_user("bob").await.unwrap();
    assert!(store.users_of_group(group).await.unwrap().is_empty());
    assert!(
        store.entries_before(group, i64::MAX, 10).await.unwrap().0.is_empty(),
        "the group is deleted with its last person"
    );
}

#[tokio::test]
async fn a_handle_is_one_agents_whatever_its_case() {
    let World { store, ada, bob, group, writer, .. } = World::new().await;
    assert!(matches!(store.put_group_agent(group, ada.id, draft("writer")).await, Err(Error::Taken { .. })));
    assert_eq!(store.put_group_agent(group, bob.id, draft("writer")).await.unwrap(), writer);
    store.remove_group_agent(group, writer).await.unwrap();
    let other = store.put_group_agent(group, ada.id, draft("writer")).await.unwrap();
    assert_ne!(other, writer);
    let handles: Vec<_> =
        store.group_agents(group).await.unwrap().into_iter().map(|agent| agent.handle).collect();
    assert_eq!(handles, ["coder", "writer"]);
}

#[tokio::test]
async fn an_entry_and_its_calls_are_posted_once() {
    let world = World::new().await;
    let (entry, calls, is_new) = world.post(&world.ada, Some("s1"), &[world.coder, world.writer]).await;
    assert!(is_new && calls.len() == 2);
    assert_eq!(world.post(&world.ada, Some("s1"), &[world.coder]).await, (entry, calls.clone(), false));
    // Send ids of different people are independent.
    let (of_bob, ..) = world.post(&world.bob, Some("s1"), &[]).await;
    assert_ne!(of_bob, entry);
    let ids: Vec<_> = world.at_work().await.iter().map(|call| call.id).collect();
    assert_eq!(ids, calls);
}

#[tokio::test]
async fn an_agent_works_on_one_call_at_a_time_and_ends_each_once() {
    let world = World::new().await;
    let store = &world.store;
    let (_, first, _) = world.post(&world.ada, None, &[world.coder]).await;
    let (_, second, _) = world.post(&world.ada, None, &[world.coder]).await;
    let call = world.at_work().await.remove(0);
    assert_eq!((call.id, call.state), (first[0], CallState::Queued));
    assert!(store.wait_call(&call, "laptop is offline").await.unwrap());
    let call = world.at_work().await.remove(0);
    assert!(!store.wait_call(&call, "laptop is offline").await.unwrap());

    let agent = store.group_agent(world.coder).await.unwrap();
    let chat = store.agent_chat(&agent, "@coder", "ask").await.unwrap();
    assert_eq!(store.agent_chat(&agent, "@coder", "plan").await.unwrap(), chat);
    assert_eq!(store.agent_of_chat(&chat).await.unwrap().unwrap().id, world.coder);
    store.begin_group_call(&call, "text", &chat, 7).await.unwrap();
    store.begin_group_call(&call, "other words", &chat, 9).await.unwrap();
    let call = world.at_work().await.remove(0);
    assert_eq!((call.state, call.posted_text.as_deref()), (CallState::Running, Some("text")));
    assert_eq!(store.group_agent(world.coder).await.unwrap().seen_id, 7);
    assert!(!store.wait_call(&call, "too late").await.unwrap());

    assert!(store.end_call(&call, DONE).await.unwrap());
    assert!(!store.end_call(&call, DONE).await.unwrap());
    let entries = store.entries_after(world.group, 0, 10).await.unwrap().0;
    let of_agent: Vec<_> = entries.iter().filter(|entry| entry.kind == EntryKind::Agent).collect();
    assert_eq!(of_agent.len(), 1);
    assert_eq!((of_agent[0].author.as_str(), of_agent[0].call_id), ("coder", Some(call.id)));
    assert_eq!(world.at_work().await[0].id, second[0]);
}

#[tokio::test]
async fn who_loses_a_right_loses_it_under_way() {
    let world = World::new().await;
    let store = &world.store;
    assert!(store.put_grant(world.group, world.coder, world.bob.id, GrantMode::Ask).await.unwrap());
    assert_eq!(store.grant(world.coder, world.bob.id).await.unwrap(), Some(GrantMode::Ask));
    let eve = user(store, "eve").await;
    assert!(!store.put_grant(world.group, world.coder, eve.id, GrantMode::Own).await.unwrap());

    world.post(&world.bob, None, &[world.coder]).await;
    assert!(store.remove_grant(world.group, world.coder, world.bob.id).await.unwrap());
    assert!(world.at_work().await[0].is_unwanted);
    assert!(store.end_call(&world.at_work().await[0], DONE).await.unwrap());

    store.put_grant(world.group, world.coder, world.bob.id, GrantMode::Own).await.unwrap();
    store.set_lead(world.group, Some(world.writer)).await.unwrap();
    world.post(&world.bob, None, &[world.coder]).await;
    world.post(&world.ada, None, &[world.writer]).await;
    store.remove_group_person(world.group, world.bob.id).await.unwrap();
    assert!(world.at_work().await.iter().all(|call| call.is_unwanted));
    assert_eq!(world.at_work().await.len(), 2);
    assert_eq!(store.grant(world.coder, world.bob.id).await.unwrap(), None);
    assert_eq!(store.group_agents(world.group).await.unwrap().len(), 1);
    assert_eq!(store.group(world.ada.id, world.group).await.unwrap().lead_id, None);
}

#[tokio::test]
async fn who_may_ask_an_agent_is_who_has_a_grant_and_posts_in_its_group() {
    let World { store, ada, bob, group, coder, writer } = World::new().await;
    let may = async |agent, user: &User| store.may_ask(agent, user.id).await.unwrap();
    assert!(may(coder, &ada).await && may(writer, &bob).await, "each person may ask their own agent");
    assert!(!may(coder, &bob).await && !may(writer, &ada).await);
    store.put_grant(group, coder, bob.id, GrantMode::Ask).await.unwrap();
    assert!(may(coder, &bob).await && !may(writer, &ada).await);
    store.put_group_person(group, bob.id, Access::Reader).await.unwrap();
    assert!(!may(coder, &bob).await && !may(writer, &bob).await, "a reader may not ask agents");
    store.put_group_person(group, bob.id, Access::Member).await.unwrap();
    assert!(may(coder, &bob).await);
    store.remove_grant(group, coder, bob.id).await.unwrap();
    assert!(!may(coder, &bob).await);
    store.put_grant(group, coder, bob.id, GrantMode::Own).await.unwrap();
    store.remove_group_agent(group, coder).await.unwrap();
    assert!(!may(coder, &bob).await && !may(coder, &ada).await, "the agent was removed");
    store.remove_group_person(group, bob.id).await.unwrap();
    assert!(!may(writer, &bob).await);
}

#[tokio::test]
async fn the_newest_entries_come_first_each_with_its_beginning() {
    let world = World::new().await;
    let (first, ..) = world.post(&world.bob, None, &[]).await;
    let (second, ..) = world.post(&world.ada, None, &[]).await;
    let whole = world.store.newest_entries(world.group, 0, 10, 1000).await.unwrap();
    assert_eq!(whole.iter().map(|entry| entry.id).collect::<Vec<_>>(), [second, first]);
    let cut = world.store.newest_entries(world.group, first, 10, 2).await.unwrap();
    assert_eq!(cut.len(), 1);
    assert!(whole[0].text.len() > 2 && cut[0].text == whole[0].text[..2], "{cut:?}");
}

#[tokio::test]
async fn a_page_of_a_log_with_long_texts_ends_at_8_mib() {
    let world = World::new().await;
    let text = "x".repeat(crate::limits::ENTRY_MAX_BYTES);
    let mut all = Vec::new();
    for _ in 0..9 {
        let entry = world.entry(&world.ada, None, &text);
        all.push(world.store.post_entry(entry, &[]).await.unwrap().0.id);
    }
    let ids = |entries: Vec<crate::GroupEntry>| entries.iter().map(|entry| entry.id).collect::<Vec<_>>();
    let (page, more) = world.store.entries_before(world.group, i64::MAX, 100).await.unwrap();
    assert_eq!((ids(page), more), (all[1..].to_vec(), true));
    let (page, more) = world.store.entries_before(world.group, all[1], 100).await.unwrap();
    assert_eq!((ids(page), more), (all[..1].to_vec(), false));
    let (page, more) = world.store.entries_after(world.group, 0, 100).await.unwrap();
    assert_eq!((ids(page), more), (all[..8].to_vec(), true));
    let (page, more) = world.store.entries_after(world.group, all[7], 100).await.unwrap();
    assert_eq!((ids(page), more), (all[8..].to_vec(), false));
}

#[tokio::test]
async fn a_reader_has_nothing_under_way() {
    let world = World::new().await;
    let (_, calls, _) = world.post(&world.bob, None, &[world.writer]).await;
    world.store.put_group_person(world.group, world.bob.id, Access::Reader).await.unwrap();
    assert!(world.store.group_call(calls[0]).await.unwrap().is_unwanted);
}

#[tokio::test]
async fn a_step_has_one_call_and_one_gate_for_each_attempt() {
    let world = World::new().await;
    let store = &world.store;
    let new = NewRunOfChain {
        group: world.group,
        chain: "story",
        document_json: "{}",
        request: "rain",
        user: world.ada.id,
        user_name: "ada",
        send_id: Some("s1"),
        gate: None,
    };
    let run = store.begin_run(new).await.unwrap();
    assert_eq!(store.begin_run(new).await.unwrap(), run);
    let run = store.group_run(world.group, run).await.unwrap();
    let call = NewCall { step: Some((run.id, 0, 1)), ..world.call(world.coder, &world.ada) };
    store.call_for_step(&run, call).await.unwrap();
    store.call_for_step(&run, call).await.unwrap();
    assert_eq!(store.calls_of_run(run.id).await.unwrap().len(), 1);

    let gate = NewGate { step: 0, attempt: 1, kind: "review", question: "good?" };
    store.open_gate(&run, gate).await.unwrap();
    store.open_gate(&run, gate).await.unwrap();
    let gates = store.gates(run.id).await.unwrap();
    assert_eq!(gates.len(), 1);
    assert_eq!(store.group_run(world.group, run.id).await.unwrap().state, "asking");
    let other = store.create_group(world.bob.id, "Other").await.unwrap();
    assert!(store.gate(other, gates[0].id).await.is_err());
    assert!(!store.answer_gate(other, gates[0].id, "approve", "", "bob").await.unwrap());
    assert!(store.answer_gate(world.group, gates[0].id, "approve", "", "ada").await.unwrap());
    assert!(!store.answer_gate(world.group, gates[0].id, "stop", "", "bob").await.unwrap());
    assert_eq!(store.gates(run.id).await.unwrap()[0].answered_by.as_deref(), Some("ada"));

    assert!(store.end_chain_run(world.group, run.id, RunEnd::Stopped, "stopped").await.unwrap());
    assert!(!store.end_chain_run(world.group, run.id, RunEnd::Done, "done").await.unwrap());
    assert!(store.calls_of_run(run.id).await.unwrap()[0].is_unwanted);
    assert!(store.open_runs().await.unwrap().is_empty());
    let entries = store.entries_after(world.group, 0, 10).await.unwrap().0;
    let said: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.text.as_str())).collect();
    assert_eq!(said, [(EntryKind::Server, "stopped")], "the end is reported once");
    assert_eq!(store.group_runs(world.group, None, 10).await.unwrap()[0].state, "stopped");
}

#[tokio::test]
async fn chains_are_kept_by_name() {
    let World { store, group, .. } = World::new().await;
    let put = async |json, base| store.put_chain(group, "story", json, base).await.unwrap();
    let stored = async || store.group_chain(group, "story").await.unwrap();
    assert!(!put("{}", ChainBase::ChangedAt(0)).await, "there is none to change");
    assert!(put("{}", ChainBase::None).await);
    assert!(!put("[]", ChainBase::None).await, "it would replace a chain that somebody else made");
    let first = stored().await;
    assert_eq!(first.document_json, "{}");
    assert!(put("[]", ChainBase::ChangedAt(first.updated_at_ms)).await);
    let second = stored().await;
    assert_eq!(second.document_json, "[]");
    assert!(second.updated_at_ms > first.updated_at_ms, "within the same millisecond too");
    assert!(!put("{}", ChainBase::ChangedAt(first.updated_at_ms)).await, "it was changed meanwhile");
    assert_eq!(stored().await, second);
    assert!(put("1", ChainBase::Any).await);
    assert_eq!(store.group_chains(group).await.unwrap().len(), 1);
    assert!(store.remove_chain(group, "story").await.unwrap());
    assert!(!store.remove_chain(group, "story").await.unwrap());
    assert!(matches!(store.group_chain(group, "story").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn what_a_removed_user_said_stays_under_their_name() {
    let world = World::new().await;
    world.post(&world.bob, None, &[world.writer]).await;
    world.store.remove_user("bob").await.unwrap();
    let entries = world.store.entries_before(world.group, i64::MAX, 10).await.unwrap().0;
    assert_eq!(entries.last().unwrap().author, "bob");
    assert!(world.at_work().await.is_empty(), "their agent and its calls were removed");
}

#[tokio::test]
async fn files_on_their_way_are_one_row_that_ends_once_and_at_the_latest_with_its_call() {
    let world = World::new().await;
    let (store, group) = (&world.store, world.group);
    let new = NewRunOfChain {
        group,
        chain: "story",
        document_json: "{}",
        request: "rain",
        user: world.ada.id,
        user_name: "ada",
        send_id: None,
        gate: None,
    };
    let id = store.begin_run(new).await.unwrap();
    let run = store.group_run(group, id).await.unwrap();
    for step in 1..=3 {
        let call = NewCall { step: Some((id, step, 1)), ..world.call(world.coder, &world.ada) };
        store.call_for_step(&run, call).await.unwrap();
    }
    let calls = store.calls_of_run(id).await.unwrap();
    let new = NewHandOver { from_step: 0, from_runner: "laptop", to_runner: "desk", token: "a" };
    let row = store.begin_handover(&calls[0], new).await.unwrap();
    assert_eq!((row.state.as_str(), row.ended_at_ms, row.sha256.as_deref()), ("running", None, None));
    let again = NewHandOver { to_runner: "box", token: "b", ..new };
    let same = store.begin_handover(&calls[0], again).await.unwrap();
    assert_eq!((same.id, same.token.as_str(), same.to_runner.as_str()), (row.id, "a", "box"));

    let done =
        HandedOver { directory: "handed/1/1".to_owned(), files: 2, size_bytes: 30, sha256: "ab".to_owned() };
    let entries = store.entries_after(group, 0, 10).await.unwrap().0.len();
    assert!(store.end_handover(group, row.id, &done, "arrived").await.unwrap());
    assert!(!store.end_handover(group, row.id, &done, "arrived").await.unwrap());
    assert!(store.is_handover_ended("a").await.unwrap() && !store.is_handover_ended("c").await.unwrap());
    assert_eq!(store.entries_after(group, 0, 10).await.unwrap().0.len(), entries + 1);
    let late = NewHandOver { to_runner: "desk", ..new };
    assert_eq!(
        store.begin_handover(&calls[0], late).await.unwrap().to_runner,
        "box",
        "the hand-over has ended"
    );

    for (call, state) in [(&calls[1], CallState::Failed), (&calls[2], CallState::Stopped)] {
        store.begin_handover(call, new).await.unwrap();
        let end = CallEnd { state, reason: "no space left", output: "", note: "" };
        store.end_call(call, end).await.unwrap();
        assert!(store.begin_handover(call, new).await.unwrap().ended_at_ms.is_some());
    }
    let rows = store.handovers(id).await.unwrap();
    let ends: Vec<_> = rows.iter().map(|row| (row.state.as_str(), row.error.as_str())).collect();
    assert_eq!(ends, [("done", ""), ("failed", "no space left"), ("stopped", "no space left")]);
    store.end_call(&calls[0], DONE).await.unwrap();
    assert_eq!(store.handover(calls[0].id).await.unwrap().unwrap().state, "done");
    store.delete_group(group).await.unwrap();
    assert!(store.handovers(id).await.unwrap().is_empty());
}
