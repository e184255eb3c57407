//! The administrator's chat: a conversation that gets the server's notices.
//!
//! ```text
//!   every 30 s: events on record ─▶ those not yet reported here ─▶ recorded as reported, together with a message in the outbox
//!                                                                         └─▶ sent if its user is still an administrator
//! ```
//! All events are read from the database or checked again, so a crash loses no event and no event is reported twice. Events of one kind
//! that are found together share a message. Notices name users, their runners and automations, but contain no texts that people wrote.

use std::sync::Arc;

use store::{NoticeLink, Trouble, User};

use crate::answers::Target;
use crate::error::{Error, Result};
use crate::house::Inner;
use crate::incoming::{Handled, Incoming};
use crate::limits::{
    FAILED_AGAIN_MS, FAILED_RUNS_MS, LOCKED_AGAIN_MS, LOW_DISK_AGAIN_MS, NOTICES_MAX_AGE_MS,
    RUNNER_AWAY_AGAIN_MS, STARTED_AGAIN_MS, STARTED_TOLD_MS,
};
use crate::notice::{About, Notice};
use crate::outgoing::Payload;
use crate::service::Channels;

/// An event to report.
struct Fact {
    about: About,
    /// Identifies the event and its time window, so that the event is reported only once in that window.
    subject: String,
    line: String,
    at_ms: i64,
}

/// Converts events of one kind to [`Fact`]s; each subject is reported once per `window_ms`.
fn facts(about: About, word: &str, window_ms: i64, troubles: Vec<Trouble>) -> impl Iterator<Item = Fact> {
    troubles.into_iter().map(move |trouble| {
        let Trouble { id, owner, name, at_ms } = trouble;
        let line = if name.is_empty() { owner } else { format!("{owner}: {name}") };
        Fact { about, subject: format!("{word}/{id}/{}", at_ms / window_ms), line, at_ms }
    })
}

impl Inner {
    /// Looks for events to report, until the server stops.
    pub(crate) fn begin_watch(self: &Arc<Self>) {
        let inner = Arc::clone(self);
        let started_ms = self.store.now_ms();
        self.tasks.spawn(async move {
            while !inner.stop.is_cancelled() {
                if let Err(error) = inner.look_for_notices(started_ms).await {
                    tracing::error!(%error, "events for the server's notices could not be read; the server will try again");
                }
                inner.pause(inner.around.watch.every).await;
            }
        });
    }

    async fn look_for_notices(&self, started_ms: i64) -> Result<()> {
        let links = self.store.notice_links().await?;
        let Some(since_ms) = links.iter().map(|link| link.since_ms).min() else { return Ok(()) };
        let facts = self.facts(since_ms, started_ms).await?;
        for link in &links {
            self.tell(link, &facts).await?;
        }
        Ok(())
    }

    async fn facts(&self, since_ms: i64, started_ms: i64) -> Result<Vec<Fact>> {
        let (store, watch, now_ms) = (&self.store, &self.around.watch, self.store.now_ms());
        let from_ms = since_ms.max(now_ms - NOTICES_MAX_AGE_MS);
        let mut found = Vec::new();
        if now_ms - started_ms < STARTED_TOLD_MS {
            let subject = format!("started/{}/{}", self.place(), started_ms / STARTED_AGAIN_MS);
            let line = String::new();
            found.push(Fact { about: About::Started, subject, line, at_ms: started_ms });
        }
        // Runners need some time to reconnect after a server has started.
        if now_ms - started_ms >= watch.away_ms {
            let away = store.runners_away(from_ms, now_ms - watch.away_ms).await?;
            found.extend(facts(About::RunnerAway, "away", RUNNER_AWAY_AGAIN_MS, away));
        }
        let failed = store.failed_runs(from_ms.max(now_ms - FAILED_RUNS_MS)).await?;
        found.extend(facts(About::AutomationFailed, "failed", FAILED_AGAIN_MS, failed));
        let paused = store.paused_jobs(from_ms).await?;
        found.extend(facts(About::AutomationPaused, "paused", 1, paused));
        let locked = store.locked_logins(from_ms).await?;
        found.extend(facts(About::LoginLocked, "locked", LOCKED_AGAIN_MS, locked));
        if let Some(line) = self.low_disk().await {
            let subject = format!("disk/{}/{}", self.place(), now_ms / LOW_DISK_AGAIN_MS);
            found.push(Fact { about: About::DiskLow, subject, line, at_ms: now_ms });
        }
        Ok(found)
    }

