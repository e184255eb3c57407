//! Runs a task for each enabled account, which connects, waits when the connection ends, and reconnects.
//!
//! ```text
//!   connecting ─▶ connected ─▶ down ─(1 s … 60 s)─▶ connecting
//!                                └▶ refused ─(5 min)─▶ connecting
//! ```

use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use api::words::ChannelState;
use futures_util::FutureExt as _;
use platforms::Platform;
use platforms::platform::End;
use store::ChannelAccount;
use tokio::time::{Instant, sleep};

use crate::error::Result;
use crate::house::{Inner, Live};
use crate::inbox::{AccountInbox, Unusable};
use crate::limits::{REFUSED_PAUSE, WAIT_MAX};
use crate::pace::Pace;

impl Inner {
    /// Starts a task for each enabled account, and ends the tasks of accounts that were changed, disabled or removed.
    pub(crate) async fn sync(self: &Arc<Self>) -> Result<()> {
        let wanted = self.store.enabled_channels().await?;
        if !wanted.is_empty() {
            self.has_any.store(true, Ordering::Relaxed);
        }
        let mut is_changed = false;
        self.lock_live().retain(|id, live| {
            let is_same = |account: &ChannelAccount| {
                account.id == *id
                    && account.revision == live.account.revision
                    && account.is_shared == live.account.is_shared
            };
            let stays = wanted.iter().any(is_same);
            if !stays {
                live.stop.cancel();
                is_changed = true;
            }
            stays
        });
        for account in wanted {
            if self.stop.is_cancelled() || self.live(account.id).is_some() {
                continue;
            }
            let (platform, is_usable): (Arc<dyn Platform>, bool) = match self.platform_of(&account).await? {
                Ok(platform) => (platform, true),
                Err(why) => (Arc::new(Unusable(why)), false),
            };
            let live = Live {
                account: Arc::new(account),
                platform,
                status: Arc::default(),
                is_usable,
                stop: self.stop.child_token(),
            };
            // If two calls run at the same time, the task of the first call stays.
            let is_first = match self.lock_live().entry(live.account.id) {
                Entry::Occupied(_) => false,
                Entry::Vacant(entry) => {
                    entry.insert(live.clone());
                    true
                }
            };
            if is_first {
                is_changed = true;
                let inner = Arc::clone(self);
                self.tasks.spawn(async move { inner.keep_connected(live).await });
            }
        }
        if is_changed {
            self.wake.notify_one();
        }
        Ok(())
    }

    /// Connects an account and reconnects it, until its task is stopped.
    async fn keep_connected(self: Arc<Self>, live: Live) {
        let inbox = AccountInbox::new(&self, &live);
        let mut pace = Pace::default();
        live.becomes(ChannelState::Connecting, self.store.now_ms(), None);
        loop {
            let begun = Instant::now();
            let run = AssertUnwindSafe(live.platform.run(&inbox, &live.stop)).catch_unwind();
            let end = tokio::select! {
                end = run => end.unwrap_or_else(|_| End::Lost("the connection failed; see the server's log for the reason".to_owned())),
                () = live.stop.cancelled() => End::Stopped,
            };
            if live.stop.is_cancelled() {
                return;
            }
            let now_ms = self.store.now_ms();
            let lasted = begun.elapsed();
            let pause = match end {
                End::Stopped => pace.ended(lasted, rand::random()),
                End::Lost(why) => {
                    tracing::info!(channel = live.account.name, why, "a channel's connection ended");
                    live.becomes(ChannelState::Down, now_ms, Some(why));
                    pace.ended(lasted, rand::random())
                }
                End::Wait { ms, why } => {
                    live.becomes(ChannelState::Down, now_ms, Some(why));
                    Duration::from_millis(ms).min(WAIT_MAX)
                }
                End::Refused(why) => {
                    tracing::warn!(
                        channel = live.account.name,
                        why,
                        "a messenger refuses a channel's account"
                    );
                    live.becomes(ChannelState::Refused, now_ms, Some(why));
                    REFUSED_PAUSE
                }
            };
            tokio::select! {
                () = live.stop.cancelled() => return,
                () = sleep(pause) => {}
            }
        }
    }
}
