//! `12_knowledge`: the collections that the agent can search, by name.

use agent::engine::{Made, PromptContext, PromptPart};
use agent::tool::TypedTool;
use futures_util::future::BoxFuture;

use crate::limits::PROMPT_COLLECTIONS;
use crate::service::Knowledge;
use crate::tools::Search;

impl PromptPart for Knowledge {
    fn key(&self) -> &str {
        "12_knowledge"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(async move {
            if !context.ancestry.tools().holds(Search::NAME) {
                return Ok(None);
            }
            let collections =
                self.readable(context.user.id, context.ancestry.root()).await.map_err(|error| {
                    tracing::error!(%error, "the collections of a user could not be listed");
                    agent::PortError::Failed(error.to_string())
                })?;
            let filled: Vec<_> = collections.iter().filter(|one| one.documents > 0).collect();
            if filled.is_empty() {
                return Ok(None);
            }
            // The names of shared collections come from other users, so they are quoted, one per line. Counts would change the prompt too often.
            let line = |one: &&store::Collection| match one.user_id == context.user.id {
                true => format!("- {:?}", one.name),
                false => format!("- {:?}, which the user {:?} shares", one.name, one.owner),
            };
            let mut lines: Vec<String> = filled.iter().take(PROMPT_COLLECTIONS).map(line).collect();
            if filled.len() > PROMPT_COLLECTIONS {
                lines.push(format!("- and {} more", filled.len() - PROMPT_COLLECTIONS));
            }
            let title =
                "# Documents\n\nThe user has collections of documents, which knowledge_search searches:";
            Ok(Some(format!("{title}\n\n{}", lines.join("\n"))))
        })
    }
}
