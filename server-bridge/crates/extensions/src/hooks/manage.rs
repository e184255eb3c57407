//! Listing, changing and approving hooks.

use api::hooks::{HookList, HookRunView, HookView};
use api::problem::Problem;
use api::words::{ExtensionLayer, HookState};
use futures_util::future::BoxFuture;
use hooks::config::{Document, Format, Severity};
use hooks::dialect::Dialect;
use hooks::layers::{Hook, Trouble};
use hooks::limits::HANDLERS_OF_EVENT;
use hooks::{Event, Layer, Loaded};
use sandbox::Sandbox;
use store::{User, UserId};

use super::documents::{KIND, OWN};
use super::{HookRunner, Inner};
use crate::machine::of_place;
use crate::{Error, Result, approvals, documents, trust};

impl HookRunner {
    /// The hooks that apply to a user at a place: at the named one, or else at the active one. If its machine cannot be
    /// reached, the hooks of its workspace are missing, and the list reports this.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User, on: Option<&str>) -> Result<HookList> {
        let (sandbox, away) = of_place(&self.0.ledger, user, on).await;
        let loaded = self.loaded(user, sandbox.as_ref()).await?;
        let views = |hooks: &[Hook], state: HookState| -> Vec<HookView> {
            hooks.iter().map(|hook| view(hook, state.clone())).collect()
        };
        let mut list = views(loaded.hooks.all(), HookState::Runs);
        list.extend(views(&loaded.waiting, HookState::Waiting));
        list.extend(views(&loaded.inert, HookState::Inert));
        let problems = loaded.troubles.iter().map(documents::of_hooks);
        let away = away.map(|why| Problem::new(format!("the hooks of the workspace are not listed: {why}")));
        let callbacks = self.0.callbacks.views();
        Ok(HookList { hooks: list, problems: problems.chain(away).collect(), callbacks })
    }

    /// The user's own document.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn document(&self, user: UserId) -> Result<Option<String>> {
        Ok(self.0.store.hook_document(user).await?)
    }

    /// Replaces the user's own document; `None` removes it. It takes effect from the next turn on. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if the text is not a document, one of its hooks is refused, or an event would have too many hooks; then nothing is changed;
    /// [`Error::Store`].
    pub async fn set_document(&self, user: &User, text: Option<&str>) -> Result<HookList> {
        if let Some(text) = text {
            let refused = self.0.refused(user.id, text).await?;
            if !refused.is_empty() {
                // One line for each, because a text is translated line by line.
                return Err(Error::refused(
                    "invalid",
                    format!("the document is refused: {}", refused.join("\n")),
                ));
            }
        }
        self.0.store.set_hook_document(user.id, text).await?;
        let outcome = if text.is_some() { "set" } else { "removed" };
        approvals::note(&self.0.store, user, "hook.document", "", outcome).await;
        self.list(user, None).await
    }

    /// Approves a hook of the workspace by the hash of what it runs; it runs from the next turn on. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if no hook with this hash waits at the place; [`Error::Store`].
    pub async fn approve(&self, user: &User, hash: &str, on: Option<&str>) -> Result<()> {
        let (sandbox, _) = of_place(&self.0.ledger, user, on).await;
        let loaded = self.loaded(user, sandbox.as_ref()).await?;
        let Some(hook) = loaded.waiting.iter().find(|hook| hook.hash.as_str() == hash) else {
            let text = "no hook with this hash waits for approval there; see `sandbridge hook list`";
            return Err(Error::refused("not_found", text));
        };
        approvals::approve(&self.0.store, user, sandbox.as_ref(), &item(hook, false).approval(KIND)).await
    }

    /// Revokes an approval: from the next turn on, the hook no longer runs. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if it was not approved; [`Error::Store`].
    pub async fn revoke(&self, user: &User, hash: &str) -> Result<()> {
        if !approvals::revoke(&self.0.store, user, KIND, hash).await? {
            return Err(Error::refused(
                "not_found",
                "you approved no hook with this hash; see `sandbridge hook list`",
            ));
        }
        Ok(())
    }

    /// The last runs of a user's hooks, the newest first.
    pub fn log(&self, user: UserId) -> Vec<HookRunView> {
        self.0.log.of(user)
    }

    /// The hooks that apply to a user on a machine, if one can be reached.
    pub(super) async fn loaded(&self, user: &User, sandbox: Option<&Sandbox>) -> store::Result<Loaded> {
        let documents = self.0.documents(user.id, sandbox, &[]).await?;
        self.0.load(user.id, &documents, sandbox).await
    }
}

