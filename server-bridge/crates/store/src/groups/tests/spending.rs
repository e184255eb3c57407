use super::{DONE, World};
use crate::{
    Asker, Author, ChatId, GroupCall, MessageId, MessageRole, NewCall, NewDelegation, NewRunOfChain,
    NewSubAgent, Said, Spent, TurnId, TurnUsage,
};

/// A run with one step, whose call is in progress in the coder's chat.
struct AtWork {
    world: World,
    run: i64,
    chat: ChatId,
    turn: TurnId,
}

impl AtWork {
    async fn new() -> Self {
        let world = World::new().await;
        let (store, ada) = (&world.store, &world.ada);
        let new = NewRunOfChain {
            group: world.group,
            chain: "story",
            document_json: "{}",
            request: "rain",
            user: ada.id,
            user_name: "ada",
            send_id: None,
            gate: None,
        };
        let run = store.begin_run(new).await.unwrap();
        let step = NewCall { step: Some((run, 0, 1)), ..world.call(world.coder, ada) };
        store.call_for_step(&store.group_run(world.group, run).await.unwrap(), step).await.unwrap();
        let call = store.calls_of_run(run).await.unwrap().remove(0);
        let chat = store.create_chat(ada.id).await.unwrap().id;
        store.begin_group_call(&call, "do it", &chat, 0).await.unwrap();
        let send_id = format!("call/{}", call.id);
        let said = store.say_once(ada.id, &chat, &send_id, "do it", Author::Owner).await.unwrap();
        let Said::New(said) = said else { panic!("{said:?}") };
        let shown = store.append_message(ada.id, &chat, MessageRole::Assistant, "", None).await.unwrap().id;
        let turn = store.queue_turn(ada.id, &chat, Some(said.id), shown, "1").await.unwrap();
        store.posted_call(&call, shown).await.unwrap();
        Self { world, run, chat, turn }
    }

    async fn call(&self) -> GroupCall {
        self.world.store.calls_of_run(self.run).await.unwrap().remove(0)
    }

    /// A running sub-agent of this chat, called for the top turn.
    async fn delegate(&self, parent: &ChatId) -> (ChatId, TurnId) {
        let (store, ada) = (&self.world.store, self.world.ada.id);
        let card: MessageId =
            store.append_message(ada, parent, MessageRole::Assistant, "", None).await.unwrap().id;
        let new =
            NewSubAgent { parent, message: card, role: None, instance: None, place: None, tools_json: "[]" };
        let chat = store.create_sub_agent(ada, new).await.unwrap().chat;
        let new = NewDelegation {
            chat: &chat,
            card,
            root: self.turn,
            text: "dig",
            document_json: "{}",
            item_json: "1",
            background: None,
        };
        let turn = store.queue_delegated_turn(ada, new).await.unwrap().unwrap().2;
        (chat, turn)
    }

    async fn spends(&self, turn: TurnId, tokens: i64) {
        let usage = TurnUsage {
            input_tokens: tokens - 1,
            output_tokens: 1,
            cost_micros: tokens * 2,
            ..TurnUsage::default()
        };
        let spent = Spent { subscription: "server", model: "m", usage };
        self.world.store.add_turn_usage(turn, spent).await.unwrap();
    }
}

#[tokio::test]
async fn what_sub_agents_use_counts_for_the_call_above_while_they_work_and_after_its_end() {
    let at_work = AtWork::new().await;
    at_work.spends(at_work.turn, 100).await;
    let (below, first) = at_work.delegate(&at_work.chat).await;
    at_work.spends(first, 10).await;
    assert_eq!(at_work.call().await.spent(), (110, 220));
    // The sub-agent's own sub-agent counts as well.
    let (_, second) = at_work.delegate(&below).await;
    at_work.spends(second, 5).await;
    let call = at_work.call().await;
    assert_eq!(call.spent(), (115, 230));

    let store = &at_work.world.store;
    assert!(store.end_call(&call, DONE).await.unwrap());
    let ended = at_work.call().await;
    assert_eq!((ended.tokens, ended.cost_micros), (115, 230));
    // A sub-agent was stopped during a request whose usage is recorded a moment later.
    at_work.spends(second, 5).await;
    assert_eq!(at_work.call().await.spent(), (120, 240));
    store.delete_chat(at_work.world.ada.id, &at_work.chat).await.unwrap();
    assert_eq!(at_work.call().await.spent(), (115, 230), "what was recorded stays");
}

