//! Writes and proposes memories.

use store::{
    ChatId, MemoryChange, MemoryHolder, MemoryItem, MemoryKind, MemoryScope, MemorySource, MessageId,
    NewMemory, Store,
};

use crate::holds;
use crate::likeness::same;
use crate::limits::CORE_MAX_CHARS;

/// A memory to keep or to propose.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The chats that the memory applies to.
    pub scope: MemoryScope,
    /// The name of the machine; empty for other scopes.
    pub scope_name: &'a str,
    /// A short name; may be empty. If an item with this name exists, it is changed.
    pub name: &'a str,
    /// The text of the memory.
    pub text: &'a str,
    /// The chat that the memory comes from.
    pub chat: Option<&'a ChatId>,
    /// The message that the memory comes from.
    pub message: Option<MessageId>,
    /// The ids of the items that the memory makes untrue.
    pub supersedes: &'a [i64],
    /// The time until which the memory applies, in Unix milliseconds; `None` if it has no end.
    pub valid_to_ms: Option<i64>,
}

/// The authority by which a memory is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user writes the memory directly.
    Person,
    /// The user asked a model to write the memory.
    Asked,
    /// A model proposes the memory: the user has to accept it.
    Proposes(MemorySource),
}

/// The result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The memory was added and is kept.
    Kept(MemoryItem),
    /// An existing item got the new text.
    Updated(MemoryItem),
    /// Nothing was added: this item already says the same thing.
    Known(MemoryItem),
    /// The memory waits until the user accepts it.
    Proposed(MemoryItem),
}

impl Written {
    /// The item that was written, or that already says the same thing.
    #[must_use]
    pub fn item(&self) -> &MemoryItem {
        match self {
            Self::Kept(item) | Self::Updated(item) | Self::Known(item) | Self::Proposed(item) => item,
        }
    }
}

/// Keeps or proposes a text for a holder; a memory of an agent has the scope `Agent`. If an item already says the same thing, none is
/// added; if an item has the same name, it gets the text. The items that the text makes untrue are superseded, in the case of a proposal
/// once it is accepted.
///
/// # Errors
/// As for [`Store::add_memory`], [`Store::change_memory`] and [`Store::supersede_memories`]; [`store::Error::Invalid`] for a core block
/// that is longer than 2,000 characters, has no name or has items to supersede, and for items of another scope.
pub async fn write(
    store: &Store,
    holder: impl Into<MemoryHolder>,
    wanted: &Write<'_>,
    standing: Standing,
) -> store::Result<Written> {
    let holder = holder.into();
    let wanted = &match holder.agent {
        Some(_) => Write { scope: MemoryScope::Agent, scope_name: "", ..*wanted },
        None => *wanted,
    };
    let is_core = wanted.kind == MemoryKind::Core;
    if is_core {
        check_core(wanted.name, wanted.text)?;
    }
    let items = store.memory_items(holder).await?;
    check_replaced(&items, wanted)?;
    let now_ms = store.now_ms();
    let is_beside =
        |item: &&MemoryItem| (item.kind == MemoryKind::Core) == is_core && is_of_scope(item, wanted);
    let beside: Vec<&MemoryItem> = items.iter().filter(is_beside).collect();
    let is_named =
        |item: &&&MemoryItem| !wanted.name.is_empty() && item.name == wanted.name && holds(item, now_ms);
    let named = beside.iter().find(is_named).copied();
    let known: Vec<&MemoryItem> = if is_core {
        named.filter(|item| item.text == wanted.text).into_iter().collect()
    } else {
        let says_it =
            |item: &&MemoryItem| (item.is_proposed || holds(item, now_ms)) && same(&item.text, wanted.text);
        beside.iter().copied().filter(says_it).collect()
    };
    let (source, is_proposed) = match standing {
        Standing::Person => (MemorySource::Person, false),
        Standing::Asked => (MemorySource::Asked, false),
        Standing::Proposes(source) => (source, true),
    };
    let kept = known.iter().find(|item| !item.is_proposed).copied();
    let proposed = known.iter().find(|item| item.is_proposed).copied();
    let target = kept.or(named);
    let is_other = |id: &i64| target.is_none_or(|target| target.id != *id);
    let supersedes: Vec<i64> = wanted.supersedes.iter().copied().filter(is_other).collect();
    // A text that is kept already, with items that it makes untrue, also needs a proposal if the writer can only propose.
    let needs_proposal = is_proposed && kept.is_some() && !supersedes.is_empty();
    if let Some(same) = if needs_proposal { proposed } else { kept.or(proposed) } {
        if !supersedes.is_empty() {
            store.supersede_memories(holder, &supersedes, same.id).await?;
        }
        return Ok(Written::Known(same.clone()));
    }
    if let (false, Some(target)) = (is_proposed, target) {
        if !supersedes.is_empty() {
            store.supersede_memories(holder, &supersedes, target.id).await?;
        }
        let change = MemoryChange {
            name: Some(wanted.name).filter(|name| !name.is_empty()),
            text: Some(wanted.text),
            valid_to_ms: wanted.valid_to_ms.map(Some),
            by: source,
        };
        return Ok(Written::Updated(store.change_memory(holder, target.id, &change).await?));
    }
    let new = NewMemory {
        kind: wanted.kind,
        scope: wanted.scope,
        scope_name: wanted.scope_name,
        name: wanted.name,
        text: wanted.text,
        source,
        chat: wanted.chat,
        message: wanted.message,
        is_proposed,
        replaces: target.map(|item| item.id),
        supersedes: &supersedes,
        valid_to_ms: wanted.valid_to_ms,
    };
    let item = store.add_memory(holder, &new).await?;
    Ok(if is_proposed { Written::Proposed(item) } else { Written::Kept(item) })
}

