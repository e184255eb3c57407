//! Handles a call that arrives at a process: it is served there, or forwarded to the user's home. Modelled on the server's `forward` and
//! `runner_pipe`, without HTTP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use accounts::{Admitted, Showing, TokenRefused};
use futures_util::{SinkExt, StreamExt};
use nodes::Home;
use peers::PeerNode;
use sandbox::{Admission, LinkMessage, Refusal, RefusalReason, Registration, token_of};
use store::UserId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::clockwork::progress;
use crate::house::{Ask, Call, Frame};
use crate::link::{CutLink, WHOLE, cut_link};
use crate::node::Node;
use crate::serve;

/// These limits have the same values as the server's.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const HOME_ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
const HOME_LOOKS: u32 = 2;
const HOME_LOOK_PAUSE: Duration = Duration::from_millis(300);
/// How long to try to connect to an unreachable node.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum number of frames that are queued between two processes.
const WAITING: usize = 8;

/// The node that handles a user's requests.
enum Place {
    Here,
    At(Arc<PeerNode>),
}

/// Looks for the home of a user, a limited number of times.
struct Looks<'a> {
    node: &'a Node,
    user: UserId,
    left: u32,
}

/// The error if the home cannot be reached now.
struct Unavailable;

impl Looks<'_> {
    async fn place(&mut self) -> Result<Place, Unavailable> {
        let Node { nodes, directory, url, .. } = self.node;
        loop {
            let peer = match nodes.home(self.user).await {
                Ok(Home::Here) => return Ok(Place::Here),
                Ok(Home::At(url)) => directory.at(&url),
                Ok(Home::Nowhere) => match directory.least_busy(url) {
                    Some(peer) => return Ok(Place::At(peer)),
                    None => return Ok(Place::Here),
                },
                Err(_) => return Err(Unavailable),
            };
            match peer {
                Some(peer) => return Ok(Place::At(peer)),
                None => self.was_wrong().await?,
            }
        }
    }

    async fn was_wrong(&mut self) -> Result<(), Unavailable> {
        self.node.nodes.forget_home(self.user);
        self.node.directory.refresh();
        self.left = self.left.checked_sub(1).ok_or(Unavailable)?;
        sleep(HOME_LOOK_PAUSE).await;
        Ok(())
    }
}

/// Returns true if this node is the home of a user whose request another node has forwarded.
async fn is_for_here(node: &Node, from: &str, user: UserId) -> bool {
    node.directory.is_live(from) && node.nodes.home(user).await.is_ok_and(|home| home == Home::Here)
}

/// Handles a request for a user.
pub(crate) async fn ask(
    node: Arc<Node>,
    user: UserId,
    ask: Ask,
    answer: mpsc::Sender<Frame>,
    from: Option<String>,
) {
    if let Some(from) = from {
        if is_for_here(&node, &from, user).await {
            serve::serve(&node, user, ask, answer).await;
        } else {
            let _gone = answer.send(Frame::NotHere).await;
        }
        return;
    }
    let mut looks = Looks { node: &node, user, left: HOME_LOOKS };
    loop {
        match looks.place().await {
            Ok(Place::Here) => return serve::serve(&node, user, ask, answer).await,
            Ok(Place::At(peer)) => match pass(&node, &peer, user, &ask, &answer).await {
                Passed::Answered => return,
                Passed::Unknown => {
                    let _gone = answer.send(Frame::Error("unavailable".to_owned())).await;
                    return;
                }
                Passed::Not => {}
            },
            Err(Unavailable) => break,
        }
        if looks.was_wrong().await.is_err() {
            break;
        }
    }
    let _gone = answer.send(Frame::Error("unavailable".to_owned())).await;
}

/// The outcome of a request that was forwarded to another node.
enum Passed {
    Answered,
    /// The request may have been carried out.
    Unknown,
    /// The request was not carried out.
    Not,
}

/// Forwards a request to a node, and the responses back, until either side ends.
async fn pass(node: &Node, peer: &PeerNode, user: UserId, ask: &Ask, answer: &mpsc::Sender<Frame>) -> Passed {
    if node.house.are_parted(&node.url, &peer.url) {
        sleep(CONNECT_TIMEOUT).await;
        return Passed::Not;
    }
    let (sender, mut answers) = mpsc::channel(WAITING);
    let from = Some(node.nodes.id().to_owned());
    if !node.house.call(&peer.url, Call::Ask { user, ask: ask.clone(), answer: sender, from }) {
        return Passed::Not;
    }
    let is_safe = !matches!(ask, Ask::Post { .. });
    let has_begun = AtomicBool::new(false);
    let lost = async {
        tokio::select! {
            () = node.directory.gone(&peer.id) => {}
            () = node.house.parted(&node.url, &peer.url) => {}
            () = node.stop.cancelled() => {}
        }
    };
    let relayed = async {
        while let Some(frame) = answers.recv().await {
            progress();
            if frame == Frame::NotHere {
                return true;
            }
            has_begun.store(true, Ordering::Relaxed);
            if answer.send(frame).await.is_err() {
                return false;
            }
        }
        false
    };
    let is_refused = tokio::select! {
        is_refused = relayed => is_refused,
        () = answer.closed() => return Passed::Answered,
        () = lost => false,
    };
    match (is_refused, has_begun.load(Ordering::Relaxed), is_safe) {
        (true, ..) | (false, false, true) => Passed::Not,
        (false, true, _) => Passed::Answered,
        (false, false, false) => Passed::Unknown,
    }
}