impl Inner {
    /// The reasons why a text is refused as the user's own document, one a line: its refused entries, and the events that would have too many hooks.
    async fn refused(&self, user: UserId, text: &str) -> Result<Vec<String>> {
        let document = match Document::read(text, Format::Own) {
            Ok(document) => document,
            Err(error) => return Ok(vec![error.to_string()]),
        };
        // A workspace's hooks never take the place of the user's, so no machine is needed.
        let documents = self.documents_with(user, Some(text.to_owned()), None, &[]).await?;
        let loaded = self.load(user, &documents, None).await?;
        let is_crowded = |trouble: &&Trouble| {
            let mut crowded_out = loaded.crowded_out.iter();
            crowded_out.any(|hook| hook.origin == trouble.origin && hook.place == trouble.problem.place)
        };
        let own = loaded.troubles.iter().filter(|trouble| {
            trouble.problem.severity == Severity::Refused
                && trouble.layer == Layer::User
                && trouble.origin == OWN
        });
        let entries = own.filter(|trouble| !is_crowded(trouble));
        let entries = entries.map(|trouble| format!("{}: {}", trouble.problem.place, trouble.problem.text));
        let events = Event::ALL.into_iter().filter_map(|event| {
            let group = document.groups.iter().find(|group| group.event == event)?;
            let is_crowded = loaded.crowded_out.iter().any(|hook| hook.event == event);
            is_crowded.then(|| crowded(event, event.name(group.spelling), &loaded))
        });
        Ok(entries.chain(events).collect())
    }
}

/// The reason why a document that gives an event too many hooks is refused; `name` is the event's name in the document.
fn crowded(event: Event, name: &str, loaded: &Loaded) -> String {
    let hooks = || loaded.hooks.of(event).chain(loaded.crowded_out.iter().filter(|hook| hook.event == event));
    let count = |wanted: fn(&Hook) -> bool| hooks().filter(|hook| wanted(hook)).count();
    let all = hooks().count();
    let managed = count(|hook| hook.layer == Layer::Managed);
    let plugins = count(|hook| hook.plugin_root.is_some());
    let own = all - managed - plugins;
    format!(
        "hooks.{name}: this event would have {all} hooks ({own} of yours, {plugins} of your plugins, {managed} of the administrator), and it \
         can have {HANDLERS_OF_EVENT}; remove some, or have one command do the work of several"
    )
}

impl trust::Source for HookRunner {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn items<'a>(
        &'a self,
        user: &'a User,
        sandbox: &'a Sandbox,
    ) -> BoxFuture<'a, store::Result<trust::Items>> {
        Box::pin(async move {
            let loaded = self.loaded(user, Some(sandbox)).await?;
            let approved = loaded.hooks.all().iter().filter(|hook| hook.layer.needs_approval());
            let approved = approved.map(|hook| item(hook, true));
            let waiting = loaded.waiting.iter().map(|hook| item(hook, false));
            Ok(trust::Items { items: waiting.chain(approved).collect(), problems: Vec::new() })
        })
    }
}

/// A workspace's hook, as an item that needs approval.
fn item(hook: &Hook, is_approved: bool) -> trust::Item {
    trust::Item {
        name: format!("{} {}", hook.origin, hook.place),
        origin: hook.origin.clone(),
        action: format!("{} {}\n{}", hook.event_name(), hook.matcher.pattern(), hook.handler.describe()),
        hash: hook.hash.as_str().to_owned(),
        files: hook.files.covered.clone(),
        unseen: hook.files.unseen.clone(),
        is_approved,
        is_approvable: true,
    }
}

fn view(hook: &Hook, state: HookState) -> HookView {
    HookView {
        id: hook.id.clone(),
        hash: hook.hash.as_str().to_owned(),
        event: hook.event.name(Dialect::Own).to_owned(),
        matcher: hook.matcher.pattern().to_owned(),
        kind: hook.handler.kind().to_owned(),
        action: hook.handler.describe(),
        layer: match hook.layer {
            Layer::Managed => ExtensionLayer::Managed,
            Layer::User => ExtensionLayer::User,
            Layer::Workspace => ExtensionLayer::Workspace,
            Layer::WorkspaceLocal => ExtensionLayer::WorkspaceLocal,
        },
        origin: hook.origin.clone(),
        files: hook.files.covered.iter().map(|(path, _)| path.clone()).collect(),
        unseen: hook.files.unseen.clone(),
        state,
    }
}
