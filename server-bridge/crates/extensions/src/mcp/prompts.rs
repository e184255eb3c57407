//! Prompts of servers as slash commands: `/SERVER:PROMPT ARGUMENT…` is replaced with the text that the server generates
//! from the arguments.

use std::sync::Arc;

use agent::commands::{CommandSource, ExtensionCommand};
use agent::tool::visible;
use futures_util::future::BoxFuture;
use rmcp::model::{GetPromptResult, Prompt, Role};
use sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::{ChatId, User};
use tokio::time::timeout;

use super::listing::Listing;
use super::servers::Server;
use super::{Inner, McpServers, Owner, content, find, names, read};
use crate::limits::{
    MCP_ABOUT_CHARS, MCP_COMPLETION_PATIENCE, MCP_COMPLETIONS, MCP_PROMPT_ARGUMENTS, MCP_PROMPT_BYTES,
    MCP_PROMPT_NAME_CHARS, MCP_PROMPTS,
};

/// A prompt of a server. It is stored as JSON: to change a field, add an optional one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ServerPrompt {
    /// The prompt's name on the server.
    name: String,
    about: String,
    arguments: Vec<Argument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Argument {
    name: String,
    is_required: bool,
}

/// The usable prompts among those that a server lists: only those with names that people can type, and not too many.
pub(super) fn usable(listed: Vec<Prompt>) -> Vec<ServerPrompt> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.chars().count() <= MCP_PROMPT_NAME_CHARS
            && !name.chars().any(|letter| letter.is_control() || store::is_unseen(letter))
    };
    let prompt = |prompt: Prompt| {
        let arguments = prompt.arguments.unwrap_or_default();
        if !is_name(&prompt.name)
            || arguments.len() > MCP_PROMPT_ARGUMENTS
            || !arguments.iter().all(|argument| is_name(&argument.name))
        {
            return None;
        }
        let about = prompt.description.or(prompt.title).unwrap_or_default();
        let about =
            about.lines().next().unwrap_or_default().chars().take(MCP_ABOUT_CHARS).collect::<String>();
        let arguments = arguments
            .into_iter()
            .map(|argument| Argument { is_required: argument.required == Some(true), name: argument.name });
        Some(ServerPrompt { name: prompt.name, about, arguments: arguments.collect() })
    };
    listed.into_iter().filter_map(prompt).take(MCP_PROMPTS).collect()
}

impl ServerPrompt {
    /// The prompt's name as a command.
    fn word(&self, server: &Server) -> String {
        format!("{}:{}", names::prefix(&server.name), names::clean(&self.name))
    }

    fn usage(&self, server: &Server) -> String {
        let mut usage = format!("/{}", self.word(server));
        for Argument { name, is_required } in &self.arguments {
            let name = names::clean(name);
            usage.push_str(&if *is_required { format!(" {name}") } else { format!(" [{name}]") });
        }
        usage
    }

    /// The arguments of a command: `name=value`, or in the prompt's order. The last one takes the rest of the line.
    ///
    /// Fails with the reason as text.
    fn arguments(&self, server: &Server, text: &str) -> Result<Map<String, Value>, String> {
        let usage = || format!("write it as {}", self.usage(server));
        let mut given = Map::new();
        for word in words(text) {
            let named = word.split_once('=').and_then(|(name, value)| {
                let known = self.arguments.iter().find(|argument| names::clean(&argument.name) == name)?;
                Some((known, value))
            });
            let free = || self.arguments.iter().find(|argument| !given.contains_key(&argument.name));
            match named.or_else(|| Some((free()?, word.as_str()))) {
                Some((argument, value)) => {
                    given.insert(argument.name.clone(), Value::from(value));
                }
                None => match self.arguments.last().and_then(|last| given.get_mut(&last.name)) {
                    Some(Value::String(last)) => {
                        last.push(' ');
                        last.push_str(&word);
                    }
                    _ => return Err(format!("this prompt has no arguments; {}", usage())),
                },
            }
        }
        let missing = self
            .arguments
            .iter()
            .find(|argument| argument.is_required && !given.contains_key(&argument.name));
        match missing {
            Some(argument) => {
                Err(format!("its argument {} is missing; {}", visible::line(&argument.name), usage()))
            }
            None => Ok(given),
        }
    }

