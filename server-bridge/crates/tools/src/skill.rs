//! `Skill`: reads the instructions of a skill from the workspace or from a plugin.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Work};
use crate::Services;
use agent::approval::Access;
use agent::library::skills;
use agent::tool::{Live, Rules, Subject, ToolContext, TypedTool};

/// The skill to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The skill's name, as in the list of skills.
    name: String,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "Skill";
    const DESCRIPTION: &'static str = "Reads a skill: instructions on how to do something here.";
    const RULES: Rules = Rules::of(Access::Read);

    fn hint(&self) -> &str {
        &self.name
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Named(&self.name)
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let sandbox = work.sandbox().await?;
        let library = &services.library;
        let Some(skill) = library.skill(context.user, &sandbox, &self.name).await? else {
            let known = library.skills(context.user, &skills::heads(&sandbox).await?, Some(&sandbox)).await;
            let known = known.map_or_else(
                || "there are no skills here".to_owned(),
                |known| format!("use one of these:\n{known}"),
            );
            return Err(Failure::Message(format!("there is no skill {:?}; {known}", self.name)));
        };
        // The whole skill is meant to be read.
        let at = format!("(Paths in it are relative to {}.)", skill.directory.as_str());
        let lacking = library.lacking(context.user, &sandbox, &[&skill.requires]).await;
        let needs = match (lacking.map(|lacking| skill.requires.lacks(&lacking)), skill.requires.words()) {
            (Some(lacks), _) if lacks.is_empty() => String::new(),
            (Some(lacks), _) => {
                let place = sandbox.place();
                format!(
                    "(It needs {lacks}, which {place} does not have: tell the user before you go on without it.)\n\n"
                )
            }
            (None, needs) => format!("(It needs {needs}; check first that the machine has it.)\n\n"),
        };
        Ok(Outcome::part(format!("{needs}{}\n\n{at}", skill.text)))
    }
}
