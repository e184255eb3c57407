//! `offload_recall`: reads results that were too long for the conversation.

use schemars::JsonSchema;
use serde::Deserialize;
use store::{Offload, marked_from};

use super::{Failure, Outcome, Work};
use crate::limits::RECALL_CHARS;
use crate::{Ported, Services};
use agent::approval::Access;
use agent::tool::{Live, Rules, ToolContext, TypedTool};

/// The first line of outdated content.
const STALE: &str = "STALE: the file has changed since; read it again before you rely on this.";

/// The part of a result to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The id, like ol_1a2b3c4d.
    id: String,
    /// How many characters to skip, 0 by default.
    #[serde(default)]
    offset: usize,
    /// The maximum number of characters to return, 16000 by default and at most.
    #[serde(default)]
    limit: Option<usize>,
}

impl TypedTool for Arguments {
    type Services = Services;

    const NAME: &'static str = "offload_recall";
    const DESCRIPTION: &'static str = "Reads, in parts, a result that was put aside because it was long. The text in its place contains its id.";
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
        run(self, work).await
    }
}

async fn run(arguments: &Arguments, work: &Work<'_>) -> Result<Outcome, Failure> {
    let Arguments { id, offset, limit } = arguments;
    let Some(Offload { text, is_stale }) =
        work.services.store.offload(work.user.id, work.agent()?.root, id).await.ported()?
    else {
        return Err(Failure::Message(format!("no result was put aside under the id {id:?}")));
    };
    let page = page(&text, *offset, characters(*limit));
    Ok(Outcome::part(if is_stale { format!("{STALE}\n{page}") } else { page }))
}

/// The length of one page, in characters.
fn characters(asked: Option<usize>) -> usize {
    asked.unwrap_or(RECALL_CHARS).clamp(1, RECALL_CHARS)
}

pub(super) fn page(text: &str, offset: usize, limit: usize) -> String {
    let total = text.chars().count();
    let end = offset.saturating_add(limit).min(total);
    if offset >= total {
        return format!("(the result has only {total} characters)");
    }
    let byte = |chars| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let shown = marked_from(&text[..byte(end)], byte(offset));
    if offset == 0 && end == total {
        shown
    } else {
        format!("{shown}\n(characters {offset} to {end} of {total})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_16_000_characters_at_most() {
        let asked = [None, Some(0), Some(16_000), Some(16_001)];
        assert_eq!(asked.map(characters), [16_000, 1, 16_000, 16_000]);
    }

    #[test]
    fn pages_cover_the_text_and_say_where_they_are() {
        assert_eq!(page("héllo", 0, 16_000), "héllo");
        assert_eq!(page("héllo", 1, 2), "él\n(characters 1 to 3 of 5)");
        assert_eq!(page("héllo", 3, usize::MAX), "lo\n(characters 3 to 5 of 5)");
        assert_eq!(page("héllo", 5, 1), "(the result has only 5 characters)");
    }
}
