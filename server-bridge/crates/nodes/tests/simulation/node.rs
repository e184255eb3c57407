//! One node as a process: the real store, leases, homes, ledger and router, wired as `sandbridge serve` does it.

use std::sync::Arc;
use std::time::Duration;

use accounts::Accounts;
use execs::{Ledger, user_key};
use nodes::Nodes;
use peers::Directory;
use sandbox::{RouterConfig, SandboxRouter};
use store::{Error, Store, UserId};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::entry;
use crate::house::{Call, House};

/// The interval at which the task that ends a home checks whether the home's work has ended.
const END_CHECK: Duration = Duration::from_millis(20);
/// How long commands can take to end when a node stops.
const COMMANDS_STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Nodes only compare their keys here; connections between them are not encrypted.
const VERSION: &str = "0.1.0";

/// The state that the tasks of one process share.
pub(crate) struct Node {
    pub(crate) url: String,
    pub(crate) nodes: Nodes,
    pub(crate) store: Store,
    pub(crate) router: SandboxRouter,
    pub(crate) ledger: Ledger,
    pub(crate) accounts: Accounts,
    pub(crate) directory: Directory,
    pub(crate) house: House,
    /// The execs that are served to clients.
    pub(crate) execs: TaskTracker,
    /// Cancelled when the node shuts down.
    pub(crate) stop: CancellationToken,
    /// Cancelled when no work remains that needs the node's lease.
    end: CancellationToken,
    /// Cancelled when the node must stop because another process has replaced it.
    pub(crate) lost: CancellationToken,
}

impl Node {
    /// Joins the cluster as the node at this URL.
    pub(crate) async fn join(store: Store, url: String, house: House) -> Result<Arc<Self>, Error> {
        let (nodes, store) = Nodes::join(store, &url, VERSION, Some(url.clone().into_bytes())).await?;
        let router = SandboxRouter::new(RouterConfig::default());
        let node = Arc::new(Self {
            ledger: Ledger::new(store.clone(), router.clone()),
            accounts: Accounts::new(store.clone()),
            directory: Directory::default(),
            execs: TaskTracker::new(),
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
            lost: CancellationToken::new(),
            url,
            nodes,
            store,
            router,
            house,
        });
        // Weak, to avoid a reference cycle.
        let (begun, ended) = (Arc::downgrade(&node), Arc::downgrade(&node));
        node.nodes.set_settle(Box::new(move |user| {
            let node = begun.upgrade();
            Box::pin(
                async move { node.ok_or("it stops")?.begin(user).await.map_err(|error| error.to_string()) },
            )
        }));
        node.nodes.set_end_work(Box::new(move |user| {
            let node = ended.upgrade();
            Box::pin(async move {
                if let Some(node) = node {
                    node.end(user).await;
                }
            })
        }));
        Ok(node)
    }

    /// Renews the lease, takes over users, and accepts calls.
    pub(crate) async fn run(self: Arc<Self>) {
        let leased = async {
            if self.nodes.run(&self.end).await.is_err() {
                self.lost.cancel();
            }
        };
        let calls = self.house.listen(&self.url);
        tokio::join!(leased, self.directory.keep(&self.store, &self.end), self.listen(calls));
    }

    async fn listen(self: &Arc<Self>, mut calls: mpsc::UnboundedReceiver<Call>) {
        loop {
            let call = tokio::select! {
                call = calls.recv() => call,
                () = self.stop.cancelled() => return,
            };
            match call {
                Some(Call::Link { link, from, is_taken }) => {
                    tokio::spawn(entry::link(Arc::clone(self), link, from, is_taken));
                }
                Some(Call::Ask { user, ask, answer, from }) => {
                    tokio::spawn(entry::ask(Arc::clone(self), user, ask, answer, from));
                }
                None => return,
            }
        }
    }

    /// Continues a user's work when the node becomes the home, as the server does.
    async fn begin(&self, user: UserId) -> Result<(), Error> {
        let last = self.store.take_connected_runners(Some(user)).await?;
        self.router.expect(last.into_iter().map(|(user, name)| (user_key(user), name)));
        self.ledger.begin_user(user);
        let shown = self.ledger.recover(Some(user)).await?;
        assert!(shown.is_empty(), "no message shows an exec here");
        Ok(())
    }

    /// Ends a user's work once another node is the home, as the server does.
    async fn end(&self, user: UserId) {
        self.router.send_away(&user_key(user));
        self.ledger.end_user(user);
        while self.ledger.is_watching(user) {
            sleep(END_CHECK).await;
        }
    }

    /// Shuts down: gives up homes first or last, leaves the work to other nodes, and says goodbye on each link.
    pub(crate) async fn shut_down(self: Arc<Self>, drains: bool) {
        if drains {
            self.nodes.drain().await;
            for user in self.nodes.users() {
                // A home that cannot be given up now is given up at the end.
                let _released = self.nodes.release(user).await;
            }
        }
        self.stop.cancel();
        self.ledger.stop();
        self.execs.close();
        let ended = async { tokio::join!(self.ledger.shutdown(), self.execs.wait()) };
        // As in the server: work that waits for an offline runner ends with the runner's link.
        let _late = timeout(COMMANDS_STOP_TIMEOUT, ended).await;
        self.router.shutdown().await;
        self.end.cancel();
        self.nodes.leave().await;
    }
}
