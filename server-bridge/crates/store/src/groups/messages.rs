//! Messages between agents: an entry is written together with the call that it makes, once for each key.
//!
//! ```text
//!   wait:        the agent waits for the end of the call, and gets the answer
//!   background:  the agent continues; the end of the call makes a call of mode `answer` to it
//!   hand_off:    the agent's own call ends without an entry; the end of the new call counts as its end
//! ```
//! All messages that result from one request of a person have the same origin: `call/12`, or `turn/7` in the agent's own chat. Agents never wait for
//! each other in a circle: a call that would close one is not made.

use std::collections::{HashMap, HashSet};

use sqlx::FromRow;

use super::calls::{GroupCall, NewCall, calls};
use super::entries::{EntryKind, NewEntry};
use super::members::touch;
use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{AGENT_MESSAGES, ENTRY_MAX_BYTES, beginning};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, Store, TurnId};

/// How an agent calls another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum CallMode {
    /// The agent waits for the answer.
    Wait,
    /// The agent continues, and gets the answer later, as another call.
    Background,
    /// The agent hands its task over to the other agent.
    HandOff,
    /// The call passes on an answer that the agent did not wait for.
    Answer,
}

impl CallMode {
    /// The mode's name in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Background => "background",
            Self::HandOff => "hand_off",
            Self::Answer => "answer",
        }
    }
}

crate::sql::bind_as_word!(CallMode);

/// The origin of the turn that an agent is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A call in the group.
    Call(Box<GroupCall>),
    /// The agent's owner, in the agent's chat.
    Owner,
    /// Unknown, or the request that led to the turn has ended.
    Nobody,
}

/// A message from an agent to its group.
#[derive(Clone, Copy, Debug)]
pub struct AgentMessage<'a> {
    /// The group's id.
    pub group: i64,
    /// The agent's handle.
    pub handle: &'a str,
    /// The origin: the person's request that led to this message.
    pub origin: &'a str,
    /// A key that is unique within the origin; a message with a known key is not posted again.
    pub key: &'a str,
    /// The text, at most 1 MiB.
    pub text: &'a str,
    /// The handles of the agents that it mentions, as a JSON list.
    pub asks_json: &'a str,
    /// The call that it makes, if any.
    pub asks: Option<Asks<'a>>,
    /// The server's message for the log, posted once, when the agents have reached the limit of messages without a person.
    pub notice: &'a str,
}

/// The call that a message makes.
#[derive(Clone, Copy, Debug)]
pub struct Asks<'a> {
    /// The call; the person who asked for the turn is its user.
    pub call: NewCall<'a>,
    /// How the call is made.
    pub mode: CallMode,
    /// The agent that makes the call.
    pub by_agent: i64,
    /// The call that this agent is working on.
    pub parent: Option<i64>,
}

/// The result of posting a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The message is in the log. Contains the id of its call, if it makes one.
    Posted(Option<i64>),
    /// The agents have reached the limit of messages without a person.
    TooMany,
    /// The other agent waits for this one, so the call was not made.
    Circle,
    /// The agent already handed its task over.
    HandedOver,
}

/// The part of a call that shows which agent waits for which.
#[derive(FromRow)]
struct Link {
    id: i64,
    agent_id: i64,
    parent_id: Option<i64>,
    mode: Option<CallMode>,
    has_ended: bool,
}

