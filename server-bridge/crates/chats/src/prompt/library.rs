//! `10_skills` and `15_agents`: the skills and roles of the workspace, by name.

use futures_util::future::BoxFuture;

use agent::engine::{Made, PromptContext, PromptPart};
use agent::library::{roles, skills};

/// `10_skills`.
pub(super) struct Skills;

impl PromptPart for Skills {
    fn key(&self) -> &str {
        "10_skills"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(skills(context))
    }
}

/// `15_agents`.
pub(super) struct Roles;

impl PromptPart for Roles {
    fn key(&self) -> &str {
        "15_agents"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(agents(context))
    }
}

async fn skills(context: &PromptContext<'_>) -> Made {
    let Ok(sandbox) = context.sandbox else { return Ok(None) };
    if !context.ancestry.tools().holds("Skill") {
        return Ok(None);
    }
    let found = skills::catalogue(sandbox).await?;
    Ok(found.map(|lines| {
        format!("# Skills of this workspace\n\nRead one with the tool Skill before you do what it is about.\n\n{lines}")
    }))
}

async fn agents(context: &PromptContext<'_>) -> Made {
    let Ok(sandbox) = context.sandbox else { return Ok(None) };
    if !context.ancestry.tools().holds("SubAgent") {
        return Ok(None);
    }
    let found = roles::catalogue(sandbox).await?;
    Ok(found.map(|lines| {
        format!("# Roles of sub-agents\n\nThe tool SubAgent takes one of these as its role.\n\n{lines}")
    }))
}
