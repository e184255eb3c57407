//! Named sub-agents that wait for their next call, for a limited time.

use store::{ChatId, Store, UserId};

use crate::limits::SUB_AGENT_IDLE_MS;
use agent::engine::Named;

/// The sub-agent that a conversation's agent calls by this name.
///
/// Fails with the store's errors.
pub(crate) async fn named(store: &Store, user: UserId, parent: &ChatId, name: &str) -> store::Result<Named> {
    let Some(agent) = store.sub_agent_called(user, parent, name, 0).await? else { return Ok(Named::Nobody) };
    let open_since_ms = store.now_ms() - SUB_AGENT_IDLE_MS;
    let open = store.sub_agent_called(user, parent, name, open_since_ms).await?;
    Ok(open.filter(|open| open.chat == agent.chat).map_or(Named::Closed, |open| Named::Open(Box::new(open))))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use store::{Clock, MessageRole, Name, NewSubAgent};

    use super::*;

    #[tokio::test]
    async fn a_sub_agent_that_has_a_name_waits_for_30_minutes_and_no_longer() {
        let now = Arc::new(AtomicI64::new(1_000));
        let clock = Arc::clone(&now);
        let store = Store::open_in_memory().await.unwrap();
        let store = store.with_clock(Clock::from_fn(move || clock.load(Ordering::Relaxed)));
        let ada = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        let parent = store.create_chat(ada).await.unwrap().id;
        let card = store.append_message(ada, &parent, MessageRole::Assistant, "", None).await.unwrap().id;
        let who = async || named(&store, ada, &parent, "scribe").await.unwrap();
        assert_eq!(who().await, Named::Nobody);
        let new = NewSubAgent {
            parent: &parent,
            message: card,
            role: None,
            instance: Some("scribe"),
            place: None,
            tools_json: "[]",
        };
        let first = store.create_sub_agent(ada, new).await.unwrap();
        now.fetch_add(30 * 60 * 1_000, Ordering::Relaxed);
        assert!(
            matches!(who().await, Named::Open(open) if open.chat == first.chat),
            "to the last millisecond"
        );
        now.fetch_add(1, Ordering::Relaxed);
        assert_eq!(who().await, Named::Closed);
        // Each use restarts the limited time.
        store.use_sub_agent(ada, &first.chat, card).await.unwrap();
        now.fetch_add(30 * 60 * 1_000, Ordering::Relaxed);
        assert!(matches!(who().await, Named::Open(_)));
    }
}