    /// The argument that is being typed, and its value so far.
    fn begun(&self, text: &str) -> Option<(&str, String)> {
        let mut words = words(text);
        let last = if text.is_empty() || text.ends_with(char::is_whitespace) {
            String::new()
        } else {
            words.pop().unwrap_or_default()
        };
        let by_name = |word: &str| {
            let (name, value) = word.split_once('=')?;
            let known = self.arguments.iter().find(|argument| names::clean(&argument.name) == name)?;
            Some((known.name.as_str(), value.to_owned()))
        };
        if let Some(named) = by_name(&last) {
            return Some(named);
        }
        let named: Vec<&str> = words.iter().filter_map(|word| by_name(word)).map(|(name, _)| name).collect();
        let mut free = self.arguments.iter().filter(|argument| !named.contains(&argument.name.as_str()));
        let before = words.len() - named.len();
        free.nth(before).map(|argument| (argument.name.as_str(), last))
    }
}

/// The words of a text; quotes keep words together.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '"' || (letter == '\'' && word.is_none()) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// The text of a prompt, for a model.
///
/// Fails with the reason as text.
fn text_of(prompt: &GetPromptResult) -> Result<String, String> {
    let one = matches!(&prompt.messages[..], [message] if message.role == Role::User);
    let parts = prompt.messages.iter().map(|message| {
        let text = content::text(&message.content);
        match message.role {
            _ if one => text,
            Role::Assistant => format!("[assistant]\n{text}"),
            _ => format!("[user]\n{text}"),
        }
    });
    let text = parts.collect::<Vec<_>>().join("\n\n");
    if text.trim().is_empty() {
        return Err("its prompt is empty".to_owned());
    }
    if text.len() > MCP_PROMPT_BYTES {
        return Err(format!("its prompt has {} bytes; the maximum is {MCP_PROMPT_BYTES}", text.len()));
    }
    Ok(text)
}

/// A prompt that a command names.
struct Named {
    owner: Owner,
    server: Arc<Server>,
    prompt: ServerPrompt,
    sandbox: Option<Sandbox>,
}

impl Inner {
    /// The prompts that the servers of a chat listed.
    async fn prompts(
        &self,
        user: &User,
        chat: Option<&ChatId>,
    ) -> store::Result<(Option<Sandbox>, Vec<(Arc<Server>, ServerPrompt)>)> {
        let (sandbox, ready) = self.ready(user, chat).await?;
        let known = self.store.mcp_catalogues(user.id, sandbox.as_ref().map(Sandbox::place)).await?;
        let mut prompts = Vec::new();
        for server in ready {
            let place = sandbox.as_ref().map(Sandbox::place);
            let listing = find(&known, &server, place).and_then(|found| read(found, &server));
            let Listing { prompts: listed, .. } = listing.unwrap_or_default();
            prompts.extend(listed.into_iter().map(|prompt| (Arc::clone(&server), prompt)));
        }
        Ok((sandbox, prompts))
    }

    async fn prompt(&self, user: &User, chat: &ChatId, word: &str) -> Option<Named> {
        // Most words do not name a prompt: no server is looked up for them.
        word.contains(':').then_some(())?;
        let found = self.prompts(user, Some(chat)).await;
        let (sandbox, prompts) = found
            .inspect_err(|error| tracing::warn!(%error, "the prompts of MCP servers could not be loaded"))
            .ok()?;
        let (server, prompt) = prompts.into_iter().find(|(server, prompt)| prompt.word(server) == word)?;
        let owner = Owner { user: user.clone(), chat: Some(chat.clone()) };
        let sandbox = sandbox.filter(|_| server.is_program());
        Some(Named { owner, server, prompt, sandbox })
    }

    async fn prompt_text(self: &Arc<Self>, named: &Named, arguments: &str) -> Result<String, String> {
        let Named { owner, server, prompt, sandbox } = named;
        let arguments = prompt.arguments(server, arguments)?;
        let connection =
            self.connection(owner, server, sandbox.as_ref()).await.map_err(|refused| refused.why)?;
        let got = connection.prompt(&prompt.name, arguments, server.spec.patience).await?;
        text_of(&got)
    }
}

