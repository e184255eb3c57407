//! Calls of agents: a call's row is written together with the entry or message that makes the call, and ends together with the answer's entry.
//!
//! ```text
//!   queued ⇄ waiting (for the machine) ─▶ running (posted to the agent's chat) ─▶ done | failed | stopped
//! ```

use sqlx::FromRow;

use super::entries::{EntryKind, NewEntry};
use super::members::touch;
use super::messages::{CallMode, hear, is_handed_over};
use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{CALLS_WAITING, ENTRY_MAX_BYTES, JOB_NOTE_MAX_BYTES, beginning};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{ChatId, MessageId, Store, TurnStatus, UserId};

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum CallState {
    /// The call is waiting to be posted to its agent's chat.
    Queued,
    /// The call is waiting because its agent's machine cannot be used now.
    Waiting,
    /// The call was posted to its agent's chat.
    Running,
    /// The call's agent answered.
    Done,
    /// The call's agent could not answer, or took too long.
    Failed,
    /// A person stopped the call.
    Stopped,
}

impl CallState {
    /// The state's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// True if the state is final.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}

crate::sql::bind_as_word!(CallState);

/// A call to make.
#[derive(Clone, Copy, Debug)]
pub struct NewCall<'a> {
    /// The group's id.
    pub group: i64,
    /// The id of the agent that is called.
    pub agent: i64,
    /// The person who makes the call.
    pub user: UserId,
    /// The person's name.
    pub user_name: &'a str,
    /// The text of the request.
    pub request: &'a str,
    /// For a step of a chain: the run, the step counted from 0, the attempt counted from 1.
    pub step: Option<(i64, i64, i64)>,
    /// The time that the call may take once it is posted, in milliseconds.
    pub limit_ms: Option<i64>,
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GroupCall {
    /// The id; later calls have larger ones.
    pub id: i64,
    /// The id of its group.
    pub group_id: i64,
    /// The id of the agent that is called.
    pub agent_id: i64,
    /// The agent's handle.
    pub handle: String,
    /// The place where the agent works.
    pub runner: String,
    /// The person who made the call; `None` if the user was removed.
    #[sqlx(rename = "asked_by_id")]
    pub user: Option<UserId>,
    /// The person's name.
    pub asked_by: String,
    /// The entry that made the call.
    pub entry_id: Option<i64>,
    /// The run of the chain that made the call; `None` for other calls.
    pub run_id: Option<i64>,
    /// The step of the chain, counted from 0.
    pub step: Option<i64>,
    /// The attempt at the step, counted from 1.
    pub attempt: Option<i64>,
    /// The time that the call may take once it is posted, in milliseconds.
    pub limit_ms: Option<i64>,
    /// The text of the request.
    pub request: String,
    /// The text that is posted to the agent's chat, once that is decided.
    pub posted_text: Option<String>,
    /// The call's state.
    pub state: CallState,
    /// The reason why it is waiting or why it failed.
    pub reason: String,
    /// The agent's answer.
    pub output: String,
    /// True once a request to stop it was made.
    pub is_unwanted: bool,
    /// The chat that it was posted to.
    #[sqlx(rename = "chat_id")]
    pub chat: Option<ChatId>,
    /// The message in that chat that shows the answer.
    #[sqlx(rename = "message_id")]
    pub message: Option<MessageId>,
    /// The tokens that it used, recorded at its end.
    pub tokens: i64,
    /// The cost of those tokens, in millionths of a US dollar.
    pub cost_micros: i64,
    /// When it was created, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it was posted, in Unix milliseconds.
    pub posted_at_ms: Option<i64>,
    /// When it ended, in Unix milliseconds.
    pub ended_at_ms: Option<i64>,
    /// The state of the turn that answers it.
    pub turn_status: Option<TurnStatus>,
    /// The reason why that turn failed.
    pub turn_error: Option<String>,
    /// The tokens that the turn and its sub-agents' turns have used so far.
    pub turn_tokens: i64,
    /// The cost of those tokens, in millionths of a US dollar.
    pub turn_cost_micros: i64,
    /// How an agent made the call; `None` if a person made it.
    pub mode: Option<CallMode>,
    /// The handle of the agent that made the call or whose answer it passes on; `None` if a person made it.
    pub by_agent: Option<String>,
    /// The call that this agent was working on at that time.
    pub parent_id: Option<i64>,
    /// The person's request that led to this call: `call/12`, or `turn/7` in an agent's own chat; `None` for the person's own call.
    pub origin: Option<String>,
}

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// The final state: done, failed or stopped.
    pub state: CallState,
    /// The reason why it failed or was stopped.
    pub reason: &'a str,
    /// The agent's answer; it becomes an entry of the log unless it is empty.
    pub output: &'a str,
    /// The server's message for the log if there is no answer; if it is empty, no message is added.
    pub note: &'a str,
}