/// Handles a runner's link.
pub(crate) async fn link(
    node: Arc<Node>,
    mut link: CutLink,
    from: Option<(String, UserId)>,
    is_taken: Option<oneshot::Sender<bool>>,
) {
    if let Some((from, user)) = from {
        let is_here = is_for_here(&node, &from, user).await;
        if is_taken.is_some_and(|taken| taken.send(is_here).is_ok()) && is_here {
            serve_link(&node, link).await;
        }
        return;
    }
    let Ok(Some(Ok(first))) = timeout(HEAD_TIMEOUT, link.next()).await else { return };
    let token = token_of(&first).expect("a runner registers first");
    // The database is unavailable, so the runner has to dial again.
    let Ok(user) = node.accounts.runner_token_user(&token).await else { return };
    let mut looks = Looks { node: &node, user: user.expect("the token is known"), left: HOME_LOOKS };
    loop {
        match looks.place().await {
            Ok(Place::Here) => {
                link.put_back(first);
                return serve_link(&node, link).await;
            }
            Ok(Place::At(peer)) => {
                if let Some(home) = open(&node, &peer, looks.user).await {
                    tokio::select! {
                        () = pipe(first, link, home) => {}
                        () = node.directory.gone(&peer.id) => {}
                        () = node.house.parted(&node.url, &peer.url) => {}
                        () = node.stop.cancelled() => {}
                    }
                    return;
                }
            }
            Err(Unavailable) => return,
        }
        if looks.was_wrong().await.is_err() {
            return;
        }
    }
}

/// Opens a link to the home; `None` if that node is not the home or cannot be reached.
async fn open(node: &Node, peer: &PeerNode, user: UserId) -> Option<CutLink> {
    if node.house.are_parted(&node.url, &peer.url) {
        sleep(CONNECT_TIMEOUT).await;
        return None;
    }
    let (theirs, ours) = cut_link(WHOLE);
    let (taken, is_taken) = oneshot::channel();
    let from = Some((node.nodes.id().to_owned(), user));
    if !node.house.call(&peer.url, Call::Link { link: theirs, from, is_taken: Some(taken) }) {
        return None;
    }
    matches!(timeout(HEAD_TIMEOUT, is_taken).await, Ok(Ok(true))).then_some(ours)
}

/// Relays messages in both directions without parsing them, until either side closes.
async fn pipe(first: LinkMessage, runner: CutLink, home: CutLink) {
    let (mut to_runner, mut from_runner) = runner.split();
    let (mut to_home, mut from_home) = home.split();
    if to_home.send(first).await.is_err() {
        return;
    }
    let Ok(Some(Ok(answer))) = timeout(HOME_ANSWER_TIMEOUT, from_home.next()).await else { return };
    if to_runner.send(answer).await.is_err() {
        return;
    }
    let there = async {
        while let Some(Ok(message)) = from_runner.next().await {
            if to_home.send(message).await.is_err() {
                return;
            }
        }
    };
    let back = async {
        while let Some(Ok(message)) = from_home.next().await {
            if to_runner.send(message).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = there => {}
        () = back => {}
    }
}

/// Registers a runner and serves its link to the end.
async fn serve_link(node: &Arc<Node>, link: CutLink) {
    let admitted = OnceLock::new();
    let noted = &admitted;
    let admit = |registration: Registration| async move {
        let facts = &registration.facts;
        let shown = Showing {
            token: &registration.token,
            claimed_users: &[],
            boot_id: &facts.boot_id,
            hostname: &facts.hostname,
            takes_token: false,
            facts_json: "{}",
        };
        let accepted = node.accounts.admit_runner(shown).await.map_err(|error| {
            let is_passing = matches!(error, TokenRefused::Unavailable(_));
            let reason = if is_passing { RefusalReason::Unavailable } else { RefusalReason::TokenUnknown };
            Refusal { reason, message: error.to_string() }
        })?;
        let Admitted { user, runner, name, epoch, .. } = accepted;
        let user_key = execs::user_key(user.id);
        let _is_first = noted.set((runner, user_key.clone(), name.clone()));
        Ok(Admission { user_key, runner: name, epoch, token: None, version: None })
    };
    // The reason does not matter, since the runner dials again.
    let _ended = node.router.serve_remote(link, admit).await;
    let Some((runner, user_key, name)) = admitted.get() else { return };
    let _noted = node.accounts.touch_runner(*runner).await;
    if !node.stop.is_cancelled() && !node.router.is_there_soon(user_key, name) {
        let _noted = node.accounts.note_disconnected(*runner).await;
    }
}
