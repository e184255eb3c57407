//! Manages workspaces of agents for their owners: shows which documents exist, and creates the missing ones.

use api::language::Language;
use api::workspace::{AgentTemplate, AgentWorkspace, WorkspaceFile, WorkspaceMake};
use store::{AuditEntry, GroupAgent, User};
use tokio::time::timeout;

use crate::documents::{Made, late};
use crate::error::{Error, Result};
use crate::folder::below;
use crate::house::Inner;
use crate::limits::{WORKSPACE_FILE_MAX_BYTES, WORKSPACE_FILES, WORKSPACE_MAKE_TIMEOUT};
use crate::rights::Action;
use crate::service::Groups;
use crate::templates;

impl Groups {
    /// Returns the templates of workspaces, in a language.
    pub fn templates(&self, language: Language) -> Vec<AgentTemplate> {
        templates::all(language)
    }

    /// Returns the workspace of one of the user's own agents, as it is on the agent's machine.
    ///
    /// # Errors
    /// [`Error::Refused`] if the agent is another user's, its machine cannot be used now, or its folder is unusable.
    pub async fn workspace(&self, user: &User, group: i64, handle: &str) -> Result<AgentWorkspace> {
        let agent = self.0.own_workspace(user, group, handle, Action::Read).await?;
        self.0.workspace_of(user, &agent).await?.view(&agent.runner, &[]).await
    }

    /// Creates the folder and the missing documents of one of the user's own agents. Existing documents are kept. The work continues even if
    /// the caller stops waiting, so that the audit trail records everything that was created.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what to change, or which documents were created before something failed.
    pub async fn make_workspace(
        &self,
        user: &User,
        group: i64,
        handle: &str,
        make: WorkspaceMake,
        language: Language,
    ) -> Result<AgentWorkspace> {
        let agent = self.0.own_workspace(user, group, handle, Action::AddAgent).await?;
        let files = texts(make, language)?;
        let (inner, user) = (self.0.clone(), user.clone());
        let work = async move { inner.make(&user, group, &agent, &files).await };
        // Joining the task fails only if the work panics.
        self.0.tasks.spawn(work).await.unwrap_or_else(|error| {
            tracing::error!(%error, "creating a workspace failed");
            Err(Error::refused(
                "failed",
                "the workspace could not be created; see the server's log for the reason",
            ))
        })
    }
}

impl Inner {
    async fn own_workspace(
        &self,
        user: &User,
        group: i64,
        handle: &str,
        action: Action,
    ) -> Result<GroupAgent> {
        self.group_for(user, group, action).await?;
        let agent = self.agent_named(group, handle).await?;
        if agent.owner == user.id {
            return Ok(agent);
        }
        let why = format!(
            "@{} works on a machine of {}: only they can see and create its workspace",
            agent.handle, agent.owner_name
        );
        Err(Error::refused("forbidden", why))
    }

    async fn make(
        &self,
        user: &User,
        group: i64,
        agent: &GroupAgent,
        files: &[WorkspaceFile],
    ) -> Result<AgentWorkspace> {
        let mut made = Made::default();
        let making = async {
            let workspace = self.workspace_of(user, agent).await?;
            workspace.make(files, &mut made).await?;
            workspace.view(&agent.runner, &made.files).await
        };
        let done = timeout(WORKSPACE_MAKE_TIMEOUT, making).await.unwrap_or_else(|_| Err(late(&agent.runner)));
        if made.folder || !made.files.is_empty() {
            self.record(user, group, agent, &made).await;
            self.tell_all(group).await;
        }
        match done {
            Err(Error::Refused { kind, text }) if !made.files.is_empty() => {
                let names = made.files.join(", ");
                let text = format!(
                    "{text}; created before that: {names}. Create the missing files once the problem is fixed"
                );
                Err(Error::refused(kind, text))
            }
            done => done,
        }
    }

