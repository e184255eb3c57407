//! `10_skills` and `15_agents`: what the workspace offers, by name.

use super::{Made, Scene};
use crate::library::{roles, skills};

pub(super) async fn skills(scene: &Scene<'_>) -> Made {
    let Ok(sandbox) = scene.sandbox else { return Ok(None) };
    if !scene.lineage.tools().holds("Skill") {
        return Ok(None);
    }
    let found = skills::catalogue(sandbox).await?;
    Ok(found.map(|lines| {
        format!("# Skills of this workspace\n\nRead one with the tool Skill before you do what it is about.\n\n{lines}")
    }))
}

pub(super) async fn agents(scene: &Scene<'_>) -> Made {
    let Ok(sandbox) = scene.sandbox else { return Ok(None) };
    if !scene.lineage.tools().holds("SubAgent") {
        return Ok(None);
    }
    let found = roles::catalogue(sandbox).await?;
    Ok(found.map(|lines| {
        format!("# Roles of sub-agents\n\nWhat the tool SubAgent takes as its role.\n\n{lines}")
    }))
}
