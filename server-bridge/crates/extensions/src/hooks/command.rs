//! A handler that is a command: an exec on the user's machine, confined like any other, and recorded.
//!
//! The command runs in a separate task. Its caller may stop waiting at any time, because the turn was cancelled: then the task ends the command
//! and records its end. The caller also stops waiting when the command asks to continue in the background.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use execs::sandbox_user;
use hooks::command::{Line, line, variables};
use hooks::layers::Hook;
use hooks::limits::MAX_BACKGROUND_PATIENCE;
use hooks::payload::Payload;
use hooks::{Raw, Session};
use plugins::Variables;
use sandbox::{AckMode, ExecRequest, Profile, Sandbox};
use tokio::time::Instant;

use super::Inner;
use super::documents::named;
use super::run::{Begun, Owner};
use super::running::Running;
use super::turns::{PLAN, TurnHooks};
use crate::covered::{Covered, covered};
use crate::limits::HOOK_GRACE;
use crate::on_record::OnRecord;
use crate::plugins::Installed;

impl Inner {
    #[expect(
        clippy::too_many_arguments,
        reason = "a command needs its words, its hook, its payload and its time"
    )]
    pub(super) async fn command(
        self: &Arc<Self>,
        owner: &Owner,
        hooks: &Arc<TurnHooks>,
        hook: &Hook,
        command: &str,
        args: Option<&[String]>,
        payload: &Payload,
        patience: Duration,
    ) -> Raw {
        let (route, session) = hooks.place_of(hook);
        let sandbox = match self.router.for_user(&sandbox_user(&owner.user), route).await {
            Ok(sandbox) => sandbox,
            Err(error) => return Raw::Failed(format!("no machine can be reached: {error}")),
        };
        let plugin = match self.bring_plugin(owner, hooks, hook, session, &sandbox).await {
            Ok(plugin) => plugin,
            Err(why) => return Raw::Failed(why),
        };
        // The machine may have another workspace than when the turn began; the command runs in the one that it has now.
        let (hook, session) = (in_plugin(hook, plugin.as_ref()), in_workspace(session, &sandbox));
        let (hook, session) = (&*hook, &*session);
        if let Some(changed) = changed_file(&sandbox, hook).await {
            return Raw::Failed(format!(
                "{changed} has changed since you approved the hook; approve it again"
            ));
        }
        // The mode may have become stricter since the turn began.
        let mode = match &owner.at {
            Some(at) => self.store.approval(owner.user.id, &at.root).await,
            None => Ok(hooks.session.mode.clone().unwrap_or_default()),
        };
        let mode = match mode {
            Ok(mode) => mode,
            Err(error) => {
                tracing::error!(%error, "the mode of a hook's chat could not be read");
                return Raw::Failed("the server could not read the chat's mode; its log says why".to_owned());
            }
        };
        // A line is left alone, because its shell replaces variables.
        let filled = |word: &str| plugin.as_ref().map_or(word.to_owned(), |plugin| plugin.fill(word));
        let args = args.map(|args| args.iter().map(|word| filled(word)).collect::<Vec<_>>());
        let command = if args.is_some() { filled(command) } else { command.to_owned() };
        let mut request = match line(&command, args.as_deref(), hook, session) {
            Line::Shell(line) => ExecRequest::shell(line),
            Line::Words(words) => ExecRequest::argv(words),
        };
        // In the workspace itself, whose files were approved: a model chooses its own directory, and may remove it.
        let mut variables: BTreeMap<_, _> = variables(hook, session).into_iter().collect();
        let of_plugin = plugin.iter().flat_map(Variables::pairs);
        variables.extend(of_plugin.map(|(name, value)| (name, value.to_owned())));
        let pair = |(name, value): (&str, String)| (name.as_bytes().to_vec(), value.into_bytes());
        request.env = variables.into_iter().map(pair).collect();
        request.stdin = true;
        // The server ends the command earlier, unless it continues in the background or the server is lost.
        request.timeout = Some(patience.max(MAX_BACKGROUND_PATIENCE) + HOOK_GRACE);
        request.acks = AckMode::Manual;
        request.profile = (hooks.is_plan || mode == PLAN).then_some(Profile::ReadOnly);
        let recorded = match self.record(owner, &request, hook, sandbox.place()).await {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::error!(%error, "a hook's command could not be recorded");
                return Raw::Failed("the server could not record it; its log says why".to_owned());
            }
        };
        let begun = Begun { at_ms: self.store.now_ms(), since: Instant::now() };
        let running = Running::begin(self, recorded, sandbox, request, payload.text.clone(), patience);
        if hook.handler.is_async {
            return running.end().await;
        }
        match running.end_or_background().await {
            Ok(raw) => raw,
            Err((time, running)) => {
                self.goes_on(owner, hooks, hook, running, time, begun);
                Raw::Background(time)
            }
        }
    }

    /// Follows a command that continues in the background to its end, for at most this time.
    fn goes_on(
        self: &Arc<Self>,
        owner: &Owner,
        hooks: &Arc<TurnHooks>,
        hook: &Hook,
        running: Running,
        time: Duration,
        begun: Begun,
    ) {
        let (inner, owner, hooks, hook) = (Arc::clone(self), owner.clone(), Arc::clone(hooks), hook.clone());
        self.tasks.spawn(async move {
            let raw = match running.end().await {
                Raw::TimedOut(_) => Raw::TimedOut(time),
                raw => raw,
            };
            inner.log_run(&owner, &hook, &raw, begun);
            if !owner.is_trial() {
                inner.tell_later(&owner, &hooks, &hook, raw).await;
            }
        });
    }

    /// Copies the files of a hook's plugin to the machine, as they were when the turn began; returns the plugin's variables there, if the
    /// hook is one of a plugin.
    async fn bring_plugin(
        &self,
        owner: &Owner,
        hooks: &TurnHooks,
        hook: &Hook,
        session: &Session,
        sandbox: &Sandbox,
    ) -> Result<Option<Variables>, String> {
        let Some(root) = &hook.plugin_root else { return Ok(None) };
        // The hook has the directory in the workspace with which the turn began.
        let is_its = |plugin: &&Arc<Installed>| plugin.variables(&session.project_dir).root == *root;
        let Some(plugin) = hooks.plugins.iter().find(is_its) else {
            let why = "the server no longer has the copy of its plugin with which the answer began; send another message";
            return Err(why.to_owned());
        };
        self.plugins.bring(owner.user.id, plugin, sandbox).await?;
        Ok(Some(plugin.variables(&sandbox.facts().workspace)))
    }

    async fn record(
        &self,
        owner: &Owner,
        request: &ExecRequest,
        hook: &Hook,
        place: &str,
    ) -> store::Result<OnRecord> {
        let command = hook.handler.describe();
        let shown = format!("hook {}: {command}", hook.event_name());
        let root = owner.at.as_ref().map(|at| &at.root);
        OnRecord::begin(&self.ledger, &owner.user, root, request, place, command, shown).await
    }
}

