//! Exports a chat as a file, page by page, because a chat may be too large to fit into memory.

use api::document::AgentDocument;
use serde_json::json;
use store::{Chat, ChatId, Message, MessageId, MessageRole, User};

use crate::document;
use crate::limits::EXPORT_PAGE_ROWS;
use crate::views::{chat_view, message_view};
use crate::{ChatService, Result};

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The whole chat as JSON, for programs.
    Json,
    /// A Markdown text, for people.
    Markdown,
}

/// A chat's export, page by page.
pub struct Export {
    service: ChatService,
    chat: Chat,
    format: Format,
    next: Next,
}

enum Next {
    Beginning,
    After(MessageId),
    End,
    Nothing,
}

impl ChatService {
    /// Begins the export of a whole chat.
    ///
    /// # Errors
    /// [`crate::Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn export(&self, user: &User, chat: &ChatId, format: Format) -> Result<Export> {
        let chat = self.chat(user.id, chat).await?;
        Ok(Export { service: self.clone(), chat, format, next: Next::Beginning })
    }
}

impl Export {
    /// The chat's id.
    pub fn id(&self) -> &ChatId {
        &self.chat.id
    }

    /// The next part of the file; `None` after the last one.
    ///
    /// # Errors
    /// [`crate::Error::Store`], also for a chat that was deleted meanwhile.
    pub async fn next(mut self) -> Result<Option<(String, Self)>> {
        let (text, next) = match self.next {
            Next::Beginning => (self.beginning(), Next::After(MessageId(0))),
            Next::After(last) => {
                let (store, user) = (&self.service.0.store, self.chat.user);
                let (mut page, more) =
                    store.messages_after(user, &self.chat.id, last, EXPORT_PAGE_ROWS).await?;
                self.service.fill_live(user, &mut page);
                let next = match page.last() {
                    Some(message) if more => Next::After(message.id),
                    _ => Next::End,
                };
                (self.page(page, last == MessageId(0)), next)
            }
            Next::End => {
                (if self.format == Format::Json { "]}\n".to_owned() } else { String::new() }, Next::Nothing)
            }
            Next::Nothing => return Ok(None),
        };
        self.next = next;
        Ok(Some((text, self)))
    }

    fn beginning(&self) -> String {
        match self.format {
            Format::Json => {
                let chat = json!(chat_view(self.chat.clone()));
                format!("{{\"version\":1,\"chat\":{chat},\"messages\":[")
            }
            Format::Markdown => format!("# {}\n", one_line(&self.chat.title)),
        }
    }

    fn page(&self, messages: Vec<Message>, is_first: bool) -> String {
        match self.format {
            Format::Json => {
                let messages: Vec<String> =
                    messages.into_iter().map(|message| json!(message_view(message)).to_string()).collect();
                let comma = if is_first || messages.is_empty() { "" } else { "," };
                format!("{comma}{}", messages.join(","))
            }
            // The text for people leaves out messages that were taken back.
            Format::Markdown => messages.iter().filter(|message| !message.undone).map(markdown).collect(),
        }
    }
}

/// A message as text for people.
fn markdown(message: &Message) -> String {
    let text = message.text.trim_end();
    match message.role {
        MessageRole::User => format!("\n## You\n\n{text}\n"),
        MessageRole::Notice => format!("\n> {}\n", text.replace('\n', "\n> ")),
        MessageRole::Exec => {
            let exec = document::exec(message).unwrap_or_default();
            let code = exec.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
            let place = exec.runner.map(|place| format!(" on {place}")).unwrap_or_default();
            format!(
                "\n**Command** ({}{code}{place})\n\n{}{}",
                exec.status,
                fenced(&exec.command),
                fenced(text)
            )
        }
        MessageRole::Assistant => match document::agent(message) {
            Some(AgentDocument::Tool { tool, hint, status, place, .. }) => {
                let place = place.map(|place| format!(" on {place}")).unwrap_or_default();
                format!("\n**{tool}** ({status}{place})\n\n{}{}", fenced(&hint), fenced(text))
            }
            Some(AgentDocument::Reply { error: Some(error), .. }) => {
                format!("\n## Sandbridge\n\n{text}\n\n> {error}\n")
            }
            _ if text.is_empty() => String::new(),
            _ => format!("\n## Sandbridge\n\n{text}\n"),
        },
    }
}

/// The unchanged text between fences that are longer than any fence within it.
fn fenced(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let runs = text.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}\n{fence}\n")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_fence_but_its_own() {
        assert_eq!(fenced("a"), "```\na\n```\n");
        assert_eq!(fenced("```\nb"), "````\n```\nb\n````\n");
        assert_eq!(fenced(""), "");
    }
}