impl GroupCall {
    /// The tokens that the call used, and their cost: the values recorded at its end, or the sum over its turns, which is larger if a
    /// sub-agent ended later.
    pub fn spent(&self) -> (i64, i64) {
        (self.tokens.max(self.turn_tokens), self.cost_micros.max(self.turn_cost_micros))
    }
}

macro_rules! calls {
    () => {
        "SELECT c.id, c.group_id, c.agent_id, a.handle, a.runner, c.asked_by_id, c.asked_by, c.entry_id, c.run_id, c.step, c.attempt,
            c.limit_ms, c.request, c.posted_text, c.state, c.reason, c.output, c.is_unwanted, c.chat_id, c.message_id, c.tokens,
            c.cost_micros, c.created_at_ms, c.posted_at_ms, c.ended_at_ms, t.status AS turn_status, t.error AS turn_error,
            COALESCE(t.input_tokens + t.output_tokens, 0) + COALESCE((SELECT CAST(SUM(u.input_tokens + u.output_tokens) AS BIGINT)
                FROM turns u WHERE u.root_turn_id = t.id), 0) AS turn_tokens,
            COALESCE(t.cost_micros, 0) + COALESCE((SELECT CAST(SUM(u.cost_micros) AS BIGINT)
                FROM turns u WHERE u.root_turn_id = t.id), 0) AS turn_cost_micros, c.mode, b.handle AS by_agent, c.parent_id, c.origin
         FROM group_calls c JOIN group_agents a ON a.id = c.agent_id LEFT JOIN group_agents b ON b.id = c.by_agent_id
            LEFT JOIN turns t ON t.message_id = c.message_id"
    };
}
pub(super) use calls;

impl NewCall<'_> {
    /// Records the call within a transaction; `None` if the step's attempt already has one.
    pub(super) async fn insert(
        &self,
        transaction: &mut Transaction,
        entry: Option<i64>,
        now_ms: i64,
    ) -> Result<Option<i64>> {
        check_length("request", self.request, ENTRY_MAX_BYTES)?;
        let open: i64 =
            query_scalar("SELECT COUNT(*) FROM group_calls WHERE agent_id = $1 AND ended_at_ms IS NULL")
                .bind(self.agent)
                .fetch_one(&mut *transaction)
                .await?;
        if open >= CALLS_WAITING && self.step.is_none() {
            let rule = format!("already has {open} unanswered requests; wait until it has answered some");
            return Err(Error::Invalid { what: "agent", rule });
        }
        let (run, step, attempt) = self
            .step
            .map_or((None, None, None), |(run, step, attempt)| (Some(run), Some(step), Some(attempt)));
        Ok(query_scalar(
            "INSERT INTO group_calls (group_id, agent_id, asked_by_id, asked_by, entry_id, run_id, step, attempt, limit_ms, request,
                state, created_at_ms)
             SELECT $1, a.id, $3, $4, $5, $6, $7, $8, $9, $10, 'queued', $11 FROM group_agents a
             WHERE a.id = $2 AND a.group_id = $1 AND a.removed_at_ms IS NULL
             ON CONFLICT (run_id, step, attempt) WHERE run_id IS NOT NULL DO NOTHING RETURNING id",
        )
        .bind(self.group)
        .bind(self.agent)
        .bind(self.user)
        .bind(self.user_name)
        .bind(entry)
        .bind(run)
        .bind(step)
        .bind(attempt)
        .bind(self.limit_ms)
        .bind(self.request)
        .bind(now_ms)
        .fetch_optional(&mut *transaction)
        .await?)
    }
}

