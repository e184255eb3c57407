//! `04_global_context` and `05_project_context`: the server's, the user's and the project's instructions for every agent.

use std::sync::Arc;
use tools::Ported;

use futures_util::future::{BoxFuture, try_join_all};
use store::Store;

use crate::limits::INSTRUCTIONS_BYTES;
use crate::preferences;
use crate::server_settings::{LiveSettings, beginning as beginning_of_file};
use agent::engine::{Made, PromptContext, PromptPart};
use agent::library::beginning;
use sandbox::SandboxError;

/// The file with the server's instructions, in its home directory.
const OF_SERVER: &str = "AGENTS.md";
/// The files with a project's instructions; each is used if it exists.
const PROJECT: [&str; 2] = ["AGENTS.md", ".sandbridge/AGENTS.md"];

/// The part `04_global_context` of the prompt.
pub(super) struct Global {
    store: Store,
    settings: Arc<LiveSettings>,
}

impl Global {
    pub(super) fn new(store: Store, settings: Arc<LiveSettings>) -> Self {
        Self { store, settings }
    }

    /// The server's instructions, then the user's own, which may override them. An agent of a group gets only the server's: other people
    /// ask it, and must not see the instructions that its owner wrote for the owner's own agents.
    async fn text(&self, context: &PromptContext<'_>) -> Made {
        let mut texts = Vec::new();
        if let Some(text) = self.of_server().await {
            context.holds("the server's AGENTS.md", &text);
            texts.push(format!("# Instructions of this server\n\n{text}"));
        }
        let is_of_group = self.store.group_agent_in(context.ancestry.root()).await.ported()?.is_some();
        if !is_of_group
            && let Some(text) = preferences::instructions(&self.store, context.user.id).await.ported()?
        {
            context.holds("your own instructions", &text);
            texts.push(format!("# Instructions of the user\n\n{text}"));
        }
        Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
    }

    /// The beginning of the server's file, if the file exists and can be read.
    async fn of_server(&self) -> Option<String> {
        let content = beginning_of_file(&self.settings.file(OF_SERVER)?, INSTRUCTIONS_BYTES).await.ok()??;
        let text = String::from_utf8_lossy(&content).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl PromptPart for Global {
    fn key(&self) -> &str {
        "04_global_context"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(self.text(context))
    }
}

/// The part `05_project_context` of the prompt.
pub(super) struct Project;

impl PromptPart for Project {
    fn key(&self) -> &str {
        "05_project_context"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(project(context))
    }
}

async fn project(context: &PromptContext<'_>) -> Made {
    let Ok(sandbox) = context.sandbox else { return Ok(None) };
    let read = PROJECT.map(|file| async move {
        let text = beginning(sandbox, file, INSTRUCTIONS_BYTES).await?;
        Ok::<_, SandboxError>(text.map(|text| (file, text)))
    });
    let mut texts = Vec::new();
    for (file, text) in try_join_all(read).await?.into_iter().flatten() {
        context.holds(file, &text);
        texts.push(format!("# Instructions of this project ({file})\n\n{text}"));
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_server_file_that_is_a_pipe_or_a_directory_is_left_out_at_once() {
        let home = tempfile::tempdir().unwrap();
        let settings = Arc::new(LiveSettings::default());
        settings.set_home(home.path().to_owned());
        let store = Store::open_in_memory().await.unwrap();
        let global = Global::new(store, settings);
        let file = home.path().join(OF_SERVER);
        assert_eq!(global.of_server().await, None, "there is none");
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert_eq!(global.of_server().await, None, "a pipe without a writer");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(global.of_server().await, None, "a directory");
        fs::remove_dir(&file).unwrap();
        fs::write(&file, " Say hello.\n").unwrap();
        assert_eq!(global.of_server().await.as_deref(), Some("Say hello."));
    }
}
