//! `ManageTools`: lets a model list, add and remove its user's own MCP servers and HTTP tools.
//!
//! The user is asked about each addition and removal, in every mode, even if a rule allows it. Servers and tools of the administrator and
//! of a workspace cannot be changed. A model gives no secrets; the user sets those.

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Call, Failure, ForSubAgents, Live, Outcome, Rules, Tool, ToolContext, visible};
use api::http_tools::HttpToolDraft;
use api::mcp::McpServerEntry;
use api::words::ExtensionLayer;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use store::User;

use crate::Error;
use crate::http_tools::HttpTools;
use crate::mcp::McpServers;

/// Headers whose values are treated as secrets.
const SECRET_HEADERS: [&str; 6] =
    ["api-key", "authorization", "cookie", "proxy-authorization", "x-api-key", "x-auth-token"];

/// The tool `ManageTools`.
#[derive(Clone)]
pub struct ManageTools {
    mcp_servers: McpServers,
    http_tools: HttpTools,
}

impl ManageTools {
    /// The tool, for these servers and HTTP tools.
    pub fn new(mcp_servers: McpServers, http_tools: HttpTools) -> Self {
        Self { mcp_servers, http_tools }
    }
}

impl Tool for ManageTools {
    fn name(&self) -> &str {
        "ManageTools"
    }

    fn description(&self) -> &str {
        "Lists, adds and removes the user's own MCP servers and HTTP tools, which apply to all of their chats; new ones can be used from the next message on. Use it only when the user asks for it; they are asked to confirm each change. Give no secrets: name the \
         variables and headers that the user has to set."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {"enum": ["list", "add", "remove"]},
                "kind": {"enum": ["mcp_server", "http_tool"], "description": "Required to add and remove."},
                "name": {"type": "string", "description": "Its name; required to add and remove."},
                "definition": {"type": "object", "description": "To add an MCP server: {\"command\", \"args\"} or {\"url\"}, as in \
        .mcp.json, without env and headers. To add an HTTP tool: {\"description\", \"method\", \"url\", \"headers\", \"queryParams\", \
        \"bodyTemplate\", \"parameters\", \"responseExtract\"}, with {{key}} for arguments and {{secret.NAME}} for secrets."},
            },
            "required": ["action"],
            "additionalProperties": false,
        })
    }

    fn rules(&self) -> Rules {
        Rules::of(Access::Settings).for_sub_agents(ForSubAgents::Never).without_machine()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let act = act(arguments)?;
        let hint = act.effect();
        Ok(Box::new(ManageCall { tools: self.clone(), act, hint }))
    }
}

/// The action of a call.
#[derive(Debug)]
enum Act {
    List,
    AddServer(String, Box<McpServerEntry>),
    /// The tool's name, and its document.
    AddTool(String, Value),
    RemoveServer(String),
    RemoveTool(String),
}

/// Reads the arguments.
///
/// Fails with a text for the model.
fn act(mut arguments: Map<String, Value>) -> Result<Act, String> {
    let text =
        |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
    let (action, kind) = (text(arguments.remove("action")), text(arguments.remove("kind")));
    let name = text(arguments.remove("name"));
    let definition = arguments.remove("definition").filter(|definition| !definition.is_null());
    if action == "list" {
        return Ok(Act::List);
    }
    if name.is_empty() {
        return Err("name is missing; give the name of the server or tool".to_owned());
    }
    Ok(match (action.as_str(), kind.as_str(), definition) {
        ("remove", "mcp_server", _) => Act::RemoveServer(name),
        ("remove", "http_tool", _) => Act::RemoveTool(name),
        ("add", "mcp_server", Some(definition)) => Act::AddServer(name, Box::new(server(&definition)?)),
        ("add", "http_tool", Some(definition)) => {
            let document = document(&name, definition)?;
            Act::AddTool(name, document)
        }
        ("add", "mcp_server" | "http_tool", None) => {
            return Err("definition is missing; it is required to add a server or tool".to_owned());
        }
        ("add" | "remove", _, _) => return Err("kind must be mcp_server or http_tool".to_owned()),
        _ => return Err("action must be list, add or remove".to_owned()),
    })
}

