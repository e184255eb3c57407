//! Shows an answer that is being written as a draft, which is edited in place, if the messenger supports that.
//!
//! ```text
//!   a turn runs for 2 s ─▶ a draft in the outbox ─▶ changed as the text grows, at the messenger's pace ─┐
//!        complete ─▶ the answer replaces the draft, in the outbox; if the draft cannot be changed, the answer is sent as a new message
//! ```
//! Edits of a draft are best effort: they are not recorded, and a failed edit is not repeated. The draft itself and the answer that replaces it are
//! rows of the outbox, so after a crash the next server replaces every remaining draft.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use platforms::{Conversation, Failure, Outgoing, Styled};
use store::{ChannelAnswer, ChannelLane, NewOutgoing, OutState, draft_source};
use tokio::time::timeout;

use crate::answers::{Target, message};
use crate::error::Result;
use crate::house::{Inner, Live, to_json};
use crate::limits::{DRAFT_EVERY_MS, DRAFT_LOOK, DRAFT_TIMEOUT, DRAFTS, LONGEST_SLEEP};
use crate::words;

/// The mark at the end of a draft.
const MARK: &str = "…";

/// The pause between two edits of drafts of one account. Messengers limit accounts as well as conversations.
fn rest(live: &Live) -> Duration {
    let caps = live.platform.caps();
    // Drafts use at most half of the messenger's rate limit, which leaves the other half for messages.
    Duration::from_millis((2 * caps.edit_every_ms.max(caps.send_every_ms)).max(DRAFT_EVERY_MS))
}

