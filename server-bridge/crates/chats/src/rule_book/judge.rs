//! The ruling of the permission rules on a call.

use std::path::Path;

use agent::approval::Ruling;
use agent::engine::Workplace;
use agent::tool::Subject as Acted;
use agent::tool::path::join;
use rules::{Call, Decision, Effect, Explanation, Origin, PathAccess, Place, RuleSet, Subject, host_of};
use store::{ChatId, Store, UserId};
use tools::Ported;

use super::RuleBook;

/// A call of a model, with the place where it would run.
pub(crate) struct Judged<'a> {
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// The part of the call that rules look at.
    pub(crate) subject: Acted<'a>,
    /// The place where the call would run.
    pub(crate) workplace: &'a dyn Workplace,
    /// True if the rules that decide the call are counted as used.
    pub(crate) counts: bool,
}

/// Paths that a tool found below a directory or file of its call.
pub(crate) struct Found<'a> {
    /// The tool's name.
    pub(crate) tool: &'a str,
    /// The directory or file, relative to the workspace, or absolute.
    pub(crate) base: &'a str,
    /// The paths, in the same form.
    pub(crate) paths: &'a [String],
    /// The place where the call runs.
    pub(crate) workplace: &'a dyn Workplace,
}

/// The sources of the rules that apply to a call.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) store: &'a Store,
    /// The server's home directory, with the administrator's file.
    pub(crate) home: Option<&'a Path>,
    pub(crate) user: UserId,
    /// The user's chat.
    pub(crate) chat: &'a ChatId,
    /// The rules of the workspace.
    pub(crate) workspace: &'a RuleSet,
}

/// The folders of a call's machine, by which its paths are resolved.
struct Ground {
    root: String,
    cwd: String,
    /// The absolute path that a symbolic link in the call leads to.
    target: Option<String>,
}

impl RuleBook {
    /// The ruling of the rules on a call of a user's model; the rules that decide it are counted.
    pub(crate) async fn ruling(&self, scope: Scope<'_>, judged: &Judged<'_>) -> agent::PortResult<Ruling> {
        let Scope { store, home, user, chat, workspace } = scope;
        let set = self.of(store, home, user, Some(chat)).await.ported()?;
        let has_paths = set.has_paths() || workspace.has_paths();
        // A machine is needed only for rules about paths, so that no container starts for other calls.
        let ground = match has_paths && judged.names_a_place() {
            true => Ground::at(judged.subject, judged.workplace, &judged.workplace.cwd().await?).await?,
            false => Ground::default(),
        };
        let subjects = ground.subjects(judged.subject);
        let call = Call { tool: judged.tool, subjects: &subjects, place: ground.place() };
        let decision = stricter(self.decided(&set, &call), workspace.decide(&call));
        for id in own_rules(&decision).into_iter().filter(|_| judged.counts) {
            store.hit_permission_rule(user, id).await.ported()?;
        }
        // The caller adds the full stop.
        let reason = decision.reason.trim_end_matches('.').to_owned();
        Ok(match decision.verdict {
            None => Ruling::Silent,
            Some(Effect::Allow) => Ruling::Allow,
            Some(Effect::Ask) => Ruling::Ask(reason),
            Some(Effect::Deny) => Ruling::Deny(reason),
        })
    }

    /// For each path that a tool found, true if rules keep it from being read. If a rule on the call itself already made the server ask
    /// the user, the user is not asked again.
    pub(crate) async fn hidden(&self, scope: Scope<'_>, found: Found<'_>) -> agent::PortResult<Vec<bool>> {
        let Scope { store, home, user, chat, workspace } = scope;
        let set = self.of(store, home, user, Some(chat)).await.ported()?;
        let Found { tool, base, paths, workplace } = found;
        if !set.has_paths() && !workspace.has_paths() {
            return Ok(vec![false; paths.len()]);
        }
        let subject = Acted::Reads(base);
        let ground = Ground::at(subject, workplace, "").await?;
        let verdict = |subjects: &[Subject<'_>]| {
            let call = Call { tool, subjects, place: ground.place() };
            stricter(set.decide(&call), workspace.decide(&call)).verdict
        };
        let was_asked = verdict(&ground.subjects(subject)) == Some(Effect::Ask);
        let is_hidden = |path: &String| {
            let mut subjects = vec![Subject::Path { path, access: PathAccess::Read }];
            // If the directory is a symbolic link, the file is also below the link's target.
            let rest = path.strip_prefix(base).map(|rest| rest.trim_start_matches('/'));
            let target = ground.target.as_ref().zip(rest).map(|(target, rest)| format!("{target}/{rest}"));
            subjects.extend(target.as_deref().map(|path| Subject::Path { path, access: PathAccess::Read }));
            match verdict(&subjects) {
                Some(Effect::Deny) => true,
                Some(Effect::Ask) => !was_asked,
                Some(Effect::Allow) | None => false,
            }
        };
        Ok(paths.iter().map(is_hidden).collect())
    }

