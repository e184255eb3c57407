//! Attaching links to a runner's life and detaching them.

use std::io;
use std::time::Duration;

use futures_util::SinkExt;
use proto::session::{Close, CloseCode};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::driver::handle::{Command, LinkHandle};
use crate::error::LinkError;
use crate::limits::CLOSE_TIMEOUT;
use crate::link::{Link, LinkMessage};

/// The reason why a link ended.
#[derive(Debug)]
pub(crate) enum LinkEnd {
    /// The peer sent a goodbye with a reason, or closed the link between frames.
    Peer(Option<Close>),
    /// The socket failed.
    Failed(io::Error),
    /// The peer broke the protocol or fell silent.
    Broken(Close),
    /// Requested by this side.
    Wanted(Option<Close>),
}

impl LinkEnd {
    pub(crate) fn into_result(self) -> Result<(), LinkError> {
        match self {
            LinkEnd::Peer(None) | LinkEnd::Wanted(_) => Ok(()),
            LinkEnd::Peer(Some(close)) => match close.code {
                CloseCode::GoingAway => Ok(()),
                _ => Err(LinkError::Broken(close)),
            },
            LinkEnd::Failed(error) => Err(error.into()),
            LinkEnd::Broken(close) => Err(LinkError::Broken(close)),
        }
    }

    /// True if the runner itself is going away: its commands end with it.
    pub(super) fn is_last(&self) -> bool {
        self.is_goodbye() && self.returns_within().is_none()
    }

    /// The time within which a departing runner intends to be back, if it does. Such a runner has not begun any request
    /// that it did not answer.
    pub(super) fn returns_within(&self) -> Option<Duration> {
        match self {
            LinkEnd::Peer(Some(close)) if self.is_goodbye() => {
                Some(close.pause).filter(|time| !time.is_zero())
            }
            _ => None,
        }
    }

    fn is_goodbye(&self) -> bool {
        matches!(self, LinkEnd::Peer(Some(close)) if close.code == CloseCode::GoingAway)
    }

    fn last_word(&self) -> Option<&Close> {
        match self {
            LinkEnd::Broken(close) | LinkEnd::Wanted(Some(close)) => Some(close),
            LinkEnd::Peer(_) | LinkEnd::Failed(_) | LinkEnd::Wanted(None) => None,
        }
    }
}

/// A link on its way into the driver.
pub(crate) struct Plug {
    pub(super) link: Box<dyn Link>,
    pub(super) epoch: u64,
    pub(super) ended: oneshot::Sender<Unplugged>,
}

impl Plug {
    pub(super) fn new(link: Box<dyn Link>, epoch: u64) -> (Self, oneshot::Receiver<Unplugged>) {
        let (ended, receiver) = oneshot::channel();
        (Self { link, epoch, ended }, receiver)
    }
}

impl std::fmt::Debug for Plug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plug").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// A link that the driver is done with.
pub(super) struct Unplugged {
    pub(super) link: Box<dyn Link>,
    pub(super) end: LinkEnd,
}

impl std::fmt::Debug for Unplugged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unplugged").field("end", &self.end).finish_non_exhaustive()
    }
}

/// A link that the driver uses. Dropping this takes it away from the driver.
#[derive(Debug)]
pub(crate) struct Plugged {
    handle: LinkHandle,
    epoch: u64,
    ended: oneshot::Receiver<Unplugged>,
}

impl Plugged {
    pub(super) fn new(handle: LinkHandle, epoch: u64, ended: oneshot::Receiver<Unplugged>) -> Self {
        Self { handle, epoch, ended }
    }

    /// Waits until the link is over, sends a goodbye on it and closes it.
    pub(crate) async fn ended(mut self) -> LinkEnd {
        let Ok(Unplugged { mut link, end }) = (&mut self.ended).await else {
            // The life was over before it took the link.
            return LinkEnd::Wanted(None);
        };
        let goodbye = async {
            if let Some(close) = end.last_word() {
                link.send(LinkMessage::Binary(close.to_frame())).await?;
            }
            link.close().await
        };
        // Best effort: the link is over either way, and a dead peer must not block this task.
        if let Ok(Err(error)) = timeout(CLOSE_TIMEOUT, goodbye).await {
            tracing::debug!(place = self.handle.place(), %error, "the link's last message could not be sent");
        }
        end
    }
}

impl Drop for Plugged {
    fn drop(&mut self) {
        self.handle.send(Command::Unplug(Some(self.epoch), None));
    }
}

/// The presence of a runner, for all its handles.
#[derive(Debug)]
pub(crate) struct Presence(watch::Sender<Standing>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Away,
    /// There is no link, and the runner announced that it will be back.
    Returning,
    /// The link of this epoch is up.
    Online(u64),
    Over,
}

impl Presence {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(Standing::Away))
    }

    /// The presence of a runner whose life has a single link.
    pub(crate) fn online() -> Self {
        Self(watch::Sender::new(Standing::Online(0)))
    }

    pub(crate) fn is_online(&self) -> bool {
        matches!(*self.0.borrow(), Standing::Online(_))
    }

    pub(crate) fn is_returning(&self) -> bool {
        *self.0.borrow() == Standing::Returning
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.0.borrow() == Standing::Over
    }

    pub(crate) fn arrive(&self, epoch: u64) {
        self.change(|standing| *standing != Standing::Over, Standing::Online(epoch));
    }

    /// Records that the link of this epoch is over; there may be a newer one already.
    pub(crate) fn leave(&self, epoch: u64, returns: bool) {
        let to = if returns { Standing::Returning } else { Standing::Away };
        self.change(|standing| *standing == Standing::Online(epoch), to);
    }

    pub(crate) fn end(&self) {
        self.change(|_| true, Standing::Over);
    }

    /// Waits until there is a link or will never be one; returns true if there is.
    pub(crate) async fn decided(&self) -> bool {
        let mut receiver = self.0.subscribe();
        let is_decided = |standing: &Standing| matches!(standing, Standing::Online(_) | Standing::Over);
        let standing = receiver.wait_for(is_decided).await;
        standing.is_ok_and(|standing| matches!(*standing, Standing::Online(_)))
    }

    fn change(&self, is_due: impl FnOnce(&Standing) -> bool, to: Standing) {
        self.0.send_if_modified(|standing| {
            let is_due = is_due(standing);
            if is_due {
                *standing = to;
            }
            is_due
        });
    }
}
