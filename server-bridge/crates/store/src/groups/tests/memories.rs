use super::{World, draft};
use crate::limits::{MEMORY_ITEMS_PER_USER, MEMORY_PROPOSALS_PER_USER};
use crate::{ChatId, Error, MemoryHolder, MemoryItem, MemoryKind, MemoryScope, MemorySource, NewMemory};

const NOTE: NewMemory<'static> = NewMemory {
    kind: MemoryKind::Semantic,
    scope: MemoryScope::Agent,
    scope_name: "",
    name: "",
    text: "deploys are on Fridays",
    source: MemorySource::Asked,
    chat: None,
    message: None,
    is_proposed: false,
    replaces: None,
    supersedes: &[],
    valid_to_ms: None,
};

const CORE: NewMemory<'static> = NewMemory { kind: MemoryKind::Core, name: "persona", ..NOTE };

impl World {
    /// The holders of the memories of ada's coder and bob's writer.
    fn holders(&self) -> [MemoryHolder; 2] {
        [MemoryHolder::agent(self.ada.id, self.coder), MemoryHolder::agent(self.bob.id, self.writer)]
    }

    async fn add(&self, holder: impl Into<MemoryHolder>, new: &NewMemory<'_>) -> MemoryItem {
        self.store.add_memory(holder, new).await.unwrap()
    }

    async fn count(&self, holder: impl Into<MemoryHolder>) -> usize {
        self.store.memory_items(holder).await.unwrap().len()
    }

    /// The coder's chat, in which a core block was read.
    async fn told(&self) -> ChatId {
        let agent = self.store.group_agent(self.coder).await.unwrap();
        let chat = self.store.agent_chat(&agent, "@coder", "ask").await.unwrap();
        assert_eq!(self.store.chat_memory(self.ada.id, &chat, "told").await.unwrap(), "told");
        chat
    }

    /// True if a chat of ada's reads the core blocks again.
    async fn is_read_again(&self, chat: &ChatId) -> bool {
        self.store.chat_memory(self.ada.id, chat, "again").await.unwrap() == "again"
    }
}

fn is_missing<T>(result: crate::Result<T>) -> bool {
    matches!(result, Err(Error::NotFound { .. }))
}

#[tokio::test]
async fn what_an_agent_remembers_is_its_own() {
    let world = World::new().await;
    let (store, ada) = (&world.store, world.ada.id);
    let [coder, writer] = world.holders();
    let other = store.put_group_agent(world.group, ada, draft("other")).await.unwrap();
    let other = MemoryHolder::agent(ada, other);
    // Each holder gets the same core block.
    let mut ids = Vec::new();
    for holder in [ada.into(), coder, other, writer] {
        let item = world.add(holder, &CORE).await;
        assert_eq!((item.agent_id, world.count(holder).await), (holder.agent, 1));
        ids.push(item.id);
        assert!(matches!(store.add_memory(holder, &CORE).await, Err(Error::Taken { .. })));
    }
    let note = world.add(coder, &NOTE).await.id;
    let (own, proposed) =
        (world.add(ada, &NOTE).await.id, world.add(coder, &NewMemory { is_proposed: true, ..NOTE }).await.id);
    for stranger in
        [ada.into(), other, writer, world.bob.id.into(), MemoryHolder::agent(world.bob.id, world.coder)]
    {
        assert!(is_missing(store.memory_item(stranger, note).await));
        assert!(is_missing(store.memory_revisions(stranger, note).await));
        assert!(is_missing(store.accept_memory(stranger, proposed).await));
        let change =
            crate::MemoryChange { name: None, text: Some("x"), valid_to_ms: None, by: MemorySource::Person };
        assert!(is_missing(store.change_memory(stranger, note, &change).await));
        let mine = NewMemory { supersedes: &[note], ..NOTE };
        assert!(is_missing(store.add_memory(stranger, &mine).await));
        assert!(is_missing(store.supersede_memories(stranger, &[note], own).await));
        assert!(!matches!(store.forget_memories(stranger, &[note, proposed]).await, Ok(1..)));
    }
    // Another user cannot add memories for an agent.
    assert!(is_missing(store.add_memory(MemoryHolder::agent(world.bob.id, world.coder), &NOTE).await));
    // The owner can look up an item's holder, and the waiting proposals.
    assert_eq!(store.holder_of_memory(ada, note).await.unwrap(), coder);
    assert_eq!(store.holder_of_memory(ada, own).await.unwrap(), ada.into());
    assert!(is_missing(store.holder_of_memory(world.bob.id, note).await));
    let waiting = store.proposed_memories(ada).await.unwrap();
    assert_eq!(waiting.iter().map(|item| item.id).collect::<Vec<_>>(), [proposed]);
    assert!(store.proposed_memories(world.bob.id).await.unwrap().is_empty());
    let agents = store.own_agents(ada).await.unwrap();
    let agents: Vec<_> = agents.iter().map(|agent| (agent.id, agent.handle.as_str())).collect();
    assert_eq!(agents, [(world.coder, "coder"), (other.agent.unwrap(), "other")]);
}

