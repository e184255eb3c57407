//! MCP servers: programs that offer tools to the user's agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::words::{ExtensionLayer, McpServerState, McpToolState, McpTransport};

/// The MCP servers of a user at a place.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpServerList {
    /// The servers, by name; those that are not used come last.
    #[serde(default)]
    #[schema(required)]
    pub servers: Vec<McpServerView>,
    /// Problems with the documents that define the servers, or with the machine that has some of these documents.
    #[serde(default)]
    #[schema(required)]
    pub problems: Vec<Problem>,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpServerView {
    /// The name of the server, as its definition states it.
    pub name: String,
    /// Who defined it: the administrator, the user, or a file of the workspace.
    pub layer: ExtensionLayer,
    /// The file that defines it; "your servers" for the user's own.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub origin: String,
    /// The connection to it: a program's standard input and output, or the network.
    pub transport: McpTransport,
    /// The command or the address, without variables and headers.
    pub action: String,
    /// The files of the workspace whose content its approval covers; empty if it covers none.
    #[serde(default)]
    #[schema(required)]
    pub files: Vec<String>,
    /// What it may run that the approval does not cover, in words: variables, patterns, directories, programs that choose files
    /// themselves.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub unseen: Vec<String>,
    /// The names of the variables of its environment, or of its headers; with their values, if a file of the workspace sets them:
    /// `NAME=value`, `Name: value`.
    #[serde(default)]
    #[schema(required)]
    pub secrets: Vec<String>,
    /// The SHA-256 of what runs; approvals refer to this hash.
    pub hash: String,
    /// Whether it is used, or the reason why it is not.
    pub state: McpServerState,
    /// The tools that it listed at this place, in its own order; empty if it was never asked for them there.
    #[serde(default)]
    #[schema(required)]
    pub tools: Vec<McpToolView>,
    /// What it says about its use, for models that use its tools; null if it says nothing.
    #[serde(default)]
    #[schema(required)]
    pub instructions: Option<McpInstructions>,
    /// The icon that it sent when it was last asked for its tools: a `data:` URI of a PNG, JPEG or WebP picture.
    #[serde(default)]
    #[schema(required)]
    pub icon: Option<String>,
    /// When it was last asked for its tools, in Unix milliseconds.
    #[serde(default)]
    #[schema(required)]
    pub listed_at: Option<i64>,
    /// True if its user is logged in to it, as far as the Sandbridge server knows.
    #[serde(default)]
    #[schema(required)]
    pub logged_in: bool,
    /// The SHA-256 of all its changed tools and instructions together; null if no change waits to be accepted.
    #[serde(default)]
    #[schema(required)]
    pub changes: Option<String>,
}

/// The instructions of an MCP server, in its own words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpInstructions {
    /// The accepted text, as models get it.
    pub text: String,
    /// The changed text that waits to be accepted; models get neither until then. Null if it did not change.
    #[serde(default)]
    #[schema(required)]
    pub changed: Option<String>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpToolView {
    /// The name by which models call it: `mcp__SERVER__TOOL`.
    pub name: String,
    /// The tool's name on the server.
    pub tool: String,
    /// The first line of its description.
    #[serde(default)]
    #[schema(required)]
    pub description: String,
    /// Why it is not offered to models, although it was accepted; null if nothing is wrong with it.
    #[serde(default, serialize_with = "crate::language::text")]
    #[schema(required)]
    pub problem: Option<String>,
    /// Whether it is offered to models, or the reason why it is not.
    pub state: McpToolState,
    /// The tool's accepted definition, as indented JSON.
    pub definition: String,
    /// The changed definition that waits to be accepted, as indented JSON; null if it did not change.
    #[serde(default)]
    #[schema(required)]
    pub changed: Option<String>,
}

/// The definition of an MCP server, as an entry of `mcpServers` in `.mcp.json`: either a command or an address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpServerEntry {
    /// `stdio`, `http` or `sse`; inferred from the other fields if absent.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The program that is run on the user's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments. `${NAME}` and `${NAME:-default}` stand for variables of that machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables of the program's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The address of a server that is reached over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The runner from whose network it is reached, by its name; the server itself if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Headers of each request to that address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// How the Sandbridge server obtains tokens for a server with an address if the user does not log in.
    #[serde(default, deserialize_with = "oauth", skip_serializing_if = "Option::is_none")]
    pub oauth: Option<McpOAuth>,
    /// How long a call may take without a report of progress, in milliseconds; 5 minutes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
}

/// Client credentials. Other fields and other grant types are ignored.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpOAuth {
    /// The grant type: `client_credentials`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_type: Option<String>,
    /// The id that the server's provider issued for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The client's secret, if it has no private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The client's private key in PEM, which signs assertions (`private_key_jwt`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key: Option<String>,
    /// The algorithm of the assertions, such as `RS256`; if absent, one that fits the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_algorithm: Option<String>,
    /// The permissions to request, as a list or separated by spaces; if absent, those that the server lists.
    #[serde(default, alias = "scope", deserialize_with = "scopes", skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for McpOAuth {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "McpOAuth({:?}, …)", self.client_id)
    }
}

/// Reads the field `oauth`. Other programs write `false` for no login.
fn oauth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<McpOAuth>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Switch(bool),
        Client(McpOAuth),
    }
    match Option::<Form>::deserialize(deserializer)? {
        Some(Form::Client(client)) => Ok(Some(client)),
        Some(Form::Switch(true)) => Err(serde::de::Error::custom("`oauth` must be an object or false")),
        Some(Form::Switch(false)) | None => Ok(None),
    }
}

fn scopes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Words(String),
        List(Vec<String>),
    }
    Ok(match Form::deserialize(deserializer)? {
        Form::Words(words) => words.split_whitespace().map(str::to_owned).collect(),
        Form::List(list) => list,
    })
}

/// An approval of an MCP server of a workspace, or of changed tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpApproval {
    /// The hash of the server, or of the changed tools, that the user looked at.
    pub hash: String,
}

/// A request to begin a login to an MCP server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpLoginStart {
    /// The address to which the browser is sent back: one of this machine (`http://127.0.0.1:PORT/…`, `http://localhost:PORT/…`), or
    /// this server's own.
    pub redirect_uri: String,
    /// The client's id, if the server's provider issued one; otherwise a client is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The client's secret, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
}

/// A login that has begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpLogin {
    /// The page of the provider that the user opens in a browser, within 10 minutes.
    pub url: String,
}

/// A request to complete a login.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpLoginEnd {
    /// The complete address to which the provider sent the browser back.
    pub url: String,
}

/// The server that a completed login belongs to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct McpLoggedIn {
    /// The server's name.
    pub server: String,
}
