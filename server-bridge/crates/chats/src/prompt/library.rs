//! `10_skills` and `15_agents`: the skills and roles that the agent can use, by name.

use futures_util::future::BoxFuture;

use agent::engine::{Made, PromptContext, PromptPart};
use agent::library::Library;

/// The part `10_skills` of the prompt.
pub(super) struct Skills(pub(super) Library);

impl PromptPart for Skills {
    fn key(&self) -> &str {
        "10_skills"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(skills(&self.0, context))
    }
}

/// The part `15_agents` of the prompt.
pub(super) struct Roles(pub(super) Library);

impl PromptPart for Roles {
    fn key(&self) -> &str {
        "15_agents"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(agents(&self.0, context))
    }
}

async fn skills(library: &Library, context: &PromptContext<'_>) -> Made {
    if context.sandbox.is_err() || !context.ancestry.tools().holds("Skill") {
        return Ok(None);
    }
    let sandbox = context.sandbox.ok();
    let found = library.skills(context.user, context.skills().await?, sandbox).await;
    Ok(found.map(|lines| {
        format!("# Skills\n\nRead one with the tool Skill before you do what it describes.\n\n{lines}")
    }))
}

async fn agents(library: &Library, context: &PromptContext<'_>) -> Made {
    let Ok(sandbox) = context.sandbox else { return Ok(None) };
    if !context.ancestry.tools().holds("SubAgent") {
        return Ok(None);
    }
    let found = library.roles(context.user, Some(sandbox)).await?;
    Ok(found.map(|lines| {
        format!("# Roles of sub-agents\n\nThe tool SubAgent takes one of these as its role.\n\n{lines}")
    }))
}