#[tokio::test]
async fn who_asked_for_a_turn_asked_for_those_below_it() {
    let at_work = AtWork::new().await;
    let (below, first) = at_work.delegate(&at_work.chat).await;
    let (_, second) = at_work.delegate(&below).await;
    let (store, call) = (&at_work.world.store, at_work.call().await);
    for turn in [at_work.turn, first, second] {
        assert_eq!(
            store.asker_of_turn(&at_work.chat, turn).await.unwrap(),
            Asker::Call(Box::new(call.clone()))
        );
    }
    let elsewhere = store.create_chat(at_work.world.ada.id).await.unwrap().id;
    assert_eq!(store.asker_of_turn(&elsewhere, first).await.unwrap(), Asker::Nobody);
}

#[tokio::test]
async fn what_sub_agents_use_counts_from_the_first_request_on_and_they_know_their_call_after_its_end() {
    let at_work = AtWork::new().await;
    let (_, below) = at_work.delegate(&at_work.chat).await;
    let (store, ada, group) = (&at_work.world.store, at_work.world.ada.id, at_work.world.group);
    let of_turn = async |chat: &ChatId, turn| store.call_of_turn(chat, turn).await.unwrap();
    let call = at_work.call().await;
    assert_eq!(of_turn(&at_work.chat, at_work.turn).await, Some(call.clone()));
    assert_eq!(of_turn(&at_work.chat, below).await, Some(call.clone()));
    assert!(store.is_turn_of_call(&at_work.chat, below).await.unwrap());
    let elsewhere = store.create_chat(ada).await.unwrap().id;
    assert_eq!(of_turn(&elsewhere, at_work.turn).await, None);
    assert!(!store.is_turn_of_call(&elsewhere, at_work.turn).await.unwrap());
    // The turn of a second step is at work before the server has recorded which message shows its answer.
    let step = NewCall {
        step: Some((at_work.run, 1, 1)),
        ..at_work.world.call(at_work.world.coder, &at_work.world.ada)
    };
    store.call_for_step(&store.group_run(group, at_work.run).await.unwrap(), step).await.unwrap();
    let second = store.calls_of_run(at_work.run).await.unwrap().remove(1);
    store.begin_group_call(&second, "and this", &at_work.chat, 0).await.unwrap();
    let send_id = format!("call/{}", second.id);
    let said = store.say_once(ada, &at_work.chat, &send_id, "and this", Author::Owner).await.unwrap();
    let Said::New(said) = said else { panic!("{said:?}") };
    let shown = store.append_message(ada, &at_work.chat, MessageRole::Assistant, "", None).await.unwrap().id;
    let turn = store.queue_turn(ada, &at_work.chat, Some(said.id), shown, "1").await.unwrap();
    at_work.spends(turn, 10).await;
    let second = of_turn(&at_work.chat, turn).await.unwrap();
    assert_eq!((second.message, second.spent().0), (None, 0));
    store.answers_call(&second, &at_work.chat, turn).await.unwrap();
    let known = of_turn(&at_work.chat, turn).await.unwrap();
    assert_eq!((known.message, known.spent().0), (Some(shown), 10));
    store.answers_call(&second, &at_work.chat, at_work.turn).await.unwrap();
    assert_eq!(of_turn(&at_work.chat, turn).await.unwrap().message, Some(shown), "it is recorded once");

    assert!(store.end_call(&call, DONE).await.unwrap());
    assert_eq!(store.asker_of_turn(&at_work.chat, below).await.unwrap(), Asker::Nobody);
    let ended = of_turn(&at_work.chat, below).await.unwrap();
    assert_eq!((ended.id, ended.run_id), (call.id, Some(at_work.run)), "a sub-agent may outlive it");
}
