//! `recall_masked`: reads an old result that was replaced by a line.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, Outcome, Work, recall};
use crate::{Ported, Services};
use agent::approval::Access;
use agent::context::{history, mask};
use agent::tool::{Live, Rules, ToolContext, TypedTool};

/// The result to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id, like mk_1a2b3c4d.
    id: String,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "recall_masked";
    const DESCRIPTION: &'static str = "Reads an old result that was masked to save room in the conversation. The line in its place contains its id.";
    const RULES: Rules = Rules::of(Access::Read).without_machine();

    fn hint(&self) -> &str {
        &self.id
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let Self { id } = self;
        let Some(masked) =
            work.services.store.masked_item(work.user.id, work.agent()?.chat, id).await.ported()?
        else {
            return Err(Failure::Message(format!("nothing is masked as {id:?}")));
        };
        if masked.is_forgotten {
            return Err(Failure::Message(format!(
                "{id} is too old and no longer kept; repeat the call that it came from"
            )));
        }
        let text = history::from_json(&masked.item_json).as_ref().and_then(mask::recalled);
        let text = text.ok_or_else(|| Failure::Message(format!("{id} was deleted")))?;
        Ok(Outcome::part(recall::page(&text, 0, crate::limits::RECALL_CHARS)))
    }
}
