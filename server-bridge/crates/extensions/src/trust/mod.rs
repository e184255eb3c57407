//! Trust: everything that a workspace defines and its user must approve, of all kinds, in one list.
//!
//! ```text
//!   hooks, MCP servers, HTTP tools, custom tools, skills for every prompt ─▶ Source::items ─▶ what waits, what was approved, what changed since
//!                                                                                   └─ approve by hash, revoke
//! ```
//! A new kind is a [`Source`] that is added where the list is made; its own code asks for the approvals of its kind.
//!
//! | module | holds |
//! |---|---|
//! | `changes` | what changed since the last approval |
//! | `notice` | the notice in a chat that something waits for approval |
//! | `question` | the question in a chat about everything that waits |

mod changes;
mod notice;
mod question;

use std::sync::Arc;

use api::problem::Problem;
use api::trust::{TrustApproval, TrustItem, TrustList};
use api::words::TrustState;
use execs::Ledger;
use futures_util::future::{BoxFuture, join_all};
use sandbox::Sandbox;
use store::{Store, Trust as Approved, User};

pub use notice::TrustNotice;

use crate::approvals::{self, Approval, workspace_of};
use crate::machine::of_place;
use crate::{Error, Result};

/// Something of a workspace that needs its user's approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's name, unique within its kind.
    pub name: String,
    /// The file that defines it.
    pub origin: String,
    /// A description of what happens once it is approved.
    pub action: String,
    /// The SHA-256 of what runs, in hexadecimal digits.
    pub hash: String,
    /// The files of the workspace that the approval covers, each with the SHA-256 of its content.
    pub files: Vec<(String, String)>,
    /// Descriptions of what may run that the approval does not cover.
    pub unseen: Vec<String>,
    /// True if this hash was approved.
    pub is_approved: bool,
    /// True if it can be approved: everything that would run is known.
    pub is_approvable: bool,
}

/// The items of a kind, and the problems of others.
#[derive(Debug, Default)]
pub struct Items {
    /// The items that can be shown and approved.
    pub items: Vec<Item>,
    /// The problems of definitions that cannot be items.
    pub problems: Vec<Problem>,
}

/// A source of one kind of item that needs approval.
pub trait Source: Send + Sync {
    /// The kind, as it is stored with approvals: a short word.
    fn kind(&self) -> &'static str;

    /// The items of this kind in the workspace of this machine.
    fn items<'a>(&'a self, user: &'a User, sandbox: &'a Sandbox) -> BoxFuture<'a, store::Result<Items>>;

    /// Ends what runs under an approval that was revoked.
    fn revoked(&self, _user: &User, _hash: &str) {}
}

/// The approvals of all kinds. Cheap to clone.
#[derive(Clone)]
pub struct Trust {
    store: Store,
    ledger: Ledger,
    sources: Arc<[Arc<dyn Source>]>,
}

impl Trust {
    /// The approvals of these kinds.
    pub fn new(store: Store, ledger: Ledger, sources: Vec<Arc<dyn Source>>) -> Self {
        Self { store, ledger, sources: sources.into() }
    }

    /// Everything that the workspace of a place defines and its user must approve, what changed since an approval, and
    /// all approvals that the user gave, in other workspaces too. Nothing is started.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User, on: Option<&str>) -> Result<TrustList> {
        let approvals = self.store.trusts(user.id, None).await?;
        let (sandbox, away) = of_place(&self.ledger, user, on).await;
        let mut list = TrustList {
            workspace: sandbox.as_ref().map(workspace_of),
            problems: away
                .map(|why| Problem::new(format!("what the workspace defines is not known: {why}")))
                .into_iter()
                .collect(),
            ..TrustList::default()
        };
        if let Some(sandbox) = &sandbox {
            let workspace = workspace_of(sandbox);
            for (kind, items) in self.items(user, sandbox).await? {
                list.problems.extend(items.problems);
                let view = |item: &Item| view(kind, item, &approvals, &workspace);
                list.items.extend(items.items.iter().map(view));
            }
        }
        list.approvals = approvals.into_iter().rev().map(of_store).collect();
        Ok(list)
    }

    /// Approves something that waits in the workspace of a place. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if nothing with this hash waits there; [`Error::Store`].
    pub async fn approve(&self, user: &User, hash: &str, on: Option<&str>) -> Result<()> {
        let (sandbox, away) = of_place(&self.ledger, user, on).await;
        let Some(sandbox) = sandbox else {
            let why = away.unwrap_or_default();
            return Err(Error::refused("unavailable", format!("the workspace cannot be read: {why}")));
        };
        for (kind, items) in self.items(user, &sandbox).await? {
            let waits = |item: &&Item| item.hash == hash && item.is_approvable && !item.is_approved;
            if let Some(item) = items.items.iter().find(waits) {
                return approvals::approve(&self.store, user, Some(&sandbox), &item.approval(kind)).await;
            }
        }
        Err(Error::refused(
            "not_found",
            "nothing with this hash waits for approval; it may have changed since you looked at it: see `sandbridge trust list`",
        ))
    }

    /// Revokes an approval of any kind, in any workspace; what runs under it ends. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none with this hash; [`Error::Store`].
    pub async fn revoke(&self, user: &User, hash: &str) -> Result<()> {
        let mut was_there = false;
        for approval in self.store.trusts(user.id, None).await?.iter().filter(|known| known.hash == hash) {
            was_there |= approvals::revoke(&self.store, user, &approval.kind, hash).await?;
            if let Some(source) = self.sources.iter().find(|source| source.kind() == approval.kind) {
                source.revoked(user, hash);
            }
        }
        if was_there {
            return Ok(());
        }
        Err(Error::refused("not_found", "you approved nothing with this hash; see `sandbridge trust list`"))
    }

    async fn items(&self, user: &User, sandbox: &Sandbox) -> Result<Vec<(&'static str, Items)>> {
        let all = self.sources.iter().map(|source| async {
            Ok::<_, store::Error>((source.kind(), source.items(user, sandbox).await?))
        });
        Ok(join_all(all).await.into_iter().collect::<store::Result<_>>()?)
    }
}

impl Item {
    /// The item in the form that an approval stores.
    pub(crate) fn approval<'a>(&'a self, kind: &'a str) -> Approval<'a> {
        let Self { name, action, hash, files, .. } = self;
        Approval { kind, hash, name, shown: action, files }
    }
}

/// An item as clients see it.
fn view(kind: &str, item: &Item, approvals: &[Approved], workspace: &str) -> TrustItem {
    let approval = approvals.iter().find(|approval| approval.kind == kind && approval.hash == item.hash);
    let state = match (item.is_approved, item.is_approvable) {
        (true, _) => TrustState::Approved,
        (false, true) => TrustState::Waiting,
        (false, false) => TrustState::Refused,
    };
    TrustItem {
        kind: kind.into(),
        name: item.name.clone(),
        origin: item.origin.clone(),
        action: item.action.clone(),
        hash: item.hash.clone(),
        files: item.files.iter().map(|(path, _)| path.clone()).collect(),
        unseen: item.unseen.clone(),
        state,
        approved_at: approval.filter(|_| item.is_approved).map(|approval| approval.created_at_ms),
        change: if item.is_approved { None } else { changes::since(kind, item, approvals, workspace) },
    }
}

/// An approval as clients see it.
fn of_store(approval: Approved) -> TrustApproval {
    TrustApproval {
        kind: approval.kind.as_str().into(),
        name: approval.name,
        workspace: approval.workspace,
        action: approval.shown,
        hash: approval.hash,
        approved_at: approval.created_at_ms,
    }
}
