//! The user's permissions and models.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use llm::retry::Patience;
use llm::slots::{Kind, Seat};
use store::MessageId;

use super::{Stored, asked};
use crate::Error;
use crate::house::House;
use crate::limits::CHANNEL_PATIENCE;
use crate::rule_book::{Found, Judged, Scope, WorkspaceRules, of_workspace};
use agent::approval::{Mode, Ruling};
use agent::ask::{Ask, Asking};
use agent::engine::{Asked, ModelPool, Permissions, Workplace};
use agent::models::{ModelChain, NoModel, Place, Tier};
use agent::tool::Subject;
use tools::COMMANDS;
use tools::ported;

impl Stored {
    /// The rules of the turn's workspace, in the state when the turn first needs them; none without a machine.
    pub(super) async fn workspace_rules(&self) -> Arc<WorkspaceRules> {
        let read = || async {
            match self.sandbox().await {
                Ok(sandbox) => Arc::new(of_workspace(&sandbox).await),
                Err(_) => Arc::default(),
            }
        };
        Arc::clone(self.workspace_rules.get_or_init(read).await)
    }

    /// The sources of the rules for this turn.
    fn scope<'a>(&'a self, workspace: &'a WorkspaceRules) -> Scope<'a> {
        let House { settings, services, .. } = &*self.service;
        Scope {
            store: &services.store,
            home: settings.home(),
            user: self.user.id,
            chat: &self.root,
            workspace: &workspace.set,
        }
    }
}

impl Permissions for Stored {
    fn mode(&self) -> Asked<'_, Mode> {
        asked(async {
            let word = self.service.store.approval(self.user.id, &self.root).await?;
            // A mode that only a newer server knows: asking too often is safer than too rarely.
            Ok(word.parse().unwrap_or(Mode::Ask))
        })
    }

    fn ruling<'a>(&'a self, tool: &'a str, subject: Subject<'a>, counts: bool) -> Asked<'a, Ruling> {
        Box::pin(async move {
            let judged = Judged { tool, subject, workplace: self, counts };
            let workspace = self.workspace_rules().await;
            self.service.rules.ruling(self.scope(&workspace), &judged).await
        })
    }

    fn hidden<'a>(&'a self, tool: &'a str, base: &'a str, paths: &'a [String]) -> Asked<'a, Vec<bool>> {
        Box::pin(async move {
            let found = Found { tool, base, paths, workplace: self };
            let workspace = self.workspace_rules().await;
            self.service.rules.hidden(self.scope(&workspace), found).await
        })
    }

    fn is_allowed<'a>(&'a self, tool: &'a str, subject: &'a str) -> Asked<'a, bool> {
        asked(self.service.store.is_allowed(self.user.id, &self.root, tool, subject))
    }

    fn allow_for_good<'a>(&'a self, tool: &'a str, subject: &'a str, scope: &'a str) -> Asked<'a, ()> {
        asked(self.service.store.allow_for_good(self.user.id, &self.root, tool, subject, scope))
    }

    fn files_change(&self) -> Asked<'_, ()> {
        asked(self.service.store.forget_allowed(self.user.id, &self.root, COMMANDS))
    }

    fn ask(&self, message: MessageId, ask: Ask) -> Asked<'_, Asking> {
        asked(async move {
            let patience = match self.service.store.is_channel_chat(&self.root).await? {
                true => ask.patience.max(CHANNEL_PATIENCE),
                false => ask.patience,
            };
            let ask = Ask { patience, ..ask };
            let patience_ms = i64::try_from(ask.patience.as_millis()).unwrap_or(i64::MAX);
            self.service.store.put_ask(self.user.id, message, ask.kind.as_str(), patience_ms).await?;
            Ok(self.service.asks.wait(self.user.id, message, ask))
        })
    }

    fn wants_room(&self) -> bool {
        self.service.takes_compression(self.user.id, &self.chat)
    }
}

impl ModelPool for Stored {
    fn chain(&self, tier: Option<Tier>) -> BoxFuture<'_, Result<ModelChain, NoModel>> {
        Box::pin(async move {
            let models = &self.service.models;
            models.of_chat(&self.service, &self.user, &self.root, tier).await.map_err(|error| match error {
                Error::Store(error) => NoModel::Port(ported(error)),
                other => NoModel::Unavailable(other.to_string()),
            })
        })
    }

    fn seat(&self, kind: Kind) -> Seat {
        self.service.models.seat(self.user.id, kind)
    }

    fn patience(&self) -> Patience {
        self.service.models.patience()
    }

    fn place(&self, kind: Kind) -> Place {
        self.service.models.place(self.user.id, kind)
    }
}