impl CommandSource for McpServers {
    fn commands<'a>(
        &'a self,
        user: &'a User,
        chat: Option<&'a ChatId>,
    ) -> BoxFuture<'a, Vec<ExtensionCommand>> {
        Box::pin(async move {
            let found = self.0.prompts(user, chat).await;
            let (_, prompts) = found.unwrap_or_else(|error| {
                tracing::warn!(%error, "the prompts of MCP servers could not be loaded");
                Default::default()
            });
            let command = |(server, prompt): (Arc<Server>, ServerPrompt)| ExtensionCommand {
                word: prompt.word(&server),
                usage: prompt.usage(&server),
                about: visible::line(&prompt.about),
            };
            prompts.into_iter().map(command).collect()
        })
    }

    fn text<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        word: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        Box::pin(async move {
            let named = self.0.prompt(user, chat, word).await?;
            let text = self.0.prompt_text(&named, arguments).await;
            Some(text.map_err(|why| format!("the MCP server {}: {why}", visible::line(&named.server.name))))
        })
    }

    fn complete<'a>(
        &'a self,
        user: &'a User,
        chat: &'a ChatId,
        word: &'a str,
        arguments: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let asked = async {
                let Named { owner, server, prompt, sandbox } = self.0.prompt(user, chat, word).await?;
                let (argument, begun) = prompt.begun(arguments)?;
                let connection = self.0.connection(&owner, &server, sandbox.as_ref()).await.ok()?;
                connection.completions(&prompt.name, argument, &begun).await.ok()
            };
            // Suggestions that arrive late are useless.
            let found = timeout(MCP_COMPLETION_PATIENCE, asked).await.ok().flatten().unwrap_or_default();
            let is_word =
                |value: &String| visible::line(value) == *value && value.chars().count() <= MCP_ABOUT_CHARS;
            found.into_iter().filter(is_word).take(MCP_COMPLETIONS).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt() -> ServerPrompt {
        let listed = json!({"name": "plan trip", "description": "Plans\nmore", "arguments": [
            {"name": "city", "required": true}, {"name": "days"}, {"name": "note"}]});
        usable(vec![serde_json::from_value(listed).unwrap()]).remove(0)
    }

    fn server() -> Server {
        Server::for_test("my.server")
    }

    #[test]
    fn arguments_are_named_or_in_order_and_the_last_takes_the_rest() {
        let of = |text: &str| prompt().arguments(&server(), text).map(Value::Object);
        assert_eq!(prompt().usage(&server()), "/my_server:plan_trip city [days] [note]");
        assert_eq!(of("Paris").unwrap(), json!({"city": "Paris"}));
        assert_eq!(
            of("'New York' 3 see the \"old town\"").unwrap(),
            json!({"city": "New York", "days": "3", "note": "see the old town"})
        );
        assert_eq!(of("days=2 Rome").unwrap(), json!({"days": "2", "city": "Rome"}));
        assert_eq!(of("a=b").unwrap(), json!({"city": "a=b"}), "no argument of that name");
        assert!(of("days=2").unwrap_err().contains("city"));
        assert!(ServerPrompt::default().arguments(&server(), "x").is_err());
    }

    #[test]
    fn the_argument_that_was_begun_is_the_one_to_complete() {
        let prompt = prompt();
        let begun = |text: &str| prompt.begun(text).map(|(name, value)| format!("{name}:{value}"));
        assert_eq!(begun("").as_deref(), Some("city:"));
        assert_eq!(begun("Par").as_deref(), Some("city:Par"));
        assert_eq!(begun("Paris ").as_deref(), Some("days:"));
        assert_eq!(begun("days=2 Ro").as_deref(), Some("city:Ro"));
        assert_eq!(begun("Paris note=x").as_deref(), Some("note:x"));
    }

    #[test]
    fn prompts_that_nobody_could_write_or_see_are_left_out() {
        let listed = |name: &str| serde_json::from_value(json!({"name": name})).unwrap();
        let long = "x".repeat(MCP_PROMPT_NAME_CHARS + 1);
        assert_eq!(usable(vec![listed(""), listed(&long), listed("a\u{202e}b"), listed("fine")]).len(), 1);
        assert_eq!(
            usable((0..=MCP_PROMPTS).map(|at| listed(&format!("p{at}"))).collect()).len(),
            MCP_PROMPTS
        );
    }

    #[test]
    fn a_text_is_what_the_server_wrote_within_bounds() {
        let of = |messages: Value| text_of(&serde_json::from_value(json!({"messages": messages})).unwrap());
        let said = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
        assert_eq!(of(json!([said("user", "hello")])).unwrap(), "hello");
        assert_eq!(
            of(json!([said("user", "a"), said("assistant", "b")])).unwrap(),
            "[user]\na\n\n[assistant]\nb"
        );
        assert!(
            of(json!([])).is_err() && of(json!([said("user", &"x".repeat(MCP_PROMPT_BYTES + 1))])).is_err()
        );
    }
}
