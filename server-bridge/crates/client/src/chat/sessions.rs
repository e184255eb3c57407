//! The existing chats: `sandbridge chat list`, `sandbridge chat export`, and resolving `--resume`.

use std::io::Write;
use std::process::ExitCode;

use api::chat::ChatView;
use clap::{Subcommand, ValueEnum};
use hyper::Method;

use crate::body::RequestBody;
use crate::failure::{BROKEN_PIPE, Failure};
use crate::globals::Globals;
use crate::http::{Client, next_chunk};
use crate::limits::CHAT_ID_MIN_CHARS;
use crate::names;
use crate::output;

/// The subcommands of `chat`.
#[derive(Subcommand)]
pub(super) enum ChatCommand {
    /// List your chats, the most recently active first
    List,
    /// Print a whole chat
    Export {
        /// The chat's id, or the beginning of it, as `sandbridge chat list` shows it
        #[arg(value_name = "ID", add = names::chats())]
        id: String,
        /// Markdown to read, or JSON for programs; --json means the latter
        #[arg(long, value_enum, default_value_t = Format::Markdown)]
        format: Format,
    },
}

/// The format of an exported chat.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// For reading
    Markdown,
    /// All of it, for programs
    Json,
}

pub(super) async fn run(globals: &Globals, command: ChatCommand) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    match command {
        ChatCommand::List => {
            let chats = client.chats().await?;
            if globals.json {
                output::json_line(&chats);
            } else {
                output::line(&list_words(&chats));
            }
            Ok(ExitCode::SUCCESS)
        }
        ChatCommand::Export { id, format } => {
            let id = find(&mut client, &id).await?;
            let format = if globals.json { Format::Json } else { format };
            export(&mut client, &id, format).await
        }
    }
}

async fn export(client: &mut Client, id: &str, format: Format) -> Result<ExitCode, Failure> {
    let format = match format {
        Format::Markdown => "markdown",
        Format::Json => "json",
    };
    let path = format!("/api/v1/chats/{id}/export?format={format}");
    let mut body = client.send(Method::GET, &path, "", RequestBody::Empty).await?.into_body();
    while let Some(chunk) = next_chunk(&mut body).await {
        if std::io::stdout().write_all(&chunk?).is_err() {
            return Ok(ExitCode::from(BROKEN_PIPE));
        }
    }
    // If this fails, the reader has closed the output and wants no more.
    let _ = std::io::stdout().flush();
    Ok(ExitCode::SUCCESS)
}

/// True if this may be an id, or the beginning of one.
pub(super) fn is_id(text: &str) -> bool {
    (CHAT_ID_MIN_CHARS..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The most recently active chat.
pub(super) async fn last(client: &mut Client) -> Result<String, Failure> {
    let last = client.chats().await?.into_iter().next().map(|chat| chat.id);
    last.ok_or_else(|| Failure::other("not_found", "you have no chat yet; send a message to begin one"))
}

/// The chat with this id, or whose id begins with it.
pub(super) async fn find(client: &mut Client, id: &str) -> Result<String, Failure> {
    choose(&client.chats().await?, id)
}

fn choose(chats: &[ChatView], id: &str) -> Result<String, Failure> {
    let missing = || {
        let message = format!("you have no chat {id:?}; `sandbridge chat list` lists your chats");
        Failure::other("not_found", message)
    };
    if !is_id(id) {
        return Err(missing());
    }
    let wanted = id.to_ascii_lowercase();
    let ids = chats.iter().map(|chat| chat.id.as_str());
    let found: Vec<&str> = ids.filter(|id| id.starts_with(&wanted)).collect();
    match found[..] {
        [id] => Ok(id.to_owned()),
        [] => Err(missing()),
        _ => Err(Failure::other(
            "invalid",
            format!("several chats begin with {id}; give more characters of the id"),
        )),
    }
}

fn list_words(chats: &[ChatView]) -> String {
    if chats.is_empty() {
        return "you have no chat yet; `sandbridge chat` begins one".to_owned();
    }
    let heading = ["ID", "TITLE", "RUNNER", "CHANGED"].map(str::to_owned).to_vec();
    let rows = chats.iter().map(|chat| {
        let title = chat.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let runner = chat.runner.clone().unwrap_or_else(|| "-".to_owned());
        vec![chat.id.clone(), title, runner, output::ago(chat.updated_at)]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_named_by_the_beginning_of_its_id() {
        let chats = r#"[{"id": "aaaa1111"}, {"id": "aaaa2222"}, {"id": "bbbb1111"}]"#;
        let chats: Vec<ChatView> = serde_json::from_str(chats).unwrap();
        assert_eq!(choose(&chats, "BBBB").unwrap(), "bbbb1111");
        assert_eq!(choose(&chats, "aaaa1").unwrap(), "aaaa1111");
        for (id, kind) in
            [("aaaa", "invalid"), ("cccc", "not_found"), ("bbb", "not_found"), ("", "not_found")]
        {
            assert_eq!(choose(&chats, id).unwrap_err().kind, kind, "{id}");
        }
        assert!(!is_id("go on") && !is_id("abc") && is_id("abcd"));
    }
}
