//! Sub-agents in the background: their limit, and that exactly one turn is notified of each end.

use futures_util::future::{join, join_all};
use store::{
    BackgroundMessage, BackgroundTurn, ChannelDraft, ChatId, MessageId, MessageRole, NewBackground,
    NewDelegation, NewSubAgent, Sent, Store, TurnId, TurnStatus, UserId,
};

use crate::support::{add_user, store};

/// The limit on unfinished background turns in these tests.
const MOST: u64 = 2;

/// A user's conversation, with a turn whose agent calls sub-agents.
struct World {
    store: Store,
    ann: UserId,
    chat: ChatId,
    root: TurnId,
}

impl World {
    async fn new() -> Self {
        let (store, _) = store().await;
        let ann = add_user(&store, "ann").await.id;
        let chat = store.create_chat(ann).await.unwrap().id;
        let shown = card(&store, ann, &chat).await;
        let said = store.append_message(ann, &chat, MessageRole::User, "begin", None).await.unwrap().id;
        let root = store.queue_turn(ann, &chat, Some(said), shown, "1").await.unwrap();
        Self { store, ann, chat, root }
    }

    /// Calls a sub-agent in the background; `None` if too many are running.
    async fn call(&self) -> Option<(ChatId, TurnId)> {
        let Self { store, ann, chat, root } = self;
        let message = card(store, *ann, chat).await;
        let new =
            NewSubAgent { parent: chat, message, role: None, instance: None, place: None, tools_json: "[]" };
        let child = store.create_sub_agent(*ann, new).await.unwrap().chat;
        let new = NewDelegation {
            chat: &child,
            card: message,
            root: *root,
            text: "look",
            document_json: "{}",
            item_json: "1",
            background: Some(NewBackground { json: r#"{"hint":"x"}"#, most: MOST }),
        };
        let queued = store.queue_delegated_turn(*ann, new).await.unwrap();
        queued.map(|(_, _, turn)| (child, turn))
    }

    /// Calls a sub-agent in the background, and records its end and its result.
    async fn ended(&self, status: TurnStatus) -> TurnId {
        let (_, turn) = self.call().await.unwrap();
        assert!(!self.store.put_background_result(turn, "early").await.unwrap(), "it has not ended");
        assert!(self.store.finish_turn(turn, status, None).await.unwrap());
        assert!(self.store.put_background_result(turn, "the result").await.unwrap());
        assert!(!self.store.put_background_result(turn, "another").await.unwrap());
        turn
    }

    async fn untold(&self) -> Vec<TurnId> {
        ids(&self.store.background_ended(self.ann, &self.chat).await.unwrap())
    }
}

async fn card(store: &Store, user: UserId, chat: &ChatId) -> MessageId {
    store.append_message(user, chat, MessageRole::Assistant, "", None).await.unwrap().id
}

fn ids(turns: &[BackgroundTurn]) -> Vec<TurnId> {
    turns.iter().map(|turn| turn.id).collect()
}

#[tokio::test]
async fn only_so_many_are_at_work_whoever_calls_first() {
    let world = World::new().await;
    let called = join_all((0..6).map(|_| world.call())).await;
    let turns: Vec<TurnId> = called.into_iter().flatten().map(|(_, turn)| turn).collect();
    assert_eq!(turns.len() as u64, MOST);
    let (store, ann, chat) = (&world.store, world.ann, &world.chat);
    assert_eq!(store.background_open(ann, chat).await.unwrap().len() as u64, MOST);
    store.finish_turn(turns[0], TurnStatus::Failed, Some("offline")).await.unwrap();
    let (child, turn) = world.call().await.unwrap();
    let found = store.background_turn(ann, turn).await.unwrap().unwrap();
    assert_eq!((&found.chat, &found.parent, found.root), (&child, chat, world.root));
    assert_eq!(store.background_of(ann, chat, &child).await.unwrap().unwrap().id, turn);
    assert_eq!(store.background_of(ann, &child, &child).await.unwrap(), None, "another chat's");
    assert_eq!((found.background_json.as_str(), found.result_text), (r#"{"hint":"x"}"#, None));
    // The ended turn still needs work, because its result is not recorded.
    assert_eq!(store.background_to_do(Some(ann)).await.unwrap().len(), 3);
    let bob = add_user(store, "bob").await.id;
    assert_eq!(store.background_turn(bob, turn).await.unwrap(), None);
    assert_eq!(store.background_to_do(Some(bob)).await.unwrap(), []);
    assert_eq!(store.background_of(bob, chat, &child).await.unwrap(), None);
    // A running turn counts too: while there is one, each request to the model begins with a check for ended turns.
    assert!(store.begin_turn(turn, "m").await.unwrap());
    assert_eq!(store.background_untold(ann, chat).await.unwrap().len(), 3);
    assert_eq!(store.background_untold(bob, chat).await.unwrap(), []);
    assert_eq!(store.background_below(bob, chat, 10).await.unwrap(), []);
    assert_eq!(store.background_below(ann, chat, 2).await.unwrap()[0].id, turn, "the newest first");
    // Resuming the turn above does not include them.
    assert_eq!(store.open_turns_below(ann, chat).await.unwrap(), []);
    let open = store.open_turns(Some(ann)).await.unwrap();
    assert_eq!(open.iter().filter(|turn| turn.is_background).count(), 2);
}

#[tokio::test]
async fn an_end_is_told_to_one_turn_of_several_and_as_a_whole() {
    let world = World::new().await;
    let (store, ann, chat) = (&world.store, world.ann, &world.chat);
    let (first, second) = (world.ended(TurnStatus::Done).await, world.ended(TurnStatus::Failed).await);
    assert_eq!(world.untold().await, [first, second]);
    assert_eq!(store.chats_to_tell(None).await.unwrap(), [(ann, chat.clone())]);
    let both = [first, second];
    let tell = async || store.tell_of_background(world.root, &both, "2").await.unwrap();
    let told = join_all((0..4).map(|_| tell())).await;
    assert_eq!(told.iter().flatten().count(), 1, "{told:?}");
    let items = store.turn_items(ann, chat, world.root).await.unwrap();
    assert_eq!(items, ["1", "2"]);
    assert_eq!((world.untold().await, store.chats_to_tell(None).await.unwrap()), (vec![], vec![]));
    // If one of two turns was already reported, neither is reported in this attempt; the other one follows with the next attempt.
    let third = world.ended(TurnStatus::Done).await;
    let queue = async |ended: &[TurnId]| {
        store.queue_telling_turn(ann, chat, ended, "it has ended", ("{}", "3")).await.unwrap()
    };
    assert_eq!(queue(&[third, first]).await, None);
    let before = store.messages(ann, chat, None, 100).await.unwrap().0.len();
    let (said, shown, turn) = queue(&[third]).await.unwrap();
    assert_eq!(
        (said.role, said.text.as_str(), shown.text.as_str()),
        (MessageRole::Notice, "it has ended", "")
    );
    assert_eq!(store.messages(ann, chat, None, 100).await.unwrap().0.len(), before + 2);
    assert_eq!(store.answer_to(ann, said.id).await.unwrap(), Some(shown.id));
    assert_eq!(store.turns_by_themselves(ann, chat).await.unwrap(), 1);
    // The turn can be undone like any other, although it has no text from the user.
    for turn in [world.root, turn] {
        store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
    }
    let past = store.past_turns(ann, chat, 10).await.unwrap();
    assert_eq!(past.iter().map(|past| past.by_itself).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn what_was_stopped_or_taken_back_begins_nothing() {
    let world = World::new().await;
    let (store, ann, chat) = (&world.store, world.ann, &world.chat);
    let stopped = world.ended(TurnStatus::Cancelled).await;
    assert_eq!(world.untold().await, [stopped], "a turn that a user begins is notified of it");
    assert_eq!(store.chats_to_tell(None).await.unwrap(), []);
    let done = world.ended(TurnStatus::Done).await;
    store.finish_turn(world.root, TurnStatus::Done, None).await.unwrap();
    store.take_back(ann, chat, &[world.root]).await.unwrap();
    assert_eq!((world.untold().await, store.chats_to_tell(None).await.unwrap()), (vec![], vec![]));
    assert_eq!(store.background_turn(ann, done).await.unwrap(), None);
}

#[tokio::test]
async fn an_answer_that_begins_by_itself_goes_to_the_conversations_of_its_chat() {
    let world = World::new().await;
    let (store, ann, chat) = (&world.store, world.ann, &world.chat);
    let draft = ChannelDraft {
        name: "tg",
        kind: "telegram",
        document_json: "{}",
        secrets_json: None,
        is_enabled: true,
        is_shared: false,
    };
    let account = store.put_channel(ann, draft).await.unwrap();
    let other = store.create_chat(ann).await.unwrap().id;
    store.set_channel_chat(account.id, "here", ann, chat).await.unwrap();
    store.set_channel_chat(account.id, "elsewhere", ann, &other).await.unwrap();
    let done = world.ended(TurnStatus::Done).await;
    let queued = store.queue_telling_turn(ann, chat, &[done], "it has ended", ("{}", "2")).await.unwrap();
    let (_, shown, turn) = queued.unwrap();
    assert_eq!(store.complete_answers(0, 10).await.unwrap(), [], "the turn has not ended");
    store.finish_turn(turn, TurnStatus::Done, None).await.unwrap();
    let answers = store.complete_answers(0, 10).await.unwrap();
    assert_eq!(answers.len(), 1);
    let answer = &answers[0];
    assert_eq!((answer.conversation.as_str(), answer.message, answer.is_group), ("here", shown.id, false));
    assert_eq!(answer.reply_json, "null");
}

/// Sends a message to a sub-agent, for the call with this card.
async fn sent(world: &World, agent: &ChatId, card: MessageId) -> Sent {
    let new =
        BackgroundMessage { parent: &world.chat, agent, card, text: "and this", item_json: "\"and this\"" };
    world.store.send_to_background(world.ann, new).await.unwrap()
}

#[tokio::test]
async fn a_message_is_sent_once_and_read_once() {
    let world = World::new().await;
    let World { store, ann, chat, .. } = &world;
    let (agent, turn) = world.call().await.unwrap();
    assert_eq!(store.read_background_message(turn).await.unwrap(), None);
    let cards = [card(store, *ann, chat).await, card(store, *ann, chat).await];
    for card in cards {
        assert!(matches!(sent(&world, &agent, card).await, Sent::Now(said) if said.chat == agent));
    }
    assert_eq!(sent(&world, &agent, cards[0]).await, Sent::Before);
    let bob = add_user(store, "bob").await.id;
    let another =
        BackgroundMessage { parent: chat, agent: &agent, card: MessageId(900), text: "x", item_json: "1" };
    assert_eq!(store.send_to_background(bob, another).await.unwrap(), Sent::NotAtWork);
    assert_eq!(store.unread_background_messages(turn).await.unwrap(), 2);
    let read: Vec<_> = join_all((0..4).map(|_| store.read_background_message(turn))).await;
    let read = read.into_iter().filter_map(Result::unwrap).count();
    assert_eq!((read, store.unread_background_messages(turn).await.unwrap()), (2, 0));
    assert!(store.finish_turn(turn, TurnStatus::Done, None).await.unwrap());
    assert_eq!(sent(&world, &agent, cards[1]).await, Sent::Before, "a call that is repeated changes nothing");
    assert_eq!(sent(&world, &agent, MessageId(901)).await, Sent::NotAtWork);
}

#[tokio::test]
async fn a_message_that_meets_the_end_is_refused_or_counted() {
    for _ in 0..20 {
        let world = World::new().await;
        let (agent, turn) = world.call().await.unwrap();
        let card = card(&world.store, world.ann, &world.chat).await;
        let end = async {
            assert!(world.store.finish_turn(turn, TurnStatus::Done, None).await.unwrap());
            world.store.unread_background_messages(turn).await.unwrap()
        };
        let (sent, unread) = join(sent(&world, &agent, card), end).await;
        assert_eq!(unread, u64::from(sent != Sent::NotAtWork), "{sent:?}");
    }
}
