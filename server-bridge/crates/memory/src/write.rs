//! Writes and proposes memories.

use store::{
    ChatId, MemoryChange, MemoryItem, MemoryKind, MemoryScope, MemorySource, MessageId, NewMemory, Store,
    UserId,
};

use crate::holds;
use crate::likeness::Likeness;
use crate::limits::{CORE_MAX_CHARS, SAME_ABOVE, UPDATE_ABOVE};

/// A memory to keep or to propose.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// Its kind.
    pub kind: MemoryKind,
    /// The chats that it applies to.
    pub scope: MemoryScope,
    /// The name of the machine (`Project`) or of the role (`Agent`); empty for `User`.
    pub scope_name: &'a str,
    /// A short name; may be empty. If an item of this name exists, it is changed.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
    /// The chat that it comes from.
    pub chat: Option<&'a ChatId>,
    /// The message that it comes from.
    pub message: Option<MessageId>,
    /// The item that this one supersedes.
    pub supersedes: Option<i64>,
    /// The time until which it applies, in Unix milliseconds; `None` without an end.
    pub valid_to_ms: Option<i64>,
}

/// The authority by which a memory is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user writes it directly.
    Person,
    /// The user asked a model to write it.
    Asked,
    /// A model proposes it: the user has to accept it.
    Proposes(MemorySource),
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is kept.
    Kept(MemoryItem),
    /// An item got the new text.
    Updated(MemoryItem),
    /// This item already says the same.
    Known(MemoryItem),
    /// It waits until the user accepts it.
    Proposed(MemoryItem),
}

impl Written {
    /// The item.
    #[must_use]
    pub fn item(&self) -> &MemoryItem {
        match self {
            Self::Kept(item) | Self::Updated(item) | Self::Known(item) | Self::Proposed(item) => item,
        }
    }
}

/// Keeps or proposes a text. If an item says almost the same, nothing is written; if one is similar, it is updated.
///
/// # Errors
/// As for [`Store::add_memory`] and [`Store::change_memory`]; [`store::Error::Invalid`] for a core block beyond 2,000 characters or without a name.
pub async fn write(
    store: &Store,
    user: UserId,
    wanted: &Write<'_>,
    standing: Standing,
    likeness: Likeness<'_>,
) -> store::Result<Written> {
    let is_core = wanted.kind == MemoryKind::Core;
    if is_core {
        check_core(wanted.name, wanted.text)?;
    }
    let items = store.memory_items(user).await?;
    let now_ms = store.now_ms();
    let is_beside = |item: &&MemoryItem| {
        (item.kind == MemoryKind::Core) == is_core
            && (item.scope, item.scope_name.as_str()) == (wanted.scope, wanted.scope_name)
    };
    let beside: Vec<&MemoryItem> = items.iter().filter(is_beside).collect();
    let is_named =
        |item: &&&MemoryItem| !wanted.name.is_empty() && item.name == wanted.name && holds(item, now_ms);
    let mut target = beside.iter().find(is_named).copied();
    if is_core {
        if let Some(same) = target.filter(|item| item.text == wanted.text) {
            return Ok(Written::Known(same.clone()));
        }
    } else {
        let mut best = 0.0;
        for item in &beside {
            let alike = likeness(&item.text, wanted.text);
            if alike > SAME_ABOVE && (item.is_proposed || holds(item, now_ms)) {
                return Ok(Written::Known((*item).clone()));
            }
            let is_other = target.is_none_or(|target| target.name != wanted.name || wanted.name.is_empty());
            if is_other && holds(item, now_ms) && alike > UPDATE_ABOVE && alike > best {
                (best, target) = (alike, Some(*item));
            }
        }
    }
    let (source, is_proposed) = match standing {
        Standing::Person => (MemorySource::Person, false),
        Standing::Asked => (MemorySource::Asked, false),
        Standing::Proposes(source) => (source, true),
    };
    let replaces = wanted.supersedes.or(target.map(|item| item.id));
    if let (false, None, Some(target)) = (is_proposed, wanted.supersedes, target) {
        let change = MemoryChange {
            name: Some(wanted.name).filter(|name| !name.is_empty()),
            text: Some(wanted.text),
            valid_to_ms: wanted.valid_to_ms.map(Some),
            by: source,
        };
        return Ok(Written::Updated(store.change_memory(user, target.id, &change).await?));
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
        replaces: if is_proposed { replaces } else { None },
        valid_to_ms: wanted.valid_to_ms,
    };
    if let Some(old) = wanted.supersedes {
        store.memory_item(user, old).await?;
    }
    let item = store.add_memory(user, &new).await?;
    if is_proposed {
        return Ok(Written::Proposed(item));
    }
    if let Some(old) = wanted.supersedes {
        store.supersede_memory(user, old, item.id).await?;
    }
    Ok(Written::Kept(item))
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
    use crate::likeness::lexical;
    use store::Name;

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
            supersedes: None,
            valid_to_ms: None,
        }
    }

    async fn put(store: &Store, user: UserId, wanted: Write<'_>, standing: Standing) -> Written {
        write(store, user, &wanted, standing, &lexical).await.unwrap()
    }

    #[tokio::test]
    async fn what_is_known_is_skipped_what_is_alike_is_updated_and_the_rest_is_new() {
        let (store, user) = world().await;
        let person = Standing::Person;
        let first = put(&store, user, of("The user prefers Python 3.11"), person).await;
        assert!(matches!(&first, Written::Kept(_)));
        assert!(matches!(
            put(&store, user, of("the user prefers python 3.11!"), person).await,
            Written::Known(_)
        ));
        let updated = put(&store, user, of("The user prefers Python 3.12"), person).await;
        assert!(
            matches!(&updated, Written::Updated(item) if item.id == first.item().id && item.revision == 2)
        );
        assert!(matches!(put(&store, user, of("Deploys run on Fridays"), person).await, Written::Kept(_)));
        let in_project =
            Write { scope: MemoryScope::Project, scope_name: "laptop", ..of("The user prefers Python 3.12") };
        assert!(matches!(put(&store, user, in_project, person).await, Written::Kept(_)), "of another scope");
        let other = Write { supersedes: Some(first.item().id), ..of("Ruby is what they use now") };
        put(&store, user, other, person).await;
        assert!(store.memory_item(user, first.item().id).await.unwrap().superseded_by.is_some());
        assert!(matches!(
            put(&store, user, of("The user prefers Python 3.12"), person).await,
            Written::Kept(_)
        ));
    }

    #[tokio::test]
    async fn a_proposal_changes_nothing_and_is_made_once() {
        let (store, user) = world().await;
        let kept = put(&store, user, of("The user prefers Python 3.11"), Standing::Asked).await;
        let model = Standing::Proposes(MemorySource::Model);
        let proposed = put(&store, user, of("The user prefers Python 3.12"), model).await;
        assert!(matches!(&proposed, Written::Proposed(item) if item.replaces_id == Some(kept.item().id)));
        assert!(matches!(
            put(&store, user, of("The user prefers Python 3.12"), model).await,
            Written::Known(_)
        ));
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
            assert!(write(&store, user, &wanted, Standing::Person, &lexical).await.is_err());
        }
    }
}
