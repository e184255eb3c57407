//! Chains, their runs and gates. Crate `chains` derives a run's next action from these rows.

use sqlx::FromRow;

use super::calls::NewCall;
use super::entries::NewEntry;
use super::members::touch;
use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{
    CHAIN_MAX_BYTES, CHAIN_RUNS_OPEN, CHAINS_PER_GROUP, ENTRY_MAX_BYTES, JOB_NAME_MAX_BYTES,
    SEND_ID_MAX_BYTES,
};
use crate::sql::{Scope, Transaction, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A chain of a group.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GroupChain {
    /// The chain's name, unique in its group.
    pub name: String,
    /// The chain's definition, as JSON.
    pub document_json: String,
    /// When it was last changed, in Unix milliseconds.
    pub updated_at_ms: i64,
}

/// A run of a chain.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ChainRun {
    /// The id; later runs have larger ones.
    pub id: i64,
    /// The id of its group.
    pub group_id: i64,
    /// The chain's name when it began.
    pub chain: String,
    /// The chain's definition when the run began, as JSON.
    pub document_json: String,
    /// The input of the run.
    pub request: String,
    /// The person who began it; `None` if the user was removed.
    #[sqlx(rename = "begun_by_id")]
    pub user: Option<UserId>,
    /// The person's name.
    pub begun_by: String,
    /// `running`, `asking`, `done` or `stopped`.
    pub state: String,
    /// When it began, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it ended, in Unix milliseconds.
    pub ended_at_ms: Option<i64>,
}

/// A run to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewRunOfChain<'a> {
    /// The group's id.
    pub group: i64,
    /// The chain's name.
    pub chain: &'a str,
    /// The chain's current definition, as JSON.
    pub document_json: &'a str,
    /// The input of the run.
    pub request: &'a str,
    /// The person who begins it.
    pub user: UserId,
    /// The person's name.
    pub user_name: &'a str,
    /// An id chosen by the client. A person who sends the same id again gets the same run.
    pub send_id: Option<&'a str>,
    /// The gate with which the run begins, if a person is asked before the first step.
    pub gate: Option<NewGate<'a>>,
}

/// What is known of the chain that is stored under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainBase {
    /// There is none.
    None,
    /// It was last changed at this time, in Unix milliseconds.
    ChangedAt(i64),
    /// Nothing: whatever is there is replaced.
    Any,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every step is done.
    Done,
    /// A person stopped the run.
    Stopped,
}

/// A recorded gate: a question to people at which a run waits.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct GateRow {
    /// The gate's id.
    pub id: i64,
    /// The id of its run.
    pub run_id: i64,
    /// The step, counted from 0.
    pub step: i64,
    /// The attempt, counted from 1; 0 for a step that begins only if a person approves.
    pub attempt: i64,
    /// `review`, `failure` or `budget`.
    pub kind: String,
    /// The question to show to people.
    pub question: String,
    /// The answer; `None` while the gate is open.
    pub reply: Option<String>,
    /// The text that was given with the answer.
    pub text: String,
    /// The name of the person who answered.
    pub answered_by: Option<String>,
}

/// A gate to open.
#[derive(Clone, Copy, Debug)]
pub struct NewGate<'a> {
    /// The step, counted from 0.
    pub step: i64,
    /// The attempt, counted from 1; 0 for a step that begins only if a person approves.
    pub attempt: i64,
    /// `review`, `failure` or `budget`.
    pub kind: &'a str,
    /// The question to show to people.
    pub question: &'a str,
}

macro_rules! run_columns {
    () => {
        "id, group_id, chain, document_json, request, begun_by_id, begun_by, state, created_at_ms, ended_at_ms"
    };
}

macro_rules! gate_columns {
    () => {
        "id, run_id, step, attempt, kind, question, reply, text, answered_by"
    };
}

impl NewGate<'_> {
    /// Opens the gate within a transaction, unless there is already one for this step, attempt and kind.
    async fn insert(&self, transaction: &mut Transaction, run: i64, now_ms: i64) -> Result<()> {
        query(
            "INSERT INTO group_gates (run_id, step, attempt, kind, question, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (run_id, step, attempt, kind) DO NOTHING",
        )
        .bind(run)
        .bind(self.step)
        .bind(self.attempt)
        .bind(self.kind)
        .bind(self.question)
        .bind(now_ms)
        .execute(&mut *transaction)
        .await?;
        query("UPDATE group_runs SET state = 'asking' WHERE id = $1 AND ended_at_ms IS NULL")
            .bind(run)
            .execute(&mut *transaction)
            .await?;
        Ok(())
    }
}