#[tokio::test]
async fn each_holder_has_room_of_its_own() {
    let world = World::new().await;
    let [coder, _] = world.holders();
    for (is_proposed, most) in [(true, MEMORY_PROPOSALS_PER_USER), (false, MEMORY_ITEMS_PER_USER)] {
        let new = NewMemory { is_proposed, ..NOTE };
        for _ in 0..most {
            world.add(coder, &new).await;
        }
        assert!(matches!(world.store.add_memory(coder, &new).await, Err(Error::Invalid { .. })));
        world.add(world.ada.id, &new).await;
    }
}

#[tokio::test]
async fn what_an_agent_remembers_goes_with_it() {
    let world = World::new().await;
    let (store, ada) = (&world.store, world.ada.id);
    let [coder, writer] = world.holders();
    for holder in [ada.into(), world.bob.id.into(), coder, writer] {
        world.add(holder, &CORE).await;
        world.add(holder, &NewMemory { is_proposed: true, ..NOTE }).await;
    }
    let (chat, own) = (world.told().await, store.create_chat(ada).await.unwrap().id);
    store.chat_memory(ada, &own, "told").await.unwrap();
    // A fork of the agent's chat belongs to its owner, and does not have the agent's core blocks.
    let fork = store.fork_chat(ada, &chat, None).await.unwrap().id;
    assert!(world.is_read_again(&fork).await && !world.is_read_again(&chat).await);
    // If the agent forgets a memory, only its chat reads the core blocks again.
    let forgotten = world.add(coder, &NOTE).await.id;
    assert_eq!(store.forget_memories(coder, &[forgotten]).await.unwrap(), 1);
    assert!(world.is_read_again(&chat).await && !world.is_read_again(&own).await);
    // The agent is removed, and a new agent with the same handle is added.
    store.remove_group_agent(world.group, world.coder).await.unwrap();
    assert_eq!(store.chat_memory(ada, &chat, "").await.unwrap(), "");
    assert_eq!(world.count(coder).await, 0);
    assert!(is_missing(store.add_memory(coder, &NOTE).await), "the agent was removed");
    assert!(is_missing(store.forget_memories(coder, &[forgotten]).await));
    let again =
        MemoryHolder::agent(ada, store.put_group_agent(world.group, ada, draft("coder")).await.unwrap());
    assert_eq!((world.count(again).await, world.count(ada).await), (0, 2));
    // The owner leaves the group.
    store.remove_group_person(world.group, world.bob.id).await.unwrap();
    assert_eq!((world.count(writer).await, world.count(world.bob.id).await), (0, 2));
    assert!(is_missing(store.add_memory(writer, &NOTE).await));
    // The group is deleted.
    let item = world.add(again, &NOTE).await.id;
    store.delete_group(world.group).await.unwrap();
    assert!(is_missing(store.holder_of_memory(ada, item).await));
    assert!(is_missing(store.add_memory(again, &NOTE).await));
    assert_eq!(world.count(ada).await, 2);
}
