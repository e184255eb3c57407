use super::{DONE, World};
use crate::{AgentMessage, Asker, Asks, CallEnd, CallMode, CallState, EntryKind, GroupCall, Passed, TurnId};

impl World {
    /// The coder, while working on a call, asks the writer on behalf of ada.
    async fn say(&self, key: &str, mode: CallMode, parent: i64) -> Passed {
        self.pass(key, mode, (self.coder, "coder"), self.writer, parent).await
    }

    async fn pass(&self, key: &str, mode: CallMode, by: (i64, &str), to: i64, parent: i64) -> Passed {
        let asks = Asks { call: self.call(to, &self.ada), mode, by_agent: by.0, parent: Some(parent) };
        let message = AgentMessage {
            group: self.group,
            handle: by.1,
            origin: "call/1",
            key,
            text: "do it",
            asks_json: "[]",
            asks: Some(asks),
            notice: "enough",
        };
        self.store.pass_message(message).await.unwrap()
    }

    async fn asked_coder(&self) -> i64 {
        self.post(&self.ada, None, &[self.coder]).await.1[0]
    }

    async fn ends(&self, call: i64, end: CallEnd<'_>) {
        let call = self.store.group_call(call).await.unwrap();
        assert!(self.store.end_call(&call, end).await.unwrap());
    }

    async fn open(&self) -> Vec<GroupCall> {
        self.store.group_calls(self.group, 0).await.unwrap()
    }
}

fn call_of(passed: Passed) -> i64 {
    let Passed::Posted(Some(call)) = passed else { panic!("{passed:?}") };
    call
}

#[tokio::test]
async fn a_message_is_posted_once_for_its_key_and_eight_are_the_most() {
    let world = World::new().await;
    let parent = world.asked_coder().await;
    let first = call_of(world.say("1", CallMode::Background, parent).await);
    assert_eq!(call_of(world.say("1", CallMode::Background, parent).await), first);
    for number in 2..=8 {
        call_of(world.say(&number.to_string(), CallMode::Background, parent).await);
    }
    for _ in 0..2 {
        assert_eq!(world.say("9", CallMode::Background, parent).await, Passed::TooMany);
    }
    assert_eq!(call_of(world.say("1", CallMode::Background, parent).await), first);
    let entries = world.store.entries_before(world.group, i64::MAX, 100).await.unwrap().0;
    assert_eq!(entries.iter().filter(|entry| entry.kind == EntryKind::Agent).count(), 8);
    let notices: Vec<_> = entries.iter().filter(|entry| entry.kind == EntryKind::Server).collect();
    assert_eq!((notices.len(), notices[0].text.as_str()), (1, "enough"));
}

#[tokio::test]
async fn nobody_waits_in_a_circle() {
    let world = World::new().await;
    let (coder, writer) = ((world.coder, "coder"), (world.writer, "Writer"));
    let parent = world.asked_coder().await;
    let asked = call_of(world.say("1", CallMode::Wait, parent).await);
    for mode in [CallMode::Wait, CallMode::HandOff] {
        assert_eq!(world.pass("2", mode, writer, world.coder, asked).await, Passed::Circle);
    }
    call_of(world.pass("2", CallMode::Background, writer, world.coder, asked).await);
    // A call whose answer the agent does not wait for closes no circle.
    let store = &world.store;
    assert!(store.stop_waiting(&store.group_call(asked).await.unwrap()).await.unwrap());
    call_of(world.pass("3", CallMode::Wait, writer, world.coder, asked).await);
    assert_eq!(world.pass("4", CallMode::Wait, coder, world.writer, parent).await, Passed::Circle);
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_makes_a_call_also_after_a_hand_off() {
    let world = World::new().await;
    let parent = world.asked_coder().await;
    let asked = call_of(world.say("1", CallMode::Background, parent).await);
    world.ends(parent, DONE).await;
    let third = world.store.put_group_agent(world.group, world.bob.id, super::draft("third")).await.unwrap();
    let handed = call_of(world.pass("2", CallMode::HandOff, (world.writer, "Writer"), third, asked).await);
    let again = world.pass("3", CallMode::HandOff, (world.writer, "Writer"), third, asked).await;
    assert_eq!(again, Passed::HandedOver);
    world.ends(asked, DONE).await;
    assert_eq!(world.store.answering_call(asked).await.unwrap().id, handed);
    assert_eq!(world.open().await.len(), 1, "the writer's own answer is not passed on");
    world.ends(handed, DONE).await;
    let open = world.open().await;
    assert_eq!(open.len(), 1);
    let heard = &open[0];
    assert_eq!(
        (heard.agent_id, heard.mode, heard.request.as_str()),
        (world.coder, Some(CallMode::Answer), "answer")
    );
    assert_eq!((heard.by_agent.as_deref(), heard.origin.as_deref()), (Some("third"), Some("call/1")));
    assert_eq!(heard.user, Some(world.ada.id), "it has the rights of the person who asked");
}

#[tokio::test]
async fn who_waits_for_nobody_is_stopped() {
    let world = World::new().await;
    let parent = world.asked_coder().await;
    let waited = call_of(world.say("1", CallMode::Wait, parent).await);
    let other = call_of(world.say("2", CallMode::Background, parent).await);
    assert_eq!(world.store.orphaned_calls().await.unwrap(), []);
    world.ends(parent, DONE).await;
    assert_eq!(world.store.orphaned_calls().await.unwrap(), [(world.group, waited)]);
    world.store.unwant_call(world.group, waited).await.unwrap();
    world.ends(waited, CallEnd { state: CallState::Stopped, output: "", ..DONE }).await;
    let open: Vec<_> = world.open().await.into_iter().map(|call| call.id).collect();
    assert_eq!(open, [other], "the end of a stopped call is not passed on");
    assert_eq!(world.store.spent_by_others(1).await.unwrap(), (0, 0));
}

#[tokio::test]
async fn a_turn_that_nobody_asked_for_has_no_asker() {
    let world = World::new().await;
    let chat = world.store.create_chat(world.ada.id).await.unwrap().id;
    assert_eq!(world.store.asker_of_turn(&chat, TurnId(1)).await.unwrap(), Asker::Nobody);
}
