//! `sandbridge group workspace` and `templates`: the folders of agents, and the documents in them.

use std::path::PathBuf;

use api::group::GroupAgentPut;
use api::language::Language;
use api::words::{Approval, WorkspaceFileState};
use api::workspace::{AgentTemplate, AgentWorkspace, WorkspaceFile, WorkspaceMake};
use clap::{Args, Subcommand};

use super::options::AddAgent;
use super::words;
use crate::failure::Failure;
use crate::http::Client;
use crate::output::{both, one_line, table};

/// The documents of a workspace
#[derive(Args, Clone, Debug)]
pub(crate) struct Documents {
    /// Create its documents from this template; `sandbridge group templates` lists them
    #[arg(long, value_name = "NAME")]
    pub(super) template: Option<String>,
    /// Create a document from this file, whose name decides which: SOUL.md, IDENTITY.md, USER.md or TOOLS.md
    #[arg(long = "file", value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// The language of the template: en or zh [default: yours]
    #[arg(long, value_name = "LANGUAGE", value_parser = language)]
    pub(super) language: Option<Language>,
}

/// The workspace of an agent: its folder, and the documents that describe its role
#[derive(Subcommand)]
pub(crate) enum Workspace {
    /// Show the folder of an agent of yours, and which of its documents exist
    Show {
        /// The group's number
        group: i64,
        /// The agent's handle
        handle: String,
    },
    /// Create the folder of an agent of yours, and the documents that are missing; existing ones are kept
    Make {
        /// The group's number
        group: i64,
        /// The agent's handle
        handle: String,
        #[command(flatten)]
        documents: Documents,
    },
}

pub(super) fn language(text: &str) -> Result<Language, String> {
    match text {
        "en" => Ok(Language::English),
        "zh" => Ok(Language::Chinese),
        other => Err(format!("there are templates in en and zh, but not in {other}")),
    }
}

impl Documents {
    fn is_given(&self) -> bool {
        self.template.is_some() || !self.files.is_empty()
    }

    /// The request that creates the documents.
    fn read(&self) -> Result<WorkspaceMake, Failure> {
        let mut files = Vec::new();
        for path in &self.files {
            let shown = path.display();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name
                .ok_or_else(|| Failure::usage(format!("{shown} has no name; give a file such as SOUL.md")))?;
            let text = std::fs::read_to_string(path);
            let text =
                text.map_err(|error| Failure::other("invalid", format!("cannot read {shown}: {error}")))?;
            files.push(WorkspaceFile { name: name.to_owned(), text });
        }
        Ok(WorkspaceMake { template: self.template.clone(), files })
    }
}

/// Runs a subcommand of `group workspace`.
pub(super) async fn run(client: &mut Client, command: Workspace) -> Result<(String, String), Failure> {
    let workspace = match command {
        Workspace::Show { group, handle } => client.workspace(group, &handle).await?,
        Workspace::Make { group, handle, documents } => {
            let make = documents.read()?;
            client.speak(documents.language);
            client.make_workspace(group, &handle, &make).await?
        }
    };
    Ok(both(&workspace, shown(&workspace)))
}

/// Runs `group add-agent`: adds the agent first, because that also works while the machine is offline; `group workspace make` can create the
/// workspace later.
pub(super) async fn add_agent(client: &mut Client, options: AddAgent) -> Result<(String, String), Failure> {
    let AddAgent { group, handle, on, approval, model, persona, tools, folder, documents } = options;
    let handle = handle.trim_start_matches('@').to_owned();
    let make = documents.read()?;
    client.speak(documents.language);
    let mut folder = folder;
    if documents.is_given() {
        // Invalid options are refused before the agent is added.
        if let Some(name) = &documents.template {
            named(&client.agent_templates().await?, name)?;
        }
        if folder.is_none() && is_new(client, group, &handle).await? {
            folder = Some(format!("agents/{handle}"));
        }
    }
    let approval = approval.map(Approval::from);
    let put =
        GroupAgentPut { runner: on, approval, model, persona: persona.unwrap_or_default(), tools, folder };
    let view = client.put_agent(group, &handle, &put).await?;
    let mut text = words::group(&view);
    if documents.is_given() {
        let made = client.make_workspace(group, &handle, &make).await.map_err(|failure| Failure {
            message: format!(
                "@{handle} was added, but its workspace is not complete: {}; `sandbridge group workspace make {group} {handle}` makes the missing files",
                failure.message
            ),
            ..failure
        })?;
        text.push_str(&format!("\n\n{}", shown(&made)));
    }
    Ok(both(&view, text))
}

/// True if a group has no agent with this handle yet.
async fn is_new(client: &mut Client, group: i64, handle: &str) -> Result<bool, Failure> {
    let key = handle.to_lowercase();
    Ok(!client.group(group).await?.agents.iter().any(|agent| agent.handle.to_lowercase() == key))
}

/// Runs `group templates`: prints one template, or lists them.
pub(super) async fn templates(
    client: &mut Client,
    name: Option<String>,
    language: Option<Language>,
) -> Result<(String, String), Failure> {
    client.speak(language);
    let all = client.agent_templates().await?;
    let Some(name) = name else { return Ok(both(&all, list(&all))) };
    let template = named(&all, &name)?;
    let files = template.files.iter().map(|file| format!("{}\n\n{}", file.name, file.text.trim_end()));
    Ok(both(template, files.collect::<Vec<_>>().join("\n\n")))
}

fn named<'a>(all: &'a [AgentTemplate], name: &str) -> Result<&'a AgentTemplate, Failure> {
    let names: Vec<_> = all.iter().map(|template| template.name.as_str()).collect();
    let unknown =
        || Failure::usage(format!("there is no template {name}; the templates are {}", names.join(", ")));
    all.iter().find(|template| template.name == name).ok_or_else(unknown)
}

fn list(all: &[AgentTemplate]) -> String {
    let mut rows = vec![vec!["NAME".to_owned(), "WHAT IT DOES".to_owned()]];
    rows.extend(all.iter().map(|template| vec![template.name.clone(), one_line(&template.about)]));
    format!("{}\n\n`sandbridge group templates NAME` prints one", table(&rows))
}

/// A workspace as text.
fn shown(workspace: &AgentWorkspace) -> String {
    let AgentWorkspace { runner, folder, exists, files } = workspace;
    let place = match folder.as_str() {
        "" => format!("the whole workspace of {}", one_line(runner)),
        folder if *exists => format!("{} on {}", one_line(folder), one_line(runner)),
        folder => format!("{} on {}, which does not exist yet", one_line(folder), one_line(runner)),
    };
    let mut rows = vec![vec!["DOCUMENT".to_owned(), "STATE".to_owned(), "BYTES".to_owned()]];
    rows.extend(files.iter().map(|file| {
        let state = match &file.state {
            WorkspaceFileState::Present if file.made => "made".to_owned(),
            WorkspaceFileState::Blocked => format!("blocked: {}", one_line(&file.reason)),
            state => state.to_string(),
        };
        let size = file.size_bytes.map(|size| size.to_string()).unwrap_or_default();
        vec![file.name.clone(), state, size]
    }));
    format!("workspace: {place}\n\n{}", table(&rows))
}
