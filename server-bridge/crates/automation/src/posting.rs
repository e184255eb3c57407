//! Posts the message of each due run to a chat, once.
//!
//! ```text
//!   due ─▶ still allowed? ─▶ another in progress? ─▶ budget ─▶ failures ─▶ chat (created once) ─▶ posted with the run's send id (once)
//! ```
//! Each step is on record before the next one begins, and repeating a step changes nothing: a server that was killed continues with
//! the step after the last recorded one.

use std::collections::HashSet;

use api::words::{MissedSlots, OverlappingRuns, RunOutcome};
use chats::{Author, NewPost};
use store::{DueRun, Job, RunChat, RunState, User, UserId, run_send_id};

use crate::document::Document;
use crate::error::{Error, Result};
use crate::limits::{BATCH, FAILURES_TO_PAUSE, ON_TIME_MS, RUNS_PER_USER_PER_DAY};
use crate::service::Inner;
use crate::views;

const DAY_MS: i64 = 24 * 3_600_000;

/// What to do with a due run next.
enum Step {
    Post,
    Wait,
    Skip(String),
}

impl Inner {
    /// Posts the messages of all runs that are due, in the order in which they became due.
    pub(crate) async fn post_due(&self) -> Result<()> {
        let (mut after, mut waiting) = (0, HashSet::new());
        loop {
            let runs = self.store.due_runs(after, BATCH).await?;
            for run in &runs {
                after = run.run_id;
                if self.stop.is_cancelled() {
                    return Ok(());
                }
                self.step(run, &mut waiting).await?;
            }
            if runs.len() < usize::try_from(BATCH).unwrap_or(usize::MAX) {
                return Ok(());
            }
        }
    }

    async fn step(&self, run: &DueRun, waiting: &mut HashSet<i64>) -> Result<()> {
        let job = &run.job;
        // An error in one run must not hold up the runs of other automations.
        let done = async {
            let document = Document::of(job)?;
            let Some(user) = self.store.user_by_id(job.user).await? else { return Ok(()) };
            match self.next_step(run, &document, waiting).await? {
                Step::Post => self.post(run, &document, &user).await,
                Step::Wait => {
                    waiting.insert(job.id);
                    Ok(())
                }
                Step::Skip(why) => {
                    Ok(self.store.end_run(job.user, run.run_id, RunState::Skipped, &why).await?)
                }
            }
        };
        match done.await {
            Err(Error::Refused { text, .. }) => {
                Ok(self.store.end_run(job.user, run.run_id, RunState::Failed, &text).await?)
            }
            other => other,
        }
    }

    async fn next_step(&self, run: &DueRun, document: &Document, waiting: &HashSet<i64>) -> Result<Step> {
        let job = &run.job;
        if run.is_asked {
            return Ok(Step::Post);
        }
        if job.paused.is_some() {
            return Ok(Step::Skip("the automation was paused in the meantime".to_owned()));
        }
        if let Some(why) = self.ended(document).await? {
            self.pause(job, document, &why).await?;
            return Ok(Step::Skip(why));
        }
        let is_behind = waiting.contains(&job.id);
        if is_behind || self.store.is_job_at_work(job.id, run.run_id).await? {
            let is_delivery = document.automation.trigger.is_some();
            if self.is_caught_up(run, document) {
                return Ok(Step::Wait);
            }
            return Ok(match document.overlap() {
                OverlappingRuns::Queue if is_delivery || !is_behind => Step::Wait,
                OverlappingRuns::Queue => Step::Skip("another run is already waiting".to_owned()),
                _ => Step::Skip("an earlier run had not ended".to_owned()),
            });
        }
        let posted = self.store.runs_posted_since(job.user, self.store.now_ms() - DAY_MS).await?;
        if posted >= RUNS_PER_USER_PER_DAY {
            return Ok(Step::Skip(format!(
                "a user's automations can run at most {RUNS_PER_USER_PER_DAY} times in 24 hours; this run exceeded the limit"
            )));
        }
        if self.has_failed_too_often(job).await? {
            let why = format!("its last {FAILURES_TO_PAUSE} runs failed");
            self.pause(job, document, &why).await?;
            return Ok(Step::Skip("the automation was paused in the meantime".to_owned()));
        }
        Ok(Step::Post)
    }

