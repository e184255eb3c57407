//! `04_global_context` and `05_project_context`: what the server, the user and the project want of every agent.

use tokio::io::AsyncReadExt;

use super::{Made, Scene};
use crate::library::beginning;
use crate::limits::INSTRUCTIONS_BYTES;
use crate::preferences;

/// Where a project's instructions stand; each is taken where it is there.
const PROJECT: [&str; 2] = ["AGENTS.md", ".sandbridge/AGENTS.md"];

/// The server's, then the user's own, which may say otherwise.
pub(super) async fn global(scene: &Scene<'_>) -> Made {
    let mut texts = Vec::new();
    if let Some(text) = of_server(scene).await {
        texts.push(format!("# Instructions of this server\n\n{text}"));
    }
    if let Some(text) = preferences::instructions(&scene.service.store, scene.user.id).await? {
        texts.push(format!("# Instructions of the user\n\n{text}"));
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// The project's.
pub(super) async fn project(scene: &Scene<'_>) -> Made {
    let Ok(sandbox) = scene.sandbox else { return Ok(None) };
    let mut texts = Vec::new();
    for file in PROJECT {
        if let Some(text) = beginning(sandbox, file, INSTRUCTIONS_BYTES).await? {
            texts.push(format!("# Instructions of this project ({file})\n\n{text}"));
        }
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
}

/// The beginning of the server's file, where there is one that can be read.
async fn of_server(scene: &Scene<'_>) -> Option<String> {
    let file = tokio::fs::File::open(scene.service.instructions_file()?).await.ok()?;
    let mut content = Vec::new();
    file.take(INSTRUCTIONS_BYTES).read_to_end(&mut content).await.ok()?;
    let text = String::from_utf8_lossy(&content).trim().to_owned();
    (!text.is_empty()).then_some(text)
}