    /// The decision of the rules that people set. If none of them decides, the built-in rules do; they ask only if they match a command for certain.
    fn decided<'a>(&'a self, set: &'a RuleSet, call: &Call<'_>) -> Decision<'a> {
        let decision = set.decide(call);
        if decision.verdict.is_some() {
            return decision;
        }
        let built_in = self.built_in.decide(call);
        if decides(&built_in) { built_in } else { decision }
    }

    /// The decision on a call that is only tried, with the verdict on each of its parts; `text` is what the call acts on. No machine is asked.
    pub(crate) fn explained<'a>(
        &'a self,
        set: &'a RuleSet,
        workspace: &'a RuleSet,
        tool: &str,
        text: &str,
    ) -> Explanation<'a> {
        let ground = Ground::default();
        // The name of an HTTP tool is its subject.
        let text = Some(text).filter(|_| !rules::names::is_http_tool(tool));
        let subject = text.and_then(|text| Subject::of(rules::names::ours(tool), text));
        let subjects: Vec<Subject<'_>> = subject.into_iter().collect();
        let call = Call { tool, subjects: &subjects, place: ground.place() };
        let mut explanation = set.explain(&call);
        if explanation.decision.verdict.is_none() {
            let built_in = self.built_in.explain(&call);
            if decides(&built_in.decision) {
                explanation = built_in;
            }
        }
        let of_workspace = workspace.explain(&call);
        // A call is divided into the same parts, whatever the rules are.
        for (part, other) in explanation.parts.iter_mut().zip(of_workspace.parts) {
            part.rules.extend(other.rules);
        }
        explanation.decision = stricter(explanation.decision, of_workspace.decision);
        explanation
    }
}

/// The stricter of two decisions; the first one if they are equally strict.
fn stricter<'a>(one: Decision<'a>, other: Decision<'a>) -> Decision<'a> {
    let strength = |decision: &Decision<'_>| match decision.verdict {
        Some(Effect::Deny) => 3,
        Some(Effect::Ask) => 2,
        Some(Effect::Allow) => 1,
        None => 0,
    };
    if strength(&other) > strength(&one) { other } else { one }
}

/// True if a decision of the built-in rules counts.
fn decides(built_in: &Decision<'_>) -> bool {
    built_in.is_certain && built_in.verdict.is_some()
}

/// The ids of the user's own rules that decided the call, including rules for a single chat.
fn own_rules(decision: &Decision<'_>) -> Vec<i64> {
    let own = decision.rules.iter().filter(|rule| matches!(rule.origin, Origin::User | Origin::Chat));
    own.filter_map(|rule| rule.rule.id.parse().ok()).collect()
}

impl Ground {
    /// The folders of a call's machine. Symbolic links are followed in the call's path and in the directory where the call begins.
    /// Without a machine, the call fails anyway.
    async fn at(subject: Acted<'_>, workplace: &dyn Workplace, cwd: &str) -> agent::PortResult<Self> {
        let Ok(sandbox) = workplace.sandbox().await else { return Ok(Self::default()) };
        let root = sandbox.facts().workspace.clone();
        let within = |path: &str| match path {
            path if path.starts_with('/') => path.to_owned(),
            "." | "" => root.clone(),
            path => format!("{}/{path}", root.trim_end_matches('/')),
        };
        // A link that cannot be followed makes the tool fail as well.
        let resolved = async |path: &str| match sandbox.resolve(path.as_bytes()).await {
            Ok(Some(found)) => Some(within(&String::from_utf8_lossy(found.path.as_bytes()))),
            Ok(None) | Err(_) => None,
        };
        let mut target = None;
        if let Acted::Reads(path) | Acted::Changes(path) | Acted::Download(_, path) = subject {
            target = resolved(&join(cwd, path)).await;
        }
        let cwd = match cwd {
            "" | "." => within(cwd),
            cwd => resolved(cwd).await.unwrap_or_else(|| within(cwd)),
        };
        Ok(Self { cwd, target, root })
    }

    fn place(&self) -> Place<'_> {
        Place { cwd: &self.cwd, root: Some(&self.root), home: None }
    }

    /// The subjects of a call as rules see them: a link and its target are two subjects, and each must be allowed.
    fn subjects<'a>(&'a self, subject: Acted<'a>) -> Vec<Subject<'a>> {
        let paths = |path: &'a str, access| {
            let target = self.target.as_deref().map(|path| Subject::Path { path, access });
            std::iter::once(Subject::Path { path, access }).chain(target)
        };
        let host = |address: &'a str| Subject::Domain { host: host_of(address) };
        match subject {
            Acted::Command(line) => vec![Subject::Shell { line }],
            Acted::Reads(path) => paths(path, PathAccess::Read).collect(),
            Acted::Changes(path) => paths(path, PathAccess::Write).collect(),
            Acted::Address(address) => vec![host(address)],
            Acted::Download(address, path) => {
                std::iter::once(host(address)).chain(paths(path, PathAccess::Write)).collect()
            }
            Acted::Named(role) => vec![Subject::Named { name: role }],
            Acted::External(server, tool) => vec![Subject::Mcp { server, tool }],
            Acted::Request(name, address) => vec![Subject::Named { name }, host(address)],
            Acted::Nothing => Vec::new(),
        }
    }
}

impl Default for Ground {
    fn default() -> Self {
        Self { root: "/".to_owned(), cwd: "/".to_owned(), target: None }
    }
}

impl Judged<'_> {
    /// True if the call acts on files of the machine.
    fn names_a_place(&self) -> bool {
        !matches!(self.subject, Acted::Address(_) | Acted::Named(_) | Acted::Request(..) | Acted::Nothing)
    }
}
