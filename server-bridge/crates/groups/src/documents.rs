//! The folder of an agent on its machine, and the documents in it.
//!
//! All access goes through the agent's runner, which does not leave its workspace. An existing document is never replaced: the runner
//! writes a new one only if its name is free, even if an entry with that name appears at the last moment. After a failure halfway, each
//! document is complete or missing, and repeating the request creates the missing ones.

use api::words::WorkspaceFileState as State;
use api::workspace::{AgentWorkspace, WorkspaceFile, WorkspaceFileView};
use execs::{route_request, sandbox_user};
use sandbox::{ErrorKind, FileKind, Present, Resolved, RouteError, Sandbox, SandboxError, WriteOptions};
use store::{ChatId, GroupAgent, User};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::folder::below;
use crate::house::Inner;
use crate::limits::{WORKSPACE_ANSWER_TIMEOUT, WORKSPACE_FILES};
use crate::obstacle::Obstacle;

/// The permission bits of a folder that this module creates.
const FOLDER_MODE: u32 = 0o755;

/// The permission bits of a document that this module creates.
const FILE_MODE: u32 = 0o644;

/// The workspace of an agent on a machine that is connected.
pub(crate) struct Workspace {
    sandbox: Sandbox,
    /// The folder, relative to the machine's workspace; empty for the whole workspace.
    folder: String,
}

/// The parts of a workspace that a request created, even if it failed afterwards.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// True if the folder was created.
    pub(crate) folder: bool,
    /// The names of the created documents.
    pub(crate) files: Vec<String>,
}

/// The entry found under the name of a document.
enum Seen {
    /// A file of this size in bytes.
    Present(u64),
    /// No entry: the document can be written to this path, which contains no links.
    Missing(Vec<u8>),
    /// Another kind of entry, with the reason why it is not a document.
    Blocked(String),
}

impl Inner {
    /// Opens the workspace of an agent of this owner.
    ///
    /// # Errors
    /// [`Error::Refused`] if its machine cannot be used now.
    pub(crate) async fn workspace_of(&self, owner: &User, agent: &GroupAgent) -> Result<Workspace> {
        let request = route_request(&self.store, agent.owner, Some(&agent.runner)).await?;
        let user = sandbox_user(owner);
        let opened = timeout(WORKSPACE_ANSWER_TIMEOUT, self.router.for_user(&user, &request));
        match opened.await {
            Ok(Ok(sandbox)) => Ok(Workspace { sandbox, folder: agent.folder.clone() }),
            Ok(Err(error)) => Err(unreachable(&agent.handle, error)),
            Err(_) => Err(late(&agent.runner)),
        }
    }

    /// Creates the folder of the agent with this chat if it is missing, so that the agent's turn can begin there. Returns the reason if that is
    /// not possible. If the machine is offline, the turn itself reports that; if its runner is too old, an existing folder can still be used.
    pub(crate) async fn prepare(&self, owner: &User, chat: &ChatId) -> Option<String> {
        let agent = match self.store.agent_of_chat(chat).await {
            Ok(agent) => agent.filter(|agent| !agent.folder.is_empty() && agent.owner == owner.id)?,
            Err(error) => {
                tracing::warn!(%error, "the folder of an agent could not be looked up");
                return None;
            }
        };
        let workspace = self.workspace_of(owner, &agent).await.ok()?;
        let Err(error) = workspace.make_folder(&mut Made::default()).await else { return None };
        match error.kind() {
            "offline" | "lost" | "busy" | "shutting_down" | "unsupported" => None,
            _ => Some(error.message()),
        }
    }
}

impl Workspace {
    /// Returns the current state of the workspace; `made` lists the documents that the request created.
    ///
    /// # Errors
    /// [`Error::Refused`] if the folder cannot be used.
    pub(crate) async fn view(&self, runner: &str, made: &[String]) -> Result<AgentWorkspace> {
        let root = self.root().await?;
        let mut files = Vec::new();
        for name in WORKSPACE_FILES {
            let seen = match &root {
                Some(root) => self.look(root, name).await?,
                None => Seen::Missing(Vec::new()),
            };
            let (state, size_bytes, reason) = match seen {
                Seen::Present(size_bytes) => (State::Present, Some(size_bytes), String::new()),
                Seen::Missing(_) => (State::Missing, None, String::new()),
                Seen::Blocked(why) => (State::Blocked, None, why),
            };
            let made = made.iter().any(|made| made == name);
            files.push(WorkspaceFileView { name: name.to_owned(), state, size_bytes, reason, made });
        }
        let (runner, folder) = (runner.to_owned(), self.folder.clone());
        Ok(AgentWorkspace { runner, folder, exists: root.is_some(), files })
    }

    /// Creates the folder and the missing documents, and lists them in `made`, even if an error follows.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what could not be created, and why.
    pub(crate) async fn make(&self, files: &[WorkspaceFile], made: &mut Made) -> Result<()> {
        let root = self.make_folder(made).await?;
        for WorkspaceFile { name, text } in files {
            let Seen::Missing(path) = self.look(&root, name).await? else { continue };
            if self.write(&path, name, text).await? {
                made.files.push(name.clone());
            }
        }
        Ok(())
    }

    /// Creates the folder if it is missing; returns its path without links.
    async fn make_folder(&self, made: &mut Made) -> Result<Vec<u8>> {
        if let Some(root) = self.root().await? {
            return Ok(root);
        }
        let making = self.sandbox.mkdir_all(self.folder.as_bytes(), FOLDER_MODE);
        within(&self.sandbox, making).await.map_err(|why| self.refused(&why, "cannot be made"))?;
        made.folder = true;
        let gone = || {
            Error::refused(
                "not_found",
                format!("the folder {} was removed in the meantime; try again", self.folder),
            )
        };
        self.root().await?.ok_or_else(gone)
    }

