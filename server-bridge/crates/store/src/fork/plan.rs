//! Plans a copy: looks up its whole content in one consistent read.

use std::collections::{HashMap, HashSet};

use sqlx::FromRow;

use crate::batches::Row;
use crate::error::Result;
use crate::sql::{Transaction, query_as};
use crate::{ChatId, Store, TurnId};

/// The content to copy of one conversation.
pub(super) struct Plan {
    pub(super) chat: ChatId,
    pub(super) title: String,
    /// The index of its parent's plan.
    pub(super) parent: Option<usize>,
    pub(super) turns: Vec<Row<i64>>,
    /// The last copied turn.
    pub(super) last: i64,
    pub(super) items: Vec<Row<i64>>,
    pub(super) messages: Vec<Row<i64>>,
    /// For each message, the turn that it shows and the one that answers it.
    pub(super) shows: HashMap<i64, i64>,
    pub(super) said: HashMap<i64, i64>,
    pub(super) offloads: Vec<Row<String>>,
}

#[derive(FromRow)]
struct Turn {
    id: i64,
    message_id: Option<i64>,
    said_id: Option<i64>,
    root_turn_id: Option<i64>,
}

#[derive(FromRow)]
struct Item {
    id: i64,
    turn_id: Option<i64>,
    size_bytes: i64,
}

impl Store {
    /// Plans the copy of a conversation, of its named sub-agents, and of theirs in turn; parents first.
    pub(super) async fn plan_fork(&self, chat: &ChatId, up_to: TurnId) -> Result<Vec<Plan>> {
        // One consistent state, whatever is written in the meantime.
        let mut transaction = self.database.snapshot().await?;
        let mut plans = vec![plan(&mut transaction, chat.clone(), up_to, None).await?];
        let roots: HashSet<i64> = plans[0].turns.iter().map(|turn| turn.id).collect();
        let mut at = 0;
        while at < plans.len() {
            let named: Vec<(ChatId, String)> = query_as(
                "SELECT c.id, c.title FROM sub_agents s JOIN chats c ON c.id = s.chat_id
                 WHERE c.parent_id = $1 AND s.instance IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM sub_agents l JOIN chats d ON d.id = l.chat_id
                    WHERE d.parent_id = $1 AND l.instance = s.instance
                      AND (l.used_at_ms, d.created_at_ms, d.id) > (s.used_at_ms, c.created_at_ms, c.id))
                 ORDER BY c.created_at_ms, c.id",
            )
            .bind(&plans[at].chat)
            .fetch_all(&mut transaction)
            .await?;
            for (chat, title) in named {
                let beneath = Some((at, &roots));
                let plan = plan(&mut transaction, chat, TurnId(i64::MAX), beneath).await?;
                // A sub-agent whose first call is not copied does not exist yet at that point.
                if !plan.turns.is_empty() {
                    plans.push(Plan { title, ..plan });
                }
            }
            at += 1;
        }
        transaction.commit().await?;
        Ok(plans)
    }
}

/// Plans one conversation. `beneath` is the index of its parent's plan, and the copied turns of the user's own chat.
async fn plan(
    transaction: &mut Transaction,
    chat: ChatId,
    up_to: TurnId,
    beneath: Option<(usize, &HashSet<i64>)>,
) -> Result<Plan> {
    let mut turns: Vec<Turn> = query_as(
        "SELECT id, message_id, said_id, root_turn_id FROM turns
         WHERE chat_id = $1 AND id <= $2 AND undone_at_ms IS NULL AND status NOT IN ('queued', 'running') ORDER BY id",
    )
    .bind(&chat)
    .bind(up_to)
    .fetch_all(&mut *transaction)
    .await?;
    if let Some((_, roots)) = beneath {
        // A turn without a top turn is from an earlier version, which did not record it.
        turns.retain(|turn| turn.root_turn_id.is_none_or(|root| roots.contains(&root)));
    }
    let copied: HashSet<i64> = turns.iter().map(|turn| turn.id).collect();
    let mut items: Vec<Item> = query_as(
        "SELECT i.id, i.turn_id, CAST(OCTET_LENGTH(i.item_json) AS BIGINT) AS size_bytes
         FROM turn_items i JOIN turns t ON t.id = i.turn_id WHERE t.chat_id = $1 ORDER BY i.id",
    )
    .bind(&chat)
    .fetch_all(&mut *transaction)
    .await?;
    items.retain(|item| item.turn_id.is_some_and(|turn| copied.contains(&turn)));
    let shows: HashMap<i64, i64> =
        turns.iter().filter_map(|turn| Some((turn.message_id?, turn.id))).collect();
    let mut messages = messages(transaction, &chat, up_to).await?;
    messages.retain(|message| message.turn_id.is_none_or(|turn| copied.contains(&turn)));
    let offloads = query_as(
        "SELECT id, CAST(COALESCE(OCTET_LENGTH(text), 0) AS BIGINT) AS size_bytes FROM offloads WHERE chat_id = $1 ORDER BY id",
    )
    .bind(&chat)
    .fetch_all(&mut *transaction)
    .await?;
    Ok(Plan {
        chat,
        title: String::new(),
        parent: beneath.map(|(parent, _)| parent),
        last: turns.last().map_or(0, |turn| turn.id),
        said: turns.iter().filter_map(|turn| Some((turn.said_id?, turn.id))).collect(),
        turns: turns.iter().map(|turn| Row { id: turn.id, size_bytes: 0 }).collect(),
        items: items.into_iter().map(Item::row).collect(),
        messages: messages.into_iter().map(Item::row).collect(),
        shows,
        offloads,
    })
}

/// The messages that were not undone. Messages without a turn are copied up to the beginning of the first turn that is not copied.
async fn messages(transaction: &mut Transaction, chat: &ChatId, up_to: TurnId) -> Result<Vec<Item>> {
    Ok(query_as(
        "SELECT m.id, m.turn_id, CAST(OCTET_LENGTH(m.text) + COALESCE(OCTET_LENGTH(m.document_json), 0) AS BIGINT) AS size_bytes
         FROM messages m WHERE m.chat_id = $1 AND NOT m.undone
            AND NOT EXISTS (SELECT 1 FROM execs e WHERE e.message_id = m.id AND e.status = 'running')
            AND (m.turn_id IS NOT NULL OR m.id < COALESCE(
                (SELECT MIN(COALESCE(t.said_id, t.message_id)) FROM turns t WHERE t.chat_id = $1 AND t.id > $2),
                m.id + 1))
         ORDER BY m.id",
    )
    .bind(chat)
    .bind(up_to)
    .fetch_all(&mut *transaction)
    .await?)
}

impl Item {
    fn row(self) -> Row<i64> {
        Row { id: self.id, size_bytes: self.size_bytes }
    }
}