impl Store {
    /// The calls to work on: the first open call of each agent, for which the agent's later ones wait, and those to be stopped.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn calls_at_work(&self) -> Result<Vec<GroupCall>> {
        Ok(query_as(concat!(
            calls!(),
            " WHERE c.ended_at_ms IS NULL AND (c.is_unwanted
                OR c.id IN (SELECT MIN(o.id) FROM group_calls o WHERE o.ended_at_ms IS NULL GROUP BY o.agent_id)) AND ",
            at_home!("(SELECT MIN(p.user_id) FROM group_people p WHERE p.group_id = c.group_id)", "$1"),
            " ORDER BY c.id"
        ))
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Calls of a group: those that have not ended, and the newest `limit` that have; the newest first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn group_calls(&self, group: i64, limit: i64) -> Result<Vec<GroupCall>> {
        Ok(query_as(concat!(
            calls!(),
            " WHERE c.group_id = $1 AND (c.ended_at_ms IS NULL OR c.id IN
                (SELECT o.id FROM group_calls o WHERE o.group_id = $1 AND o.ended_at_ms IS NOT NULL ORDER BY o.id DESC LIMIT $2))
              ORDER BY c.id DESC"
        ))
        .bind(group)
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The calls of a run of a chain, in order.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn calls_of_run(&self, run: i64) -> Result<Vec<GroupCall>> {
        Ok(query_as(concat!(calls!(), " WHERE c.run_id = $1 ORDER BY c.step, c.attempt"))
            .bind(run)
            .fetch_all(self.database.latest())
            .await?)
    }

    /// The call with this id.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn group_call(&self, call: i64) -> Result<GroupCall> {
        query_as(concat!(calls!(), " WHERE c.id = $1"))
            .bind(call)
            .fetch_optional(self.database.latest())
            .await?
            .ok_or_else(|| Error::not_found("call", call.to_string()))
    }