/// Reads the definition of a server; refuses one that has fields that may be secrets.
fn server(definition: &Value) -> Result<McpServerEntry, String> {
    let entry: McpServerEntry = serde_json::from_value(definition.clone())
        .map_err(|error| format!("the definition is not that of an MCP server: {error}"))?;
    if !entry.env.is_empty() || !entry.headers.is_empty() || entry.oauth.is_some() {
        return Err("variables, headers and logins may be secrets, which only the user sets: add the server without them, and \
                    tell the user which it needs"
            .to_owned());
    }
    Ok(entry)
}

/// Reads the document of an HTTP tool, which may name secrets but not contain them.
fn document(name: &str, definition: Value) -> Result<Value, String> {
    let Value::Object(mut document) = definition else {
        return Err("the definition must be a JSON object".to_owned());
    };
    document.insert("name".to_owned(), name.into());
    let headers = document.get("headers").and_then(Value::as_object);
    let is_secret = |(header, value): &(&String, &Value)| {
        let value = value.as_str().unwrap_or_default();
        SECRET_HEADERS.contains(&header.to_lowercase().as_str()) && !value.contains("{{")
    };
    if let Some((header, _)) = headers.and_then(|headers| headers.iter().find(is_secret)) {
        return Err(format!(
            "the value of the header {header} is a secret, which only the user sets: write {{{{secret.NAME}}}} in its place"
        ));
    }
    Ok(Value::Object(document))
}

impl Act {
    /// A description of the call for people, without the subject of the sentence.
    fn effect(&self) -> String {
        let named = |name: &str| visible::line(name);
        match self {
            Self::List => "lists your MCP servers and HTTP tools".to_owned(),
            Self::AddServer(name, _) => {
                format!("adds the MCP server {} to your own, for all of your chats", named(name))
            }
            Self::AddTool(name, _) => {
                format!("adds the HTTP tool {} to your own, for all of your chats", named(name))
            }
            Self::RemoveServer(name) => format!("removes your MCP server {}", named(name)),
            Self::RemoveTool(name) => format!("removes your HTTP tool {}", named(name)),
        }
    }

    /// The whole definition that would be added.
    fn definition(&self) -> Option<String> {
        match self {
            Self::AddServer(_, entry) => serde_json::to_string_pretty(entry).ok(),
            Self::AddTool(_, document) => serde_json::to_string_pretty(document).ok(),
            Self::List | Self::RemoveServer(_) | Self::RemoveTool(_) => None,
        }
    }
}

struct ManageCall {
    tools: ManageTools,
    act: Act,
    hint: String,
}

impl Call for ManageCall {
    fn access(&self) -> Access {
        if matches!(self.act, Act::List) { Access::Read } else { Access::Settings }
    }

    fn hint(&self) -> &str {
        &self.hint
    }

    fn look<'a>(&'a self, _ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        let parts = self.act.definition().map(|definition| part("definition", &definition));
        Box::pin(async { Ok(Looked::words(self.hint.clone(), parts.into_iter().collect())) })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        _live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(
            async move { self.tools.make(context.user, &self.act).await.map(Outcome::done).map_err(failure) },
        )
    }
}