    /// Returns the name of this server if several share a database; otherwise an empty text.
    fn place(&self) -> &str {
        self.store.node().unwrap_or_default()
    }

    /// Returns the free space and the size of the disk with the server's data, if too little space is free.
    async fn low_disk(&self) -> Option<String> {
        let home = self.around.watch.home.clone()?;
        let disk = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&home).ok()).await.ok()??;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        let (free, size) = (bytes(disk.f_bavail), bytes(disk.f_blocks));
        (free < self.around.watch.low_disk_bytes).then(|| format!("{} MiB / {} MiB", free >> 20, size >> 20))
    }

    async fn tell(&self, link: &NoticeLink, facts: &[Fact]) -> Result<()> {
        let told = self.store.told_notices(link.id).await?;
        for about in About::ALL {
            let is_new = |fact: &&Fact| {
                fact.about == about && fact.at_ms >= link.since_ms && !told.contains(&fact.subject)
            };
            let new: Vec<&Fact> = facts.iter().filter(is_new).collect();
            if new.is_empty() {
                continue;
            }
            let subjects: Vec<String> = new.iter().map(|fact| fact.subject.clone()).collect();
            let message = |places: &[usize]| {
                let lines = places.iter().map(|place| new[*place].line.clone()).collect();
                let source = format!("notice/{}/{}", link.id, subjects[places[0]]);
                let target = Target::unasked(&link.conversation, false, Some(link.user));
                let payload = Payload::Notice { notice: Notice::new(about, lines) };
                target.rows(link.account_id, &source, vec![payload]).swap_remove(0)
            };
            if self.store.add_notice(link, &subjects, message).await? {
                self.wake.notify_one();
            }
        }
        Ok(())
    }

    /// Handles `/notices`, with which an administrator gets the server's notices in a conversation.
    pub(crate) async fn hear_notices(
        &self,
        incoming: &Incoming<'_>,
        user: &User,
        wish: &str,
    ) -> Result<Handled> {
        let Incoming { live, event, .. } = incoming;
        let say = |text: &str| Ok(incoming.say(Some(user), self.chats.language(user.id), text));
        if event.conversation.is_group {
            return say(
                "This works only in a direct conversation with the bot, since notices are for administrators.",
            );
        }
        let (is_on, text) = match wish {
            "on" => (
                true,
                "The server's notices are now sent to this conversation and to none of your other conversations. Write /notices off to stop them.",
            ),
            "off" => (false, "The server's notices are no longer sent to this conversation."),
            _ => return say("Write /notices on or /notices off."),
        };
        let Some(link) = self.store.link_of_person(&live.account, &event.sender.id).await? else {
            return Ok(Handled::silent());
        };
        match self.set_notices(user, link, is_on).await {
            Ok(()) => say(text),
            Err(Error::Refused { text, .. }) => say(&text),
            Err(error) => Err(error),
        }
    }

    async fn set_notices(&self, user: &User, link: i64, is_on: bool) -> Result<()> {
        // The user may have lost the administrator role since the request began, so the store checks the role again.
        let outcome = |text: &'static str| Err(Error::refused("forbidden", text));
        let links = self.store.channel_links(user.id, false).await?;
        let Some(known) = links.into_iter().find(|known| known.id == link) else {
            return Err(Error::refused("not_found", format!("you have no link {link}")));
        };
        let not_admin = "only administrators get the server's notices";
        if is_on && !user.admin {
            return outcome(not_admin);
        }
        let only_replies = |live: crate::house::Live| live.platform.caps().reply_window_ms.is_some();
        if is_on && self.usable(known.account_id).is_some_and(only_replies) {
            return outcome(
                "bots can only reply on this messenger, so notices cannot be sent here; choose a conversation on another messenger",
            );
        }
        if !self.store.set_notices(user.id, link, is_on).await? {
            return outcome(not_admin);
        }
        let target = format!("{} to {}", known.account, known.person);
        self.audit(Some(&user.name), "channel.notices", &target, if is_on { "on" } else { "off" }).await;
        Ok(())
    }
}

impl Channels {
    /// Sends the server's notices to the conversation of this link of an administrator, and to none of their other conversations, or stops sending
    /// them.
    ///
    /// # Errors
    /// [`Error::Refused`] if the user is not an administrator or has no such link, or if bots can only reply on its messenger.
    pub async fn set_notices(&self, user: &User, link: i64, is_on: bool) -> Result<()> {
        self.0.set_notices(user, link, is_on).await
    }
}