    /// Records that a call is waiting, and the reason; returns true if the state or the reason changed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn wait_call(&self, call: &GroupCall, reason: &str) -> Result<bool> {
        if call.state == CallState::Waiting && call.reason == reason {
            return Ok(false);
        }
        let waits = query(
            "UPDATE group_calls SET state = 'waiting', reason = $1 WHERE id = $2 AND state IN ('queued', 'waiting')",
        )
        .bind(beginning(reason, JOB_NOTE_MAX_BYTES))
        .bind(call.id)
        .execute(self.database.writer(Scope::Group(call.group_id)))
        .await?;
        Ok(waits.rows_affected() == 1)
    }

    /// Records the reason why a posted call has not ended yet; returns true if the reason is new.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn note_call(&self, call: &GroupCall, reason: &str) -> Result<bool> {
        if call.reason == reason {
            return Ok(false);
        }
        let noted = query("UPDATE group_calls SET reason = $1 WHERE id = $2 AND state = 'running'")
            .bind(beginning(reason, JOB_NOTE_MAX_BYTES))
            .bind(call.id)
            .execute(self.database.writer(Scope::Group(call.group_id)))
            .await?;
        Ok(noted.rows_affected() == 1)
    }

    /// Records the text to post for a call and its chat, before it is posted, and the last entry that the text includes. Changes nothing if the
    /// text is already recorded.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn begin_group_call(
        &self,
        call: &GroupCall,
        text: &str,
        chat: &ChatId,
        seen: i64,
    ) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(call.group_id)).await?;
        let begun = query(
            "UPDATE group_calls SET state = 'running', reason = '', posted_text = $1, chat_id = $2, posted_at_ms = $3
             WHERE id = $4 AND state IN ('queued', 'waiting')",
        )
        .bind(text)
        .bind(chat)
        .bind(self.now_ms())
        .bind(call.id)
        .execute(&mut transaction)
        .await?;
        if begun.rows_affected() == 1 {
            query("UPDATE group_agents SET seen_id = $1 WHERE id = $2 AND seen_id < $1")
                .bind(seen)
                .bind(call.agent_id)
                .execute(&mut transaction)
                .await?;
        }
        Ok(transaction.commit().await?)
    }

    /// Records the message that shows the answer to a call.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn posted_call(&self, call: &GroupCall, message: MessageId) -> Result<()> {
        query("UPDATE group_calls SET message_id = $1 WHERE id = $2")
            .bind(message)
            .bind(call.id)
            .execute(self.database.writer(Scope::Group(call.group_id)))
            .await?;
        Ok(())
    }

    /// Ends a call and adds the entry of its answer, in one transaction. Returns true if this ended the call.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn end_call(&self, call: &GroupCall, end: CallEnd<'_>) -> Result<bool> {
        let CallEnd { state, reason, output, note } = end;
        let output = beginning(output, ENTRY_MAX_BYTES);
        let mut transaction = self.database.write(Scope::Group(call.group_id)).await?;
        let ended = query(
            "UPDATE group_calls SET state = $1, reason = $2, output = $3, tokens = $4, cost_micros = $5, ended_at_ms = $6
             WHERE id = $7 AND ended_at_ms IS NULL",
        )
        .bind(state)
        .bind(beginning(reason, JOB_NOTE_MAX_BYTES))
        .bind(output)
        .bind(call.turn_tokens)
        .bind(call.turn_cost_micros)
        .bind(self.now_ms())
        .bind(call.id)
        .execute(&mut transaction)
        .await?;
        if ended.rows_affected() == 0 {
            return Ok(false);
        }
        // Files that are still being passed to the call end with it.
        let ends_as = if state == CallState::Failed { "failed" } else { "stopped" };
        query(
            "UPDATE group_handovers SET state = $1, error = $2, ended_at_ms = $3 WHERE call_id = $4 AND ended_at_ms IS NULL",
        )
        .bind(ends_as)
        .bind(beginning(reason, JOB_NOTE_MAX_BYTES))
        .bind(self.now_ms())
        .bind(call.id)
        .execute(&mut transaction)
        .await?;
        let entry = NewEntry::of_server(call.group_id, note);
        let entry = match output {
            "" => entry,
            output => NewEntry { kind: EntryKind::Agent, author: &call.handle, text: output, ..entry },
        };
        // An agent that handed its task over gets no entry; the agent that took the task answers.
        if !is_handed_over(&mut transaction, call.id).await? {
            let posted = match entry.text {
                "" => None,
                _ => Some(entry.insert(&mut transaction, Some(call.id), self.now_ms()).await?.id),
            };
            hear(&mut transaction, call.id, posted, self.now_ms()).await?;
        }
        touch(&mut transaction, call.group_id, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Asks to stop an open call; returns true if it was open.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn unwant_call(&self, group: i64, call: i64) -> Result<bool> {
        let unwanted = query(
            "UPDATE group_calls SET is_unwanted = TRUE WHERE id = $1 AND group_id = $2 AND ended_at_ms IS NULL",
        )
        .bind(call)
        .bind(group)
        .execute(self.database.writer(Scope::Group(group)))
        .await?;
        Ok(unwanted.rows_affected() == 1)
    }
}