impl ManageTools {
    async fn make(&self, user: &User, act: &Act) -> crate::Result<String> {
        Ok(match act {
            Act::List => self.list(user).await?,
            Act::AddServer(name, entry) => {
                let known = self.mcp_servers.list(user, None).await?.servers;
                if known.iter().any(|server| server.name == *name && server.layer == ExtensionLayer::User) {
                    return Err(there_is_one("MCP server", name));
                }
                self.mcp_servers.put(user, name, entry).await?;
                let name = visible::line(name);
                format!(
                    "the MCP server {name} was added; its tools can be found from the next message on. If it needs variables or \
                     headers, the user sets them with `sandbridge mcp-server add`, or under MCP servers in the settings"
                )
            }
            Act::AddTool(name, document) => {
                let known = self.http_tools.list(user, None).await?.tools;
                if known.iter().any(|tool| tool.name == *name && tool.layer == ExtensionLayer::User) {
                    return Err(there_is_one("HTTP tool", name));
                }
                let draft = HttpToolDraft { text: document.to_string(), ..HttpToolDraft::default() };
                let saved = self.http_tools.put(user, name, &draft).await?;
                let missing = match saved.missing_secrets.as_slice() {
                    [] => String::new(),
                    names => format!(
                        "; the user has to set {} with `sandbridge http-tool secret`, or under HTTP tools in the settings",
                        names.join(", ")
                    ),
                };
                format!(
                    "the HTTP tool {} was added; it can be found from the next message on{missing}",
                    visible::line(name)
                )
            }
            Act::RemoveServer(name) => {
                self.mcp_servers.remove(user, name).await?;
                format!("the MCP server {} was removed", visible::line(name))
            }
            Act::RemoveTool(name) => {
                self.http_tools.remove(user, name).await?;
                format!("the HTTP tool {} was removed", visible::line(name))
            }
        })
    }

    async fn list(&self, user: &User) -> crate::Result<String> {
        let mut lines = Vec::new();
        for server in self.mcp_servers.list(user, None).await?.servers {
            let (name, action) = (visible::line(&server.name), visible::line(&server.action));
            lines.push(format!("mcp_server {name} ({}, {}): {action}", server.layer, server.state));
        }
        for tool in self.http_tools.list(user, None).await?.tools {
            let (name, server) = (visible::line(&tool.name), visible::line(&tool.server));
            lines
                .push(format!("http_tool {name} ({}, {}): {} {server}", tool.layer, tool.state, tool.method));
        }
        if lines.is_empty() {
            return Ok("there are no MCP servers and no HTTP tools".to_owned());
        }
        lines.push("Only those of the layer user can be removed with this tool.".to_owned());
        Ok(lines.join("\n"))
    }
}

fn there_is_one(kind: &str, name: &str) -> Error {
    let name = visible::line(name);
    Error::refused(
        "exists",
        format!("the user already has the {kind} {name}; remove it first if they want to replace it"),
    )
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Refused { text, .. } => Failure::Message(text),
        Error::Store(error) => Failure::Port(tools_error(error)),
    }
}

/// A store's error for the engine.
fn tools_error(error: store::Error) -> agent::PortError {
    match error {
        error if error.is_passing() => agent::PortError::Away(error.shown()),
        error => agent::PortError::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: Value) -> Result<Act, String> {
        act(arguments.as_object().unwrap().clone())
    }

    #[test]
    fn a_model_gives_no_secrets() {
        let server = |definition: Value| {
            read(json!({"action": "add", "kind": "mcp_server", "name": "x", "definition": definition}))
        };
        assert!(matches!(
            server(json!({"command": "uvx", "args": ["mcp-server-git"]})),
            Ok(Act::AddServer(..))
        ));
        for wrong in [
            json!({"command": "x", "env": {"TOKEN": "s"}}),
            json!({"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer s"}}),
            json!({"url": "https://example.com/mcp", "oauth": {"clientId": "a"}}),
            json!({"command": 1}),
        ] {
            assert!(server(wrong.clone()).is_err(), "{wrong}");
        }
        let tool = |headers: Value| {
            let definition = json!({"url": "https://example.com", "headers": headers});
            read(json!({"action": "add", "kind": "http_tool", "name": "x", "definition": definition}))
        };
        assert!(matches!(tool(json!({"Authorization": "Bearer {{secret.KEY}}"})), Ok(Act::AddTool(..))));
        assert!(tool(json!({"authorization": "Bearer abc"})).unwrap_err().contains("secret"));
    }

    #[test]
    fn only_a_list_needs_no_question() {
        assert!(matches!(read(json!({"action": "list"})), Ok(Act::List)));
        for wrong in [
            json!({}),
            json!({"action": "add", "kind": "mcp_server", "name": "x"}),
            json!({"action": "remove", "kind": "mcp_server"}),
            json!({"action": "remove", "kind": "hook", "name": "x"}),
            json!({"action": "change", "kind": "http_tool", "name": "x"}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
