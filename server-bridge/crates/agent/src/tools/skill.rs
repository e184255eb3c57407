//! `Skill`: how to do something, as the workspace's people wrote it down.

use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Live, Tool};
use super::{Failure, Outcome, Workshop};
use crate::approval::Access;
use crate::library::skills;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The skill's name, as the list of skills has it.
    name: String,
}

impl Tool for Arguments {
    const NAME: &'static str = "Skill";
    const DESCRIPTION: &'static str = "Reads a skill of the workspace: how to do something here.";
    const ACCESS: Access = Access::Read;

    fn hint(&self) -> &str {
        &self.name
    }

    async fn run(&self, workshop: &Workshop<'_>, _live: Live<'_>) -> Result<Outcome, Failure> {
        let sandbox = workshop.sandbox().await?;
        let Some(skill) = skills::read(&sandbox, &self.name).await? else {
            let known = skills::catalogue(&sandbox).await?;
            let known = known.unwrap_or_else(|| "there are none in .sandbridge/skills".to_owned());
            return Err(Failure::Told(format!(
                "there is no skill {:?}; take one of these:\n{known}",
                self.name
            )));
        };
        // All of it is meant to be read.
        let at = format!("(Paths in it begin at {}.)", skill.directory);
        Ok(Outcome::part(format!("{}\n\n{at}", skill.text)))
    }
}