impl Inner {
    /// Shows the answers that are being written, until the server stops.
    pub(crate) fn begin_drafts(self: &Arc<Self>) {
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            loop {
                let is_any = inner.look_at_drafts().await.unwrap_or_else(|error| {
                    tracing::error!(%error, "answers that are being written could not be shown");
                    false
                });
                inner.pause(DRAFT_LOOK).await;
                // Polls while answers are being written, because otherwise each piece of text from a model would wake this task.
                tokio::select! {
                    () = inner.stop.cancelled() => return,
                    () = inner.writing.notified(), if !is_any => {}
                    () = tokio::time::sleep(LONGEST_SLEEP), if !is_any => {}
                    () = std::future::ready(()), if is_any => {}
                }
            }
        });
    }

    /// Adds and edits the drafts that are due; returns true if answers are being written.
    async fn look_at_drafts(self: &Arc<Self>) -> Result<bool> {
        let answers = self.store.answers_in_progress(DRAFTS).await?;
        let is_any = !answers.is_empty();
        for answer in self.drafts.due(answers, self.around.draft_after) {
            let Some(live) = self.usable(answer.account_id) else { continue };
            if live.platform.caps().edits && !self.drafts.is_resting(answer.account_id) {
                self.look_at_draft(&live, &answer).await?;
            }
        }
        Ok(is_any)
    }

    async fn look_at_draft(self: &Arc<Self>, live: &Live, answer: &ChannelAnswer) -> Result<()> {
        let Some(message) = self.draft_message(live, answer).await? else { return Ok(()) };
        let json = to_json(&message);
        if self.drafts.shows(answer.id, &json) {
            return Ok(());
        }
        let may_reach =
            self.store.may_reach(&live.account, answer.user, &answer.conversation, answer.is_group).await?;
        if !may_reach {
            return Ok(());
        }
        match self.store.draft(answer).await? {
            None => {
                let _changing = self.drafts.changing.lock().await;
                if self.store.is_in_progress(answer.id).await? {
                    let row = draft_row(answer, message);
                    self.store.add_outgoing(answer.account_id, live.account.user, &[row]).await?;
                    self.drafts.begin(answer, rest(live));
                    self.drafts.end(answer, Ok(json));
                    self.wake.notify_one();
                }
            }
            Some(row) => {
                if let (OutState::Sent, Some(id)) = (row.state, row.platform_id) {
                    self.change_draft(live, answer, id, message).await?;
                }
            }
        }
        Ok(())
    }

    /// Edits a draft, unless other messages for its conversation are in the outbox.
    async fn change_draft(
        self: &Arc<Self>,
        live: &Live,
        answer: &ChannelAnswer,
        id: String,
        message: Outgoing,
    ) -> Result<()> {
        let lane = ChannelLane {
            account_id: answer.account_id,
            conversation: answer.conversation.clone(),
            person: String::new(),
        };
        let Some(working) = self.outbox_lanes.begin(&lane) else { return Ok(()) };
        // The answer may have been completed in the meantime.
        if self.store.next_outgoing(&lane).await?.is_some() || !self.store.is_in_progress(answer.id).await? {
            return Ok(());
        }
        self.drafts.begin(answer, rest(live));
        let (inner, live, answer) = (Arc::clone(self), live.clone(), answer.clone());
        self.tasks.spawn(async move {
            let _working = working;
            let to = Conversation { id: answer.conversation.clone(), is_group: answer.is_group };
            let changed = timeout(DRAFT_TIMEOUT, live.platform.edit(&to, &id, &message)).await;
            let changed =
                changed.unwrap_or_else(|_| Err(Failure::Unknown("the transfer took too long".to_owned())));
            if let Err(failure) = &changed {
                tracing::debug!(%failure, channel = live.account.name, "a draft could not be changed");
            }
            inner.drafts.end(&answer, changed.map(|()| to_json(&message)));
            // Pauses before the conversation's next message, as the messenger requires.
            let caps = live.platform.caps();
            inner.pause(Duration::from_millis(caps.edit_every_ms.max(caps.send_every_ms))).await;
        });
        Ok(())
    }

    /// Renders the beginning of an answer as one message; `None` while nothing has been written.
    async fn draft_message(&self, live: &Live, answer: &ChannelAnswer) -> Result<Option<Outgoing>> {
        let messages = self.store.turn_messages(answer.user, answer.message).await?;
        let text = words::so_far(&messages, |message| {
            let pieces = self.chats.live(message);
            // The buffer drops the beginning of a very long text.
            let is_whole = pieces.first().is_none_or(|first| first.at == 0);
            let texts = pieces.iter().filter(|piece| is_whole && piece.channel == "text");
            texts.map(|piece| piece.text.as_str()).collect()
        });
        if text.trim().is_empty() {
            return Ok(None);
        }
        let text = Styled::markdown(&format!("{} {MARK}", text.trim_end()));
        Ok(live.platform.render(&text, &[]).into_iter().next())
    }

    /// Notes that a chat was deleted, which may leave a draft without an answer.
    pub(crate) fn note_removed(&self) {
        self.has_removed.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Replaces the drafts that no answer will ever replace with a short text.
    pub(crate) async fn end_orphans(&self) -> Result<()> {
        let accounts: Vec<Live> = self.lock_live().values().filter(|live| live.is_usable).cloned().collect();
        for live in accounts {
            for orphan in self.store.orphan_drafts(live.account.id).await? {
                let target = Target::unasked(&orphan.conversation, orphan.is_group, orphan.user);
                let row = self.replacement(&live, &target, orphan.id, "The answer was stopped.");
                self.store.add_outgoing(live.account.id, live.account.user, &[row]).await?;
                self.wake.notify_one();
            }
        }
        Ok(())
    }

    /// Creates the row that replaces a draft with a short text.
    pub(crate) fn replacement(&self, live: &Live, target: &Target, draft: i64, text: &str) -> NewOutgoing {
        let language = target.user.map(|user| self.chats.language(user)).unwrap_or_default();
        let rendered = live.platform.render(&Styled::plain(&language.translated(text)), &[]).swap_remove(0);
        let mut row = target
            .rows(live.account.id, &format!("draft-end/{draft}"), vec![message(rendered)])
            .swap_remove(0);
        row.edit_of = Some(draft);
        row
    }
}

fn draft_row(answer: &ChannelAnswer, shown: Outgoing) -> NewOutgoing {
    let target = Target::of(answer);
    target.rows(answer.account_id, &draft_source(answer.inbox_id), vec![message(shown)]).swap_remove(0)
}
