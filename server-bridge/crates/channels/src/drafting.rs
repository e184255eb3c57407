//! The state of drafts: the text that each draft shows, and when it may be edited next. This module does no I/O.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use platforms::Failure;
use store::ChannelAnswer;
use tokio::time::Instant;

use crate::error::Result;
use crate::limits::DRAFT_FAILURES;

/// The drafts of the answers that are being written.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    known: Mutex<Noted>,
    /// Locked while a draft is added, and while an answer replaces its draft.
    pub(crate) changing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Noted {
    answers: HashMap<i64, Draft>,
    /// The time from which drafts may be edited again, for each account.
    next: HashMap<i64, Instant>,
}

/// The draft of an answer.
#[derive(Debug)]
struct Draft {
    since: Instant,
    /// The time of the last attempted edit.
    tried: Instant,
    /// The message that the draft shows, as JSON.
    shown: String,
    failures: usize,
    /// True while an edit is in progress.
    is_busy: bool,
}

impl Drafts {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the answers whose drafts may be edited now, the least recently edited first. Only answers that have been in progress for at least
    /// `after` are included.
    pub(crate) fn due(&self, answers: Vec<ChannelAnswer>, after: Duration) -> Vec<ChannelAnswer> {
        let now = Instant::now();
        let mut noted = self.lock();
        noted.answers.retain(|id, draft| draft.is_busy || answers.iter().any(|answer| answer.id == *id));
        noted.next.retain(|_, next| *next > now);
        let mut due = Vec::new();
        for answer in answers {
            let new = || Draft { since: now, tried: now, shown: String::new(), failures: 0, is_busy: false };
            let draft = noted.answers.entry(answer.id).or_insert_with(new);
            if !draft.is_busy && draft.failures < DRAFT_FAILURES && now.duration_since(draft.since) >= after {
                due.push((draft.tried, answer));
            }
        }
        due.sort_by_key(|(tried, answer)| (*tried, answer.id));
        due.into_iter().map(|(_, answer)| answer).collect()
    }

    pub(crate) fn is_resting(&self, account: i64) -> bool {
        self.lock().next.contains_key(&account)
    }

    pub(crate) fn shows(&self, answer: i64, json: &str) -> bool {
        self.lock().answers.get(&answer).is_some_and(|draft| draft.shown == json)
    }

    /// Records the start of an edit; after that, no draft of the account is edited for the time `rest`.
    pub(crate) fn begin(&self, answer: &ChannelAnswer, rest: Duration) {
        let now = Instant::now();
        let mut noted = self.lock();
        noted.next.insert(answer.account_id, now + rest);
        if let Some(draft) = noted.answers.get_mut(&answer.id) {
            (draft.tried, draft.is_busy) = (now, true);
        }
    }

    /// Records the outcome of an edit: the text that the draft shows now, or the failure.
    pub(crate) fn end(&self, answer: &ChannelAnswer, outcome: Result<String, Failure>) {
        let mut noted = self.lock();
        if let Err(Failure::TooFast { wait_ms }) = outcome {
            noted.next.insert(answer.account_id, Instant::now() + Duration::from_millis(wait_ms));
        }
        let Some(draft) = noted.answers.get_mut(&answer.id) else { return };
        draft.is_busy = false;
        match outcome {
            Ok(shown) => (draft.shown, draft.failures) = (shown, 0),
            Err(Failure::TooFast { .. }) => {}
            Err(_) => draft.failures += 1,
        }
    }
}