impl AgentMessage<'_> {
    async fn post(&self, transaction: &mut Transaction, now_ms: i64) -> Result<Passed> {
        let said: i64 = query_scalar(
            "SELECT COUNT(*) FROM group_entries WHERE origin = $1 AND message_key IS NOT NULL AND kind = 'agent'",
        )
        .bind(self.origin)
        .fetch_one(&mut *transaction)
        .await?;
        if said >= AGENT_MESSAGES {
            let known: bool = query_scalar(
                "SELECT EXISTS (SELECT 1 FROM group_entries WHERE origin = $1 AND kind = 'server')",
            )
            .bind(self.origin)
            .fetch_one(&mut *transaction)
            .await?;
            if !known {
                let notice = NewEntry::of_server(self.group, self.notice);
                let entry = notice.insert(transaction, None, now_ms).await?;
                mark(transaction, entry.id, self.origin, "stopped").await?;
            }
            return Ok(Passed::TooMany);
        }
        if let Some(Asks { call, mode, parent, .. }) = self.asks {
            if let Some(parent) = parent.filter(|_| mode == CallMode::HandOff)
                && is_handed_over(transaction, parent).await?
            {
                return Ok(Passed::HandedOver);
            }
            if let Some(parent) = parent.filter(|_| mode != CallMode::Background)
                && waits_for(transaction, self.group, call.agent, parent).await?
            {
                return Ok(Passed::Circle);
            }
        }
        let entry = NewEntry {
            kind: EntryKind::Agent,
            author: self.handle,
            asks_json: self.asks_json,
            ..NewEntry::of_server(self.group, self.text)
        };
        let entry = entry.insert(transaction, None, now_ms).await?;
        mark(transaction, entry.id, self.origin, self.key).await?;
        let Some(Asks { call, mode, by_agent, parent, .. }) = self.asks else {
            return Ok(Passed::Posted(None));
        };
        let id = call.insert(transaction, Some(entry.id), now_ms).await?;
        let id = id.ok_or_else(|| Error::not_found("agent", call.agent.to_string()))?;
        query(
            "UPDATE group_calls SET mode = $1, by_agent_id = $2, parent_id = $3, origin = $4 WHERE id = $5",
        )
        .bind(mode)
        .bind(by_agent)
        .bind(parent)
        .bind(self.origin)
        .bind(id)
        .execute(&mut *transaction)
        .await?;
        Ok(Passed::Posted(Some(id)))
    }
}

/// Records an entry's origin and key.
async fn mark(transaction: &mut Transaction, entry: i64, origin: &str, key: &str) -> Result<()> {
    query("UPDATE group_entries SET origin = $1, message_key = $2 WHERE id = $3")
        .bind(origin)
        .bind(key)
        .bind(entry)
        .execute(&mut *transaction)
        .await?;
    Ok(())
}

/// True if the agent of a call handed its task over.
pub(super) async fn is_handed_over(transaction: &mut Transaction, call: i64) -> Result<bool> {
    let handed =
        query_scalar("SELECT EXISTS (SELECT 1 FROM group_calls WHERE parent_id = $1 AND mode = 'hand_off')");
    Ok(handed.bind(call).fetch_one(&mut *transaction).await?)
}

/// True if `agent` cannot answer before the call `until` ends, because its first open call waits for that, directly or not.
async fn waits_for(transaction: &mut Transaction, group: i64, agent: i64, until: i64) -> Result<bool> {
    let links: Vec<Link> = query_as(
        "SELECT id, agent_id, parent_id, mode, ended_at_ms IS NOT NULL AS has_ended FROM group_calls
         WHERE group_id = $1 AND (ended_at_ms IS NULL
            OR origin IN (SELECT origin FROM group_calls WHERE group_id = $1 AND ended_at_ms IS NULL AND origin IS NOT NULL))
         ORDER BY id",
    )
    .bind(group)
    .fetch_all(&mut *transaction)
    .await?;
    let mut heads: HashMap<i64, &Link> = HashMap::new();
    for link in links.iter().filter(|link| !link.has_ended) {
        heads.entry(link.agent_id).or_insert(link);
    }
    let mut seen = HashSet::new();
    let mut next: Vec<&Link> = heads.get(&agent).copied().into_iter().collect();
    while let Some(link) = next.pop() {
        if !seen.insert(link.id) {
            continue;
        }
        if link.id == until {
            return Ok(true);
        }
        // An open call waits for the earlier calls of its agent.
        next.extend(heads.get(&link.agent_id).filter(|_| !link.has_ended).copied());
        let waits = |child: &&Link| match child.mode {
            Some(CallMode::Wait) => !link.has_ended,
            Some(CallMode::HandOff) => true,
            Some(CallMode::Background | CallMode::Answer) | None => false,
        };
        next.extend(links.iter().filter(|child| child.parent_id == Some(link.id)).filter(waits));
    }
    Ok(false)
}

/// Passes the end of a call on to an agent that did not wait for it.
pub(super) async fn hear(
    transaction: &mut Transaction,
    call: i64,
    entry: Option<i64>,
    now_ms: i64,
) -> Result<()> {
    let ended = one(transaction, call).await?;
    let mut asked = ended.clone();
    while asked.mode == Some(CallMode::HandOff) {
        let Some(parent) = asked.parent_id else { return Ok(()) };
        asked = one(transaction, parent).await?;
    }
    let text = match ended.state {
        super::CallState::Done => ended.output,
        super::CallState::Failed => format!("No answer: {}", ended.reason),
        _ => return Ok(()),
    };
    if asked.mode != Some(CallMode::Background) {
        return Ok(());
    }
    query(
        "INSERT INTO group_calls (group_id, agent_id, asked_by_id, asked_by, entry_id, request, state, created_at_ms, mode, by_agent_id,
            parent_id, origin)
         SELECT c.group_id, a.id, c.asked_by_id, c.asked_by, $2, $3, 'queued', $4, 'answer', $5, c.parent_id, c.origin
         FROM group_calls c JOIN group_agents a ON a.id = c.by_agent_id WHERE c.id = $1 AND a.removed_at_ms IS NULL",
    )
    .bind(asked.id)
    .bind(entry)
    .bind(beginning(&text, ENTRY_MAX_BYTES))
    .bind(now_ms)
    .bind(ended.agent_id)
    .execute(&mut *transaction)
    .await?;
    Ok(())
}