    /// Returns true for a missed slot that `all` runs: such slots wait for each other.
    fn is_caught_up(&self, run: &DueRun, document: &Document) -> bool {
        let is_late = |slot: i64| self.store.now_ms() - slot > ON_TIME_MS;
        let is_missed = document.automation.schedule.is_some() && run.slot.parse().is_ok_and(is_late);
        is_missed && document.missed() == MissedSlots::All
    }

    /// Returns the reason why an automation that was proposed for another person no longer runs; `None` if it still runs.
    pub(crate) async fn ended(&self, document: &Document) -> Result<Option<String>> {
        let Some(proposed) = &document.proposed else { return Ok(None) };
        let may_ask = self.store.may_ask(proposed.agent, UserId(proposed.user)).await?;
        Ok((!may_ask).then(|| proposed.ended()))
    }

    /// Pauses a job, and posts the reason in its chat.
    async fn pause(&self, job: &Job, document: &Document, why: &str) -> Result<()> {
        self.store.pause_job(job.user, &job.name, Some(why), None).await?;
        if let Some(chat) = &job.chat {
            let command = if document.automation.trigger.is_some() { "trigger" } else { "cron" };
            let text = format!(
                "the automation {} is paused: {why}; resume it with `sandbridge {command} resume {}`",
                job.name, job.name
            );
            self.chats.notice(job.user, chat, &text).await;
        }
        Ok(())
    }

    async fn has_failed_too_often(&self, job: &Job) -> Result<bool> {
        let newest = self.store.job_runs(job.user, &job.name, None, BATCH).await?;
        let of_use = newest.iter().map(|run| (run, views::outcome(run).0)).filter(|(run, outcome)| {
            // Only runs that began after the automation was last changed or resumed count.
            run.created_at_ms >= job.updated_at_ms && matches!(outcome, RunOutcome::Done | RunOutcome::Failed)
        });
        let failed = of_use.take_while(|(_, outcome)| *outcome == RunOutcome::Failed).count();
        Ok(failed >= FAILURES_TO_PAUSE)
    }

    async fn post(&self, run: &DueRun, document: &Document, user: &User) -> Result<()> {
        let job = &run.job;
        let automation = &document.automation;
        let chat = RunChat {
            is_shared: document.shares_its_chat(),
            title: &job.name,
            runner: automation.runner.as_deref(),
            approval: automation.approval.as_ref().map(|mode| mode.as_str()),
        };
        let chat = self.store.run_chat(job, run.run_id, chat).await?;
        let send_id = run_send_id(run.run_id);
        let post = NewPost {
            text: &run.text,
            send_id: Some(&send_id),
            attachments: &[],
            author: Author::Others,
            client: None,
        };
        match self.chats.say(user, &chat, post).await {
            Ok(answered) => {
                let mut messages = answered.messages.iter().map(|message| message.id);
                let (Some(said), answer) = (messages.next(), messages.next()) else {
                    return Err(Error::refused("failed", "its message could not be posted"));
                };
                Ok(self.store.post_run(job.user, run.run_id, said, answer).await?)
            }
            // Too many messages wait in the chat, or the server is stopping: the message is posted later.
            Err(error) if matches!(error.kind(), "busy" | "unavailable") => Ok(()),
            Err(chats::Error::Store(error)) if !error.is_callers() => Err(error.into()),
            Err(error) if error.kind() == "internal" => {
                tracing::error!(%error, "the message of an automation could not be posted");
                Err(Error::refused(
                    "failed",
                    "the server could not post the message; see the server's log for the reason",
                ))
            }
            Err(error) => Err(Error::refused("failed", error.message())),
        }
    }
}
