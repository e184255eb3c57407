//! The tools of the mode `letta`: core blocks, an archive, and the recall of conversations.

use memory::{MemoryKind, MemoryScope};
use schemars::JsonSchema;
use serde::Deserialize;
use store::MessageRank;

use super::{READS, Reach, WRITES, edit, keep, refused, search};
use crate::limits::HISTORY_RESULTS;
use crate::{Failure, Outcome, Services, Work, chat_history};
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Live, Rules, ToolContext, TypedTool};

/// A core block.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Block {
    /// Your manner of working and speaking.
    Persona,
    /// The user. Also called human.
    #[serde(alias = "human")]
    User,
    /// The work on this machine. Also called `working_context`.
    #[serde(alias = "working_context")]
    Project,
}

impl Block {
    fn name(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The text to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Append {
    /// The block.
    block: Block,
    /// The text to add at the block's end.
    text: String,
}

impl TypedTool for Append {
    type Services = Services;

    const NAME: &'static str = "core_memory_append";
    const DESCRIPTION: &'static str = "Adds a line to a block of core memory, which is part of every prompt. A block can have at most 2,000 characters.";
    const RULES: Rules = WRITES;

    fn hint(&self) -> &str {
        &self.text
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let parts = vec![part("block", self.block.name()), part("text", &self.text)];
        Ok(Looked::words("remembers something, for all chats", parts))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let (reach, item) = edit::core(work, self.block.name()).await?;
        let text = self.text.trim();
        match item {
            Some(item) => edit::replace(work, &item, &format!("{}\n{text}", item.text)).await,
            None => keep(work, wanted(MemoryKind::Core, self.block.name(), text), reach).await,
        }
    }
}

/// The text to replace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    /// The block.
    block: Block,
    /// The part to replace, exactly as it is in the block.
    old_text: String,
    /// The new text; may be empty.
    new_text: String,
}

impl TypedTool for Replace {
    type Services = Services;

    const NAME: &'static str = "core_memory_replace";
    const DESCRIPTION: &'static str = "Replaces part of a block of core memory with another text.";
    const RULES: Rules = WRITES;

    fn hint(&self) -> &str {
        &self.new_text
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        let parts = vec![
            part("block", self.block.name()),
            part("old text", &self.old_text),
            part("text", &self.new_text),
        ];
        Ok(Looked::words("remembers something, for all chats", parts))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let (_, item) = edit::core(work, self.block.name()).await?;
        let item = item.filter(|item| !self.old_text.is_empty() && item.text.contains(&self.old_text));
        let Some(item) = item else {
            return Err(Failure::Message(
                "the block does not contain this old_text; copy it exactly from the block in your prompt"
                    .to_owned(),
            ));
        };
        edit::replace(work, &item, item.text.replacen(&self.old_text, &self.new_text, 1).trim()).await
    }
}

/// The text to archive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Insert {
    /// The text, complete in itself.
    text: String,
}

impl TypedTool for Insert {
    type Services = Services;

    const NAME: &'static str = "archival_memory_insert";
    const DESCRIPTION: &'static str =
        "Adds a text to the archive of memories about the user; archival_memory_search finds it again.";
    const RULES: Rules = WRITES;

    fn hint(&self) -> &str {
        &self.text
    }

    async fn look(&self, _ground: Option<&Ground>) -> Result<Looked, Failure> {
        Ok(Looked::words("remembers something, for all chats", vec![part("text", &self.text)]))
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        keep(work, wanted(MemoryKind::Semantic, "", self.text.trim()), Reach::User).await
    }
}

/// A search in the archive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Find {
    /// Words to find, or a question.
    query: String,
}

impl TypedTool for Find {
    type Services = Services;

    const NAME: &'static str = "archival_memory_search";
    const DESCRIPTION: &'static str =
        "Finds texts in the archive of memories about the user, the best match first.";
    const RULES: Rules = READS;

    fn hint(&self) -> &str {
        &self.query
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        search(&Work { services, context }, &self.query).await
    }
}

/// A search in earlier conversations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recall {
    /// Words to find, or a question.
    query: String,
    /// Only messages since this time, like 2026-01-31 or 2026-01-31T08:00, in UTC.
    #[serde(default)]
    since: Option<String>,
    /// Only messages before this time.
    #[serde(default)]
    until: Option<String>,
}

impl TypedTool for Recall {
    type Services = Services;

    const NAME: &'static str = "recall_memory_search";
    const DESCRIPTION: &'static str =
        "Finds messages of earlier conversations that have any of the words, the best match first.";
    const RULES: Rules = READS;

    fn hint(&self) -> &str {
        &self.query
    }

    async fn run(
        &self,
        services: &Services,
        context: &ToolContext<'_>,
        _live: Live<'_>,
    ) -> Result<Outcome, Failure> {
        let work = &Work { services, context };
        let rank = MessageRank {
            question: &self.query,
            chat: work.only_chat().await?,
            from_ms: chat_history::time(self.since.as_deref())?.unwrap_or(0),
            until_ms: chat_history::time(self.until.as_deref())?.unwrap_or(i64::MAX),
            limit: HISTORY_RESULTS,
        };
        let found = services.store.rank_messages(work.user.id, &rank).await.map_err(refused)?;
        if found.is_empty() {
            return Ok(Outcome::done("no message was found"));
        }
        let words: Vec<&str> = self.query.split_whitespace().collect();
        let lines: Vec<String> = found.iter().map(|message| chat_history::line(message, &words)).collect();
        Ok(Outcome::part(lines.join("\n")))
    }
}

fn wanted<'a>(kind: MemoryKind, name: &'a str, text: &'a str) -> memory::Write<'a> {
    memory::Write {
        kind,
        scope: MemoryScope::User,
        scope_name: "",
        name,
        text,
        chat: None,
        message: None,
        supersedes: &[],
        valid_to_ms: None,
    }
}