impl Store {
    /// The chains of a group, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn group_chains(&self, group: i64) -> Result<Vec<GroupChain>> {
        Ok(query_as(
            "SELECT name, document_json, updated_at_ms FROM group_chains WHERE group_id = $1 ORDER BY name",
        )
        .bind(group)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A chain of a group.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn group_chain(&self, group: i64, name: &str) -> Result<GroupChain> {
        query_as(
            "SELECT name, document_json, updated_at_ms FROM group_chains WHERE group_id = $1 AND name = $2",
        )
        .bind(group)
        .bind(name)
        .fetch_optional(self.database.reader())
        .await?
        .ok_or_else(|| Error::not_found("chain", name))
    }

    /// Adds a chain to a group, or changes the one with this name; returns false, and changes nothing, if what is stored is not the `base`. Runs
    /// that have begun keep the old steps. Each change has a later time than the one before.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 64 bytes of name, 1 MiB of definition or 100 chains.
    pub async fn put_chain(
        &self,
        group: i64,
        name: &str,
        document_json: &str,
        base: ChainBase,
    ) -> Result<bool> {
        check_length("name", name, JOB_NAME_MAX_BYTES)?;
        check_length("chain", document_json, CHAIN_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let changed_at: Option<i64> =
            query_scalar("SELECT updated_at_ms FROM group_chains WHERE group_id = $1 AND name = $2")
                .bind(group)
                .bind(name)
                .fetch_optional(&mut transaction)
                .await?;
        let is_base = match base {
            ChainBase::None => changed_at.is_none(),
            ChainBase::ChangedAt(known) => changed_at == Some(known),
            ChainBase::Any => true,
        };
        if !is_base {
            return Ok(false);
        }
        let others: i64 =
            query_scalar("SELECT COUNT(*) FROM group_chains WHERE group_id = $1 AND name <> $2")
                .bind(group)
                .bind(name)
                .fetch_one(&mut transaction)
                .await?;
        if others >= CHAINS_PER_GROUP {
            let rule = format!("exceeds the limit: the group already has {others}; remove one first");
            return Err(Error::Invalid { what: "chain", rule });
        }
        query(
            "INSERT INTO group_chains (group_id, name, document_json, updated_at_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (group_id, name) DO UPDATE SET document_json = excluded.document_json, updated_at_ms = excluded.updated_at_ms",
        )
        .bind(group)
        .bind(name)
        .bind(document_json)
        .bind(changed_at.map_or(self.now_ms(), |before| self.now_ms().max(before.saturating_add(1))))
        .execute(&mut transaction)
        .await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(true)
    }

    /// Removes a chain; its runs continue. Returns true if it existed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_chain(&self, group: i64, name: &str) -> Result<bool> {
        let gone = query("DELETE FROM group_chains WHERE group_id = $1 AND name = $2")
            .bind(group)
            .bind(name)
            .execute(self.database.writer(Scope::Group(group)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }

    /// Begins a run and returns its id; with a known send id, returns the id of the existing run.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 20 open runs of the group.
    pub async fn begin_run(&self, run: NewRunOfChain<'_>) -> Result<i64> {
        check_length("request", run.request, ENTRY_MAX_BYTES)?;
        check_length("send id", run.send_id.unwrap_or_default(), SEND_ID_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Group(run.group)).await?;
        if let Some(send_id) = run.send_id {
            let known: Option<i64> = query_scalar(
                "SELECT id FROM group_runs WHERE group_id = $1 AND begun_by_id = $2 AND send_id = $3",
            )
            .bind(run.group)
            .bind(run.user)
            .bind(send_id)
            .fetch_optional(&mut transaction)
            .await?;
            if let Some(known) = known {
                return Ok(known);
            }
        }
        let open: i64 =
            query_scalar("SELECT COUNT(*) FROM group_runs WHERE group_id = $1 AND ended_at_ms IS NULL")
                .bind(run.group)
                .fetch_one(&mut transaction)
                .await?;
        if open >= CHAIN_RUNS_OPEN {
            let rule = format!("has {open} runs of chains in progress, which is the limit; stop one first");
            return Err(Error::Invalid { what: "group", rule });
        }
        let id = query_scalar(
            "INSERT INTO group_runs (group_id, chain, document_json, request, begun_by_id, begun_by, send_id, state, created_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', $8) RETURNING id",
        )
        .bind(run.group)
        .bind(run.chain)
        .bind(run.document_json)
        .bind(run.request)
        .bind(run.user)
        .bind(run.user_name)
        .bind(run.send_id)
        .bind(self.now_ms())
        .fetch_one(&mut transaction)
        .await?;
        if let Some(gate) = run.gate {
            gate.insert(&mut transaction, id, self.now_ms()).await?;
        }
        touch(&mut transaction, run.group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(id)
    }

    /// The runs that have not ended.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn open_runs(&self) -> Result<Vec<ChainRun>> {
        Ok(query_as(concat!(
            "SELECT ",
            run_columns!(),
            " FROM group_runs WHERE ended_at_ms IS NULL AND ",
            at_home!(
                "(SELECT MIN(p.user_id) FROM group_people p WHERE p.group_id = group_runs.group_id)",
                "$1"
            ),
            " ORDER BY id"
        ))
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The runs of a group that are older than `before`, the newest first.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn group_runs(&self, group: i64, before: Option<i64>, limit: i64) -> Result<Vec<ChainRun>> {
        Ok(query_as(concat!(
            "SELECT ",
            run_columns!(),
            " FROM group_runs WHERE group_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ))
        .bind(group)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// A run of a group.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn group_run(&self, group: i64, run: i64) -> Result<ChainRun> {
        query_as(concat!("SELECT ", run_columns!(), " FROM group_runs WHERE group_id = $1 AND id = $2"))
            .bind(group)
            .bind(run)
            .fetch_optional(self.database.latest())
            .await?
            .ok_or_else(|| Error::not_found("run", run.to_string()))
    }

    /// Makes a call for a step; does nothing if the step's attempt already has a call.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn call_for_step(&self, run: &ChainRun, call: NewCall<'_>) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(run.group_id)).await?;
        call.insert(&mut transaction, None, self.now_ms()).await?;
        query("UPDATE group_runs SET state = 'running' WHERE id = $1 AND ended_at_ms IS NULL")
            .bind(run.id)
            .execute(&mut transaction)
            .await?;
        touch(&mut transaction, run.group_id, self.now_ms()).await?;
        Ok(transaction.commit().await?)
    }

    /// The gates of a run, in order.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn gates(&self, run: i64) -> Result<Vec<GateRow>> {
        Ok(query_as(concat!("SELECT ", gate_columns!(), " FROM group_gates WHERE run_id = $1 ORDER BY id"))
            .bind(run)
            .fetch_all(self.database.latest())
            .await?)
    }

    /// The open gates of a group after this one, in order.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn open_gates(&self, group: i64, after: i64) -> Result<Vec<GateRow>> {
        Ok(query_as(concat!(
            "SELECT ",
            gate_columns!(),
            " FROM group_gates WHERE reply IS NULL AND id > $2
                AND run_id IN (SELECT id FROM group_runs WHERE group_id = $1 AND ended_at_ms IS NULL) ORDER BY id"
        ))
        .bind(group)
        .bind(after)
        .fetch_all(self.database.latest())
        .await?)
    }

    /// A gate of a group's run.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn gate(&self, group: i64, gate: i64) -> Result<GateRow> {
        query_as(concat!(
            "SELECT ",
            gate_columns!(),
            " FROM group_gates WHERE id = $1 AND run_id IN (SELECT id FROM group_runs WHERE group_id = $2)"
        ))
        .bind(gate)
        .bind(group)
        .fetch_optional(self.database.latest())
        .await?
        .ok_or_else(|| Error::not_found("gate", gate.to_string()))
    }

    /// Opens a gate; does nothing if there is already one for this step, attempt and kind.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn open_gate(&self, run: &ChainRun, gate: NewGate<'_>) -> Result<()> {
        let mut transaction = self.database.write(Scope::Group(run.group_id)).await?;
        gate.insert(&mut transaction, run.id, self.now_ms()).await?;
        touch(&mut transaction, run.group_id, self.now_ms()).await?;
        Ok(transaction.commit().await?)
    }

    /// Answers a gate, once; returns false if it was already answered, or if its run has ended.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 1 MiB of text.
    pub async fn answer_gate(
        &self,
        group: i64,
        gate: i64,
        reply: &str,
        text: &str,
        by: &str,
    ) -> Result<bool> {
        check_length("text", text, ENTRY_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let answered = query(
            "UPDATE group_gates SET reply = $1, text = $2, answered_by = $3, answered_at_ms = $4
             WHERE id = $5 AND reply IS NULL
                AND run_id IN (SELECT id FROM group_runs WHERE group_id = $6 AND ended_at_ms IS NULL)",
        )
        .bind(reply)
        .bind(text)
        .bind(by)
        .bind(self.now_ms())
        .bind(gate)
        .bind(group)
        .execute(&mut transaction)
        .await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(answered.rows_affected() == 1)
    }

    /// Ends a run, adds the server's message about it to the log, and stops the run's open calls. Returns true if this ended the run.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn end_chain_run(&self, group: i64, run: i64, end: RunEnd, note: &str) -> Result<bool> {
        let state = match end {
            RunEnd::Done => "done",
            RunEnd::Stopped => "stopped",
        };
        let mut transaction = self.database.write(Scope::Group(group)).await?;
        let ended = query(
            "UPDATE group_runs SET state = $1, ended_at_ms = $2 WHERE id = $3 AND group_id = $4 AND ended_at_ms IS NULL",
        )
        .bind(state)
        .bind(self.now_ms())
        .bind(run)
        .bind(group)
        .execute(&mut transaction)
        .await?;
        if ended.rows_affected() == 0 {
            return Ok(false);
        }
        query("UPDATE group_calls SET is_unwanted = TRUE WHERE run_id = $1 AND ended_at_ms IS NULL")
            .bind(run)
            .execute(&mut transaction)
            .await?;
        NewEntry::of_server(group, note).insert(&mut transaction, None, self.now_ms()).await?;
        touch(&mut transaction, group, self.now_ms()).await?;
        transaction.commit().await?;
        Ok(true)
    }
}