    /// Records everything that was created in the audit trail. A failure is only logged, because nothing can be undone.
    async fn record(&self, user: &User, group: i64, agent: &GroupAgent, made: &Made) {
        let folder = made.folder.then(|| format!("{}/", agent.folder));
        let files = made.files.iter().map(|name| below(&agent.folder, name));
        let paths: Vec<_> = folder.into_iter().chain(files).collect();
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: "group.workspace".to_owned(),
            location: Some(agent.runner.clone()),
            target: format!("{group}: {} for @{}", paths.join(", "), agent.handle),
            outcome: "ok".to_owned(),
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, "the creation of a workspace could not be recorded");
        }
    }
}

/// Returns the documents to create, in the order in which an agent reads them: those of the template, with given texts in place of the template's.
fn texts(make: WorkspaceMake, language: Language) -> Result<Vec<WorkspaceFile>> {
    let WorkspaceMake { template, files: given } = make;
    let mut files = match template.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => templates::named(language, name)?.files,
        None => Vec::new(),
    };
    for (at, file) in given.iter().enumerate() {
        let WorkspaceFile { name, text } = file;
        if !WORKSPACE_FILES.contains(&name.as_str()) {
            return Err(Error::invalid(format!(
                "{name:?} is not a document of a workspace; the documents are {}",
                WORKSPACE_FILES.join(", ")
            )));
        }
        if given.iter().take(at).any(|other| other.name == *name) {
            return Err(Error::invalid(format!("{name} is given twice; give only one text for it")));
        }
        if text.len() > WORKSPACE_FILE_MAX_BYTES {
            return Err(Error::invalid(format!(
                "{name} has {} bytes, but an agent reads at most {WORKSPACE_FILE_MAX_BYTES} bytes of it; shorten it",
                text.len()
            )));
        }
        if text.contains('\0') {
            return Err(Error::invalid(format!("{name} is not text; remove its zero bytes")));
        }
    }
    files.retain(|file| !given.iter().any(|other| other.name == file.name));
    files.extend(given);
    files.retain(|file| !file.text.trim().is_empty());
    files.sort_by_key(|file| WORKSPACE_FILES.iter().position(|name| *name == file.name));
    if files.is_empty() {
        return Err(Error::invalid(
            "there is nothing to create: choose a template, or give the text of a document",
        ));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(template: Option<&str>, files: &[(&str, &str)]) -> WorkspaceMake {
        let file = |(name, text): &(&str, &str)| WorkspaceFile {
            name: (*name).to_owned(),
            text: (*text).to_owned(),
        };
        WorkspaceMake { template: template.map(str::to_owned), files: files.iter().map(file).collect() }
    }

    #[test]
    fn given_texts_take_the_place_of_the_templates_and_empty_ones_are_left_out() {
        let files =
            texts(make(Some("coder"), &[("SOUL.md", "be kind\n"), ("USER.md", " \n")]), Language::Chinese)
                .unwrap();
        let names: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["IDENTITY.md", "SOUL.md", "TOOLS.md"]);
        assert_eq!(files[1].text, "be kind\n");
        assert!(files[0].text.contains("程序员"));
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_the_reason() {
        let long = "x".repeat(WORKSPACE_FILE_MAX_BYTES + 1);
        for (wrong, part) in [
            (make(None, &[]), "choose a template"),
            (make(Some(""), &[("SOUL.md", "\n")]), "choose a template"),
            (make(Some("pirate"), &[]), "no template"),
            (make(None, &[("../SOUL.md", "x")]), "not a document of a workspace"),
            (make(None, &[("soul.md", "x")]), "not a document of a workspace"),
            (make(None, &[("SOUL.md", "x"), ("SOUL.md", "y")]), "given twice"),
            (make(Some("coder"), &[("SOUL.md", &long)]), "at most 8192 bytes of it"),
            (make(None, &[("SOUL.md", "a\0b")]), "not text"),
        ] {
            let error = texts(wrong, Language::English).unwrap_err().message();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
