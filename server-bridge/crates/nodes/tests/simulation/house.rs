//! The simulated network: the URLs of processes, and the partitions between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use store::{ChatId, UserId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::link::CutLink;

/// A call that a process receives.
#[derive(Debug)]
pub(crate) enum Call {
    /// A runner's link, from a runner or, for this user, from the node with this id.
    Link { link: CutLink, from: Option<(String, UserId)>, is_taken: Option<oneshot::Sender<bool>> },
    /// A request for a user, from a client or from the node with this id.
    Ask { user: UserId, ask: Ask, answer: mpsc::Sender<Frame>, from: Option<String> },
}

/// The request of a client.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Exec(Arc<Exec>),
    /// Writes a message to a chat.
    Post {
        chat: ChatId,
        text: String,
    },
    /// Reads the texts of a chat.
    Read {
        chat: ChatId,
    },
}

/// The request for a command, repeated each time its client connects.
#[derive(Clone, Debug)]
pub(crate) struct Exec {
    pub(crate) id: store::ExecId,
    pub(crate) place: String,
    pub(crate) line: String,
    pub(crate) is_detached: bool,
    /// True if the client acknowledges output.
    pub(crate) acks: bool,
    /// The bytes of output that the client already has.
    pub(crate) offset: u64,
    /// The current value of `offset` while the client is connected; [`ALL`] once it has the end.
    pub(crate) has: watch::Receiver<u64>,
    /// Cancelled when the client cancels the command.
    pub(crate) ended: CancellationToken,
    /// Cancelled when the client disconnects.
    pub(crate) gone: CancellationToken,
}

/// The value of `has` for a client that has everything, including the end.
pub(crate) const ALL: u64 = u64::MAX;

/// A frame for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Started,
    Detached,
    Data {
        is_stderr: bool,
        bytes: bytes::Bytes,
    },
    Gap(u64),
    Exit {
        code: Option<i32>,
        is_cancelled: bool,
    },
    /// An error of this kind.
    Error(String),
    Posted,
    Texts(Vec<String>),
    /// The node that was asked is not the home, and has done nothing.
    NotHere,
}

/// The processes that listen, by the URLs of their nodes. Cheap to clone; all clones share the same state.
#[derive(Clone, Debug)]
pub(crate) struct House(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    doors: Mutex<HashMap<String, mpsc::UnboundedSender<Call>>>,
    /// The pairs of nodes that cannot reach each other.
    walls: watch::Sender<Vec<(String, String)>>,
}

impl House {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner { doors: Mutex::default(), walls: watch::Sender::default() }))
    }

    /// Listens at a URL until the receiver is dropped.
    pub(crate) fn listen(&self, url: &str) -> mpsc::UnboundedReceiver<Call> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.doors().insert(url.to_owned(), sender);
        receiver
    }

    /// Calls the process at a URL; false if none listens there.
    pub(crate) fn call(&self, url: &str, call: Call) -> bool {
        crate::clockwork::progress();
        self.doors().get(url).is_some_and(|door| door.send(call).is_ok())
    }

    /// Partitions two nodes from each other, or ends their partition.
    pub(crate) fn part(&self, one: &str, other: &str, are_parted: bool) {
        self.0.walls.send_modify(|walls| {
            walls.retain(|wall| !is_between(wall, one, other));
            if are_parted {
                walls.push((one.to_owned(), other.to_owned()));
            }
        });
    }

    pub(crate) fn are_parted(&self, one: &str, other: &str) -> bool {
        self.0.walls.borrow().iter().any(|wall| is_between(wall, one, other))
    }

    /// Returns once two nodes cannot reach each other.
    pub(crate) async fn parted(&self, one: &str, other: &str) {
        let mut walls = self.0.walls.subscribe();
        let _lives = walls.wait_for(|walls| walls.iter().any(|wall| is_between(wall, one, other))).await;
    }

    fn doors(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Call>>> {
        self.0.doors.lock().unwrap()
    }
}

fn is_between(wall: &(String, String), one: &str, other: &str) -> bool {
    (wall.0 == one && wall.1 == other) || (wall.0 == other && wall.1 == one)
}