    /// Returns the folder's path without links; `None` if the folder does not exist.
    async fn root(&self) -> Result<Option<Vec<u8>>> {
        let path = if self.folder.is_empty() { "." } else { &self.folder };
        let found = within(&self.sandbox, self.sandbox.resolve(path.as_bytes())).await;
        let Resolved { path, found, .. } =
            found.map_err(|why| self.refused(&why, "cannot be used"))?.ok_or_else(|| self.too_old())?;
        match found {
            None => Ok(None),
            Some(found) if found.kind == FileKind::Directory => Ok(Some(path.as_bytes().to_vec())),
            Some(_) => Err(self.refused(
                &Problem { kind: "conflict", why: "a file has this name; choose another folder".to_owned() },
                "cannot be used",
            )),
        }
    }

    /// Looks up the entry under the name of a document, in a folder whose path contains no links.
    async fn look(&self, root: &[u8], name: &str) -> Result<Seen> {
        let path = match root {
            b"." => name.as_bytes().to_vec(),
            root => [root, b"/", name.as_bytes()].concat(),
        };
        let answer = timeout(WORKSPACE_ANSWER_TIMEOUT, self.sandbox.resolve(&path)).await;
        let Resolved { path: target, found, .. } = match answer {
            Ok(Ok(Some(resolved))) => resolved,
            Ok(Ok(None)) => return Err(self.too_old()),
            // The runner refuses the entry with this name.
            Ok(Err(SandboxError::Remote { kind, message })) if !is_passing(kind) => {
                return Ok(Seen::Blocked(message));
            }
            Ok(Err(error)) => return Err(self.refused(&Problem::from(error), "cannot be used")),
            Err(_) => return Err(late(self.sandbox.place())),
        };
        Ok(match found {
            Some(found) if found.kind == FileKind::File => Seen::Present(found.size_bytes),
            Some(_) => Seen::Blocked("it is not a file".to_owned()),
            None if target.as_bytes() == path => Seen::Missing(path),
            None => Seen::Blocked("it is a link that leads nowhere".to_owned()),
        })
    }

    /// Writes a document if its name is free; returns false if an entry with that name has appeared in the meantime.
    async fn write(&self, path: &[u8], name: &str, text: &str) -> Result<bool> {
        let options = WriteOptions {
            mode: Some(FILE_MODE),
            size_bytes: Some(text.len() as u64),
            present: Some(Present::Nothing),
            ..WriteOptions::default()
        };
        let writing = async {
            let mut writer = self.sandbox.write_file(path, options).await?;
            writer.write(text.as_bytes()).await?;
            writer.finish().await
        };
        match within(&self.sandbox, writing).await {
            Ok(_) => Ok(true),
            Err(Problem { kind: "precondition_failed", .. }) => Ok(false),
            Err(Problem { kind, why }) => {
                let (path, place) = (below(&self.folder, name), self.sandbox.place());
                Err(Error::refused(kind, format!("{path} on {place} cannot be written: {why}")))
            }
        }
    }

    fn refused(&self, Problem { kind, why }: &Problem, what: &str) -> Error {
        let place = self.sandbox.place();
        let text = match self.folder.as_str() {
            "" => format!("the workspace of {place} {what}: {why}"),
            folder => format!("the folder {folder} on {place} {what}: {why}"),
        };
        Error::refused(kind, text)
    }

    fn too_old(&self) -> Error {
        let place = self.sandbox.place();
        let text = format!("the runner {place} is too old to create workspaces; update it");
        Error::refused("unsupported", text)
    }
}

/// The reason why a machine refused a request.
struct Problem {
    kind: &'static str,
    why: String,
}

impl From<SandboxError> for Problem {
    fn from(error: SandboxError) -> Self {
        Self { kind: error.kind(), why: error.to_string() }
    }
}

/// Waits for the response of a machine, with a timeout.
async fn within<T>(
    sandbox: &Sandbox,
    answer: impl Future<Output = Result<T, SandboxError>>,
) -> Result<T, Problem> {
    match timeout(WORKSPACE_ANSWER_TIMEOUT, answer).await {
        Ok(answer) => answer.map_err(Problem::from),
        Err(_) => Err(Problem { kind: "unavailable", why: no_answer(sandbox.place()) }),
    }
}

/// Creates the error for a machine that did not respond in time.
pub(crate) fn late(place: &str) -> Error {
    Error::refused("unavailable", no_answer(place))
}

fn no_answer(place: &str) -> String {
    format!("{place} did not answer in time; try again")
}

/// Returns true for a temporary error that does not concern the path.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Busy
            | ErrorKind::ShuttingDown
            | ErrorKind::Cancelled
            | ErrorKind::Lost
            | ErrorKind::Ambiguous
    )
}

fn unreachable(handle: &str, error: RouteError) -> Error {
    let kind = error.kind();
    let obstacle = Obstacle::from(error);
    let next = match obstacle {
        Obstacle::Now(_) => "; try again once this is fixed",
        Obstacle::Revoked(_) => "; choose another machine for the agent",
        Obstacle::Lasting(_) => "",
    };
    Error::refused(kind, format!("the workspace of @{handle} cannot be reached: {obstacle}{next}"))
}