/// The hook with its plugin's directory as it is now.
fn in_plugin<'a>(hook: &'a Hook, plugin: Option<&Variables>) -> Cow<'a, Hook> {
    match plugin {
        Some(plugin) if hook.plugin_root.as_ref() != Some(&plugin.root) => {
            Cow::Owned(Hook { plugin_root: Some(plugin.root.clone()), ..hook.clone() })
        }
        _ => Cow::Borrowed(hook),
    }
}

/// The session with the machine's workspace as it is now.
fn in_workspace<'a>(session: &'a Session, sandbox: &Sandbox) -> Cow<'a, Session> {
    let workspace = &sandbox.facts().workspace;
    match session.project_dir == *workspace {
        true => Cow::Borrowed(session),
        false => Cow::Owned(Session { project_dir: workspace.clone(), ..session.clone() }),
    }
}

/// A file of a workspace's hook that differs from the approved one.
async fn changed_file(sandbox: &Sandbox, hook: &Hook) -> Option<String> {
    if !hook.layer.needs_approval() {
        return None;
    }
    // A file that was created since the approval runs as well.
    let now = covered(sandbox, &[named(&hook.handler)]).await.ok().and_then(|mut found| found.pop());
    let Some(Covered { files: now, unknown: None, .. }) = now else { return Some("a file".to_owned()) };
    let approved = &hook.files.covered;
    let changed = now.iter().find(|file| !approved.contains(file));
    let changed = changed.or_else(|| approved.iter().find(|file| !now.contains(file)));
    changed.map(|(path, _)| path.clone())
}