async fn one(transaction: &mut Transaction, call: i64) -> Result<GroupCall> {
    Ok(query_as(concat!(calls!(), " WHERE c.id = $1")).bind(call).fetch_one(&mut *transaction).await?)
}

impl Store {
    /// Finds the origin of a turn in an agent's chat; for a sub-agent's turn, that of its top turn. The message's text must be the same as the
    /// call's, so that a client cannot impersonate a call by choosing its send id.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn asker_of_turn(&self, chat: &ChatId, turn: TurnId) -> Result<Asker> {
        let Some((send_id, text)) = self.said_for_turn(chat, turn).await? else { return Ok(Asker::Nobody) };
        if !send_id.as_deref().is_some_and(|id| id.starts_with("call/")) {
            return Ok(Asker::Owner);
        }
        let call = self.call_of_send(chat, send_id.as_deref(), &text).await?;
        let open = call.filter(|call| !call.state.has_ended() && !call.is_unwanted);
        Ok(open.map_or(Asker::Nobody, |call| Asker::Call(Box::new(call))))
    }

    /// The call that a turn of an agent's chat works for, or worked for if it has ended: sub-agents in the background may outlive it. For a
    /// sub-agent's turn, that of its top turn.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn call_of_turn(&self, chat: &ChatId, turn: TurnId) -> Result<Option<GroupCall>> {
        match self.said_for_turn(chat, turn).await? {
            Some((send_id, text)) => self.call_of_send(chat, send_id.as_deref(), &text).await,
            None => Ok(None),
        }
    }

    /// True if a turn, or the top turn above it, answers a message that was posted for a call.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn is_turn_of_call(&self, chat: &ChatId, turn: TurnId) -> Result<bool> {
        let said = self.said_for_turn(chat, turn).await?;
        Ok(said.and_then(|(send_id, _)| send_id).is_some_and(|id| id.starts_with("call/")))
    }

    /// The send id and the text of the message that a turn, or the top turn above it, answers. They were written before the turn began, and every
    /// request of every chat to a model asks for them, so this does not wait for the writer.
    async fn said_for_turn(&self, chat: &ChatId, turn: TurnId) -> Result<Option<(Option<String>, String)>> {
        Ok(query_as(
            "SELECT s.send_id, m.text FROM turns t JOIN messages m ON m.id = t.said_id
                LEFT JOIN sends s ON s.message_id = m.id AND s.chat_id = t.chat_id
             WHERE t.chat_id = $2 AND (t.id = $1 OR t.id = (SELECT b.root_turn_id FROM turns b WHERE b.id = $1))",
        )
        .bind(turn)
        .bind(chat)
        .fetch_optional(self.database.reader())
        .await?)
    }

    /// The call that was posted to a chat under this send id with this text.
    async fn call_of_send(
        &self,
        chat: &ChatId,
        send_id: Option<&str>,
        text: &str,
    ) -> Result<Option<GroupCall>> {
        let id = send_id.and_then(|id| id.strip_prefix("call/")).and_then(|id| id.parse().ok());
        let Some(id) = id else { return Ok(None) };
        match self.group_call(id).await {
            Ok(call) => {
                let is_own = call.chat.as_ref() == Some(chat) && call.posted_text.as_deref() == Some(text);
                Ok(is_own.then_some(call))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Records the message that shows the answer to a call, while the turn that answers it, or a sub-agent's turn below it, is at work: from
    /// then on the tokens of that turn are the call's. Nothing changes if that is on record.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn answers_call(&self, call: &GroupCall, chat: &ChatId, turn: TurnId) -> Result<()> {
        query(
            "UPDATE group_calls SET message_id = (SELECT t.message_id FROM turns t
                WHERE t.chat_id = $2 AND (t.id = $1 OR t.id = (SELECT b.root_turn_id FROM turns b WHERE b.id = $1)))
             WHERE id = $3 AND message_id IS NULL",
        )
        .bind(turn)
        .bind(chat)
        .bind(call.id)
        .execute(self.database.writer(Scope::Group(call.group_id)))
        .await?;
        Ok(())
    }

    /// Posts an agent's message with the call that it makes, in one transaction, and once for each key.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 1 MiB of text or 100 open calls of an agent; [`Error::NotFound`] if that agent was removed.
    pub async fn pass_message(&self, message: AgentMessage<'_>) -> Result<Passed> {
        check_length("message", message.text, ENTRY_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Group(message.group)).await?;
        let known: Option<i64> =
            query_scalar("SELECT id FROM group_entries WHERE origin = $1 AND message_key = $2")
                .bind(message.origin)
                .bind(message.key)
                .fetch_optional(&mut transaction)
                .await?;
        if let Some(entry) = known {
            let call = query_scalar("SELECT id FROM group_calls WHERE entry_id = $1 AND mode <> 'answer'")
                .bind(entry)
                .fetch_optional(&mut transaction)
                .await?;
            return Ok(Passed::Posted(call));
        }
        let passed = message.post(&mut transaction, self.now_ms()).await?;
        touch(&mut transaction, message.group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(passed)
    }

    /// The call whose end counts as the end of this one: the call itself, or the last one that its task was handed over to.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn answering_call(&self, call: i64) -> Result<GroupCall> {
        let mut answering = self.group_call(call).await?;
        loop {
            let next: Option<GroupCall> =
                query_as(concat!(calls!(), " WHERE c.parent_id = $1 AND c.mode = 'hand_off'"))
                    .bind(answering.id)
                    .fetch_optional(self.database.latest())
                    .await?;
            match next {
                Some(next) => answering = next,
                None => return Ok(answering),
            }
        }
    }

    /// Lets the agent that waits for a call continue and get the answer later; returns false if the call has ended.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn stop_waiting(&self, call: &GroupCall) -> Result<bool> {
        let mut transaction = self.database.write(Scope::Group(call.group_id)).await?;
        let mut last = call.id;
        loop {
            let next: Option<i64> =
                query_scalar("SELECT id FROM group_calls WHERE parent_id = $1 AND mode = 'hand_off'")
                    .bind(last)
                    .fetch_optional(&mut transaction)
                    .await?;
            match next {
                Some(next) => last = next,
                None => break,
            }
        }
        if one(&mut transaction, last).await?.state.has_ended() {
            return Ok(false);
        }
        query("UPDATE group_calls SET mode = 'background' WHERE id = $1 AND mode = 'wait'")
            .bind(call.id)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Open calls whose result is no longer needed, each with its group: the request that led to them was stopped, or the agent that made them
    /// ended while it waited.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn orphaned_calls(&self) -> Result<Vec<(i64, i64)>> {
        Ok(query_as(concat!(
            "SELECT c.group_id, c.id FROM group_calls c JOIN group_calls p ON p.id = c.parent_id
                LEFT JOIN group_runs r ON r.id = p.run_id
             WHERE c.ended_at_ms IS NULL AND NOT c.is_unwanted
                AND (p.state = 'stopped' OR r.state = 'stopped' OR (p.ended_at_ms IS NOT NULL AND c.mode = 'wait')) AND ",
            at_home!("(SELECT MIN(g.user_id) FROM group_people g WHERE g.group_id = c.group_id)", "$1")
        ))
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The calls of a run whose agents stopped at the limit of messages without a person.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn cut_calls(&self, run: i64) -> Result<Vec<i64>> {
        Ok(query_scalar(
            "SELECT c.id FROM group_calls c WHERE c.run_id = $1 AND EXISTS (SELECT 1 FROM group_entries e
                WHERE e.origin = 'call/' || c.id AND e.message_key IS NOT NULL AND e.kind = 'server')",
        )
        .bind(run)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// The tokens that other agents used at the request of a run's agents, and their cost in millionths of a US dollar.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn spent_by_others(&self, run: i64) -> Result<(i64, i64)> {
        let calls: Vec<GroupCall> = query_as(concat!(
            calls!(),
            " WHERE c.run_id IS NULL AND c.origin IN (SELECT 'call/' || r.id FROM group_calls r WHERE r.run_id = $1)"
        ))
        .bind(run)
        .fetch_all(self.database.latest())
        .await?;
        Ok(calls.iter().map(GroupCall::spent).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
    }
}