fn is_of_scope(item: &MemoryItem, wanted: &Write<'_>) -> bool {
    (item.scope, item.scope_name.as_str()) == (wanted.scope, wanted.scope_name)
}

/// Checks that a text applies to the same chats as all items that it replaces; otherwise some chats would lose those items without
/// getting the new text.
fn check_replaced(items: &[MemoryItem], wanted: &Write<'_>) -> store::Result<()> {
    let invalid = |what, rule: String| Err(store::Error::Invalid { what, rule });
    if wanted.kind == MemoryKind::Core && !wanted.supersedes.is_empty() {
        return invalid(
            "core block",
            "cannot replace memories; change the block's text, and forget those memories separately"
                .to_owned(),
        );
    }
    for id in wanted.supersedes {
        match items.iter().find(|item| item.id == *id) {
            None => return Err(store::Error::NotFound { what: "memory", name: id.to_string() }),
            Some(item) if !is_of_scope(item, wanted) => {
                let rule = format!("{id} and the new memory have different scopes; give both the same scope");
                return invalid("memory", rule);
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The names of core blocks.
pub const CORE: [&str; 3] = ["persona", "user", "project"];

/// Checks the name of a core block, and that its text has at most 2,000 characters.
///
/// # Errors
/// [`store::Error::Invalid`].
pub fn check_core(name: &str, text: &str) -> store::Result<()> {
    let invalid = |rule: String| Err(store::Error::Invalid { what: "core block", rule });
    if !CORE.contains(&name) {
        return invalid(format!("must be one of {}", CORE.join(", ")));
    }
    let length = text.chars().count();
    if length > CORE_MAX_CHARS {
        return invalid(format!(
            "has {length} characters, and at most {CORE_MAX_CHARS} are allowed; shorten it"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{AgentDraft, Name, UserId};

    async fn world() -> (Store, UserId) {
        let store = Store::open_in_memory().await.unwrap();
        let user = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap();
        (store, user.id)
    }

    fn of(text: &str) -> Write<'_> {
        Write {
            kind: MemoryKind::Semantic,
            scope: MemoryScope::User,
            scope_name: "",
            name: "",
            text,
            chat: None,
            message: None,
            supersedes: &[],
            valid_to_ms: None,
        }
    }

    const PROPOSES: Standing = Standing::Proposes(MemorySource::Model);

    async fn put(store: &Store, user: UserId, wanted: Write<'_>, standing: Standing) -> Written {
        write(store, user, &wanted, standing).await.unwrap()
    }

    #[tokio::test]
    async fn what_is_known_is_skipped_what_has_the_name_is_updated_and_the_rest_is_new() {
        let (store, user) = world().await;
        let person = Standing::Person;
        let named = |text| Write { name: "python", ..of(text) };
        let first = put(&store, user, named("The user prefers Python 3.11"), person).await;
        assert!(matches!(&first, Written::Kept(_)));
        let known = put(&store, user, of("the user prefers python 3.11!"), person).await;
        assert!(matches!(known, Written::Known(_)));
        let beside = put(&store, user, of("The user prefers Python 3.12"), person).await;
        assert!(matches!(beside, Written::Kept(_)), "similar words replace nothing");
        let updated = put(&store, user, named("The user prefers Python 3.13"), person).await;
        assert!(
            matches!(&updated, Written::Updated(item) if item.id == first.item().id && item.revision == 2)
        );
        let in_project =
            Write { scope: MemoryScope::Project, scope_name: "laptop", ..of("The user prefers Python 3.12") };
        assert!(matches!(put(&store, user, in_project, person).await, Written::Kept(_)), "of another scope");
    }

    #[tokio::test]
    async fn what_a_text_makes_untrue_is_superseded_also_if_the_text_is_known() {
        let (store, user) = world().await;
        let by = async |id| store.memory_item(user, id).await.unwrap().superseded_by;
        let rex = put(&store, user, of("Mina's dog is Rex"), Standing::Asked).await.item().id;
        let kira = put(&store, user, of("Mina got a new dog, Kira"), Standing::Asked).await.item().id;
        // The same call again, with the item it replaces: a turn that may only propose makes a proposal.
        let ids = [rex, kira, rex];
        let again = Write { supersedes: &ids, ..of("Mina got a new dog, Kira") };
        for is_first in [true, false] {
            let written = put(&store, user, again, PROPOSES).await;
            assert_eq!(matches!(written, Written::Proposed(_)), is_first, "{written:?}");
        }
        let waiting = store.memory_replacements(user).await.unwrap();
        assert_eq!((waiting.len(), waiting[0].replaces_id, by(rex).await), (1, rex, None));
        let written = put(&store, user, again, Standing::Asked).await;
        assert!(matches!(written, Written::Known(item) if item.id == kira));
        assert_eq!((by(rex).await, by(kira).await), (Some(kira), None));
        store.accept_memory(user, waiting[0].item_id).await.unwrap();
        assert_eq!((by(rex).await, by(kira).await), (Some(kira), None));
        assert_eq!(store.memory_items(user).await.unwrap().len(), 2);
        // A superseded memory does not count as known: it may be true again.
        let ids = [kira];
        let back = Write { supersedes: &ids, name: "dog", ..of("Mina's dog is Rex") };
        assert!(
            matches!(put(&store, user, back, Standing::Asked).await, Written::Kept(item) if item.id > kira)
        );
        // By name: the item with the name gets the text, and the other ids are superseded.
        let (tea, dog) = (put(&store, user, of("Mina likes tea"), Standing::Asked).await.item().id, 4);
        let ids = [tea, dog];
        let both = Write { supersedes: &ids, name: "dog", ..of("Mina likes her dog Luna more than tea") };
        let written = put(&store, user, both, Standing::Asked).await;
        assert_eq!((written.item().id, by(tea).await, by(dog).await), (dog, Some(dog), None));
    }

    #[tokio::test]
    async fn of_two_writers_that_replace_the_same_one_wins_and_the_other_is_told() {
        let (store, user) = world().await;
        let rex = put(&store, user, of("Mina's dog is Rex"), Standing::Asked).await.item().id;
        let ids = [rex];
        let wanted =
            ["Mina's dog is Kira", "Mina's dog is Luna"].map(|text| Write { supersedes: &ids, ..of(text) });
        let (one, other) = tokio::join!(
            write(&store, user, &wanted[0], Standing::Asked),
            write(&store, user, &wanted[1], Standing::Asked)
        );
        let (won, lost) = if one.is_ok() { (one, other) } else { (other, one) };
        let (won, lost) = (won.unwrap(), lost.unwrap_err().to_string());
        assert!(lost.contains(&format!("already replaced by memory {}", won.item().id)), "{lost}");
        assert_eq!(store.memory_items(user).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn ids_that_do_not_belong_are_refused_and_nothing_is_written() {
        let (store, user) = world().await;
        let bob = store.add_user(&Name::parse("bob").unwrap(), "correct horse", false).await.unwrap().id;
        let foreign = put(&store, bob, of("Bob's"), Standing::Person).await.item().id;
        let core = Write { kind: MemoryKind::Core, name: "user", ..of("Ada") };
        let core = put(&store, user, core, Standing::Person).await.item().id;
        let laptop = Write { scope: MemoryScope::Project, scope_name: "laptop", ..of("uses vim") };
        let laptop = put(&store, user, laptop, Standing::Person).await.item().id;
        let proposal = put(&store, user, of("likes tea"), PROPOSES).await.item().id;
        let gone = put(&store, user, of("likes milk"), Standing::Person).await.item().id;
        store.forget_memories(user, &[gone]).await.unwrap();
        let before = store.memory_items(user).await.unwrap();
        let thousand: Vec<i64> = (1..=1_000).collect();
        for ids in [&[foreign][..], &[core], &[laptop], &[proposal], &[gone], &[0], &[i64::MIN], &thousand] {
            for standing in [Standing::Person, Standing::Asked, PROPOSES] {
                let wanted = Write { supersedes: ids, ..of("likes coffee") };
                assert!(write(&store, user, &wanted, standing).await.is_err(), "{ids:?}");
            }
        }
        let ids = [laptop];
        let core = Write { kind: MemoryKind::Core, name: "persona", supersedes: &ids, ..of("Be brief.") };
        assert!(write(&store, user, &core, Standing::Person).await.is_err());
        assert_eq!(store.memory_items(user).await.unwrap(), before);
        assert_eq!(store.memory_items(bob).await.unwrap()[0].superseded_by, None);
    }

    #[tokio::test]
    async fn an_agent_of_a_group_writes_what_is_its_own_and_nobody_elses() {
        let (store, user) = world().await;
        let group = store.create_group(user, "Work").await.unwrap();
        let draft = |handle| AgentDraft {
            handle,
            runner: "none",
            approval: "full",
            model: None,
            persona: "",
            tools_json: None,
            folder: None,
        };
        let coder = store.put_group_agent(group, user, draft("coder")).await.unwrap();
        let writer = store.put_group_agent(group, user, draft("writer")).await.unwrap();
        let holders: [MemoryHolder; 3] =
            [user.into(), MemoryHolder::agent(user, coder), MemoryHolder::agent(user, writer)];
        let on_box = Write { scope: MemoryScope::Project, scope_name: "box", name: "day", ..of("Friday") };
        let persona = Write { kind: MemoryKind::Core, name: "persona", ..of("Be brief.") };
        for holder in holders {
            for wanted in [on_box, persona] {
                let written = write(&store, holder, &wanted, Standing::Asked).await.unwrap();
                assert!(matches!(written, Written::Kept(_)), "no other holder's is known: {written:?}");
                assert_eq!(written.item().agent_id, holder.agent);
            }
            let items = store.memory_items(holder).await.unwrap();
            let is_agents = holder.agent.is_some();
            assert_eq!(items.len(), 2);
            assert!(items.iter().all(|item| (item.scope == MemoryScope::Agent) == is_agents), "{items:?}");
        }
        // Another holder's item with the same name keeps its text, and the id of another holder's item supersedes nothing.
        let monday = Write { text: "Monday", ..on_box };
        assert!(matches!(write(&store, holders[1], &monday, Standing::Asked).await, Ok(Written::Updated(_))));
        let friday = store.memory_items(user).await.unwrap()[0].clone();
        assert_eq!(friday.text, "Friday");
        let ids = [friday.id];
        let wanted = Write { supersedes: &ids, ..of("Tuesday") };
        for (standing, holder) in [(Standing::Asked, holders[1]), (PROPOSES, holders[2])] {
            let refused = write(&store, holder, &wanted, standing).await;
            assert!(matches!(refused, Err(store::Error::NotFound { what: "memory", .. })), "{refused:?}");
        }
    }

    #[tokio::test]
    async fn a_proposal_changes_nothing_and_is_made_once() {
        let (store, user) = world().await;
        let named = |text| Write { name: "python", ..of(text) };
        let kept = put(&store, user, named("The user prefers Python 3.11"), Standing::Asked).await;
        let proposed = put(&store, user, named("The user prefers Python 3.12"), PROPOSES).await;
        assert!(matches!(&proposed, Written::Proposed(item) if item.replaces_id == Some(kept.item().id)));
        let again = put(&store, user, of("The user prefers Python 3.12"), PROPOSES).await;
        assert!(matches!(again, Written::Known(_)));
        assert_eq!(store.memory_item(user, kept.item().id).await.unwrap().revision, 1);
    }

    #[tokio::test]
    async fn a_core_block_is_there_once_and_is_short() {
        let (store, user) = world().await;
        let core = |text| Write { kind: MemoryKind::Core, name: "persona", ..of(text) };
        put(&store, user, core("Be brief."), Standing::Person).await;
        assert!(matches!(put(&store, user, core("Be kind."), Standing::Person).await, Written::Updated(_)));
        assert!(matches!(put(&store, user, core("Be kind."), Standing::Person).await, Written::Known(_)));
        let long = "x".repeat(2_001);
        let other = Write { name: "enemy", ..core("x") };
        for wanted in [core(&long), other] {
            assert!(write(&store, user, &wanted, Standing::Person).await.is_err());
        }
    }
}
