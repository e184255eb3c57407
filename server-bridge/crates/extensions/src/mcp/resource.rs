//! `mcp_resource`: what servers offer to read besides tools.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Call, Failure, Live, Outcome, Rules, Tool, ToolContext};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::servers::Server;
use super::tool::Asking;
use super::{Inner, Owner, content};

/// The tool that lists and reads resources of servers.
pub(super) struct McpResource {
    inner: Arc<Inner>,
    servers: Arc<[Arc<Server>]>,
    description: String,
}

impl McpResource {
    /// The tool for these servers.
    pub(super) fn new(inner: &Arc<Inner>, servers: Vec<Arc<Server>>) -> Self {
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        let description = format!(
            "Lists the resources of an MCP server, or reads one by its URI. Servers with resources: {}.",
            names.join(", ")
        );
        Self { inner: Arc::clone(inner), servers: servers.into(), description }
    }
}

impl Tool for McpResource {
    fn name(&self) -> &str {
        "mcp_resource"
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "server": {"type": "string", "description": "The server's name"},
                "uri": {"type": "string", "description": "The resource to read; absent to list them"},
            },
            "required": ["server"],
        })
    }

    fn rules(&self) -> Rules {
        Rules::of(Access::Web).without_machine()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let names = || self.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some(server) = self.servers.iter().find(|server| Some(server.name.as_str()) == text("server"))
        else {
            return Err(format!("`server` must be one of: {}", names()));
        };
        Ok(Box::new(Read {
            inner: Arc::clone(&self.inner),
            server: Arc::clone(server),
            uri: text("uri").map(str::to_owned),
        }))
    }
}

struct Read {
    inner: Arc<Inner>,
    server: Arc<Server>,
    uri: Option<String>,
}

impl Call for Read {
    fn access(&self) -> Access {
        Access::Web
    }

    fn hint(&self) -> &str {
        self.uri.as_deref().unwrap_or(&self.server.name)
    }

    fn look<'a>(&'a self, _: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(async {
            let server = &self.server.name;
            Ok(match &self.uri {
                Some(uri) => Looked::words(
                    format!("reads a resource of the MCP server {server}"),
                    vec![part("resource", uri)],
                ),
                None => Looked::words(format!("lists the resources of the MCP server {server}"), Vec::new()),
            }
            .always(&[server], format!("reading every resource of the MCP server {server}, in this chat")))
        })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let told = |why: String| Failure::Told(format!("the MCP server {}: {why}", self.server.name));
            let owner = Owner { user: context.user.clone(), chat: Some(context.agent()?.root.clone()) };
            let sandbox = match self.server.is_program() {
                true => Some(context.sandbox().await?),
                false => None,
            };
            let connection =
                self.inner.connection(&owner, &self.server, sandbox.as_ref()).await.map_err(told)?;
            let patience = self.server.spec.patience;
            let Some(uri) = &self.uri else {
                let resources = connection.resources(patience).await.map_err(told)?;
                return Ok(content::listed(&resources));
            };
            let mut listener = Asking { context, live, server: &self.server.name };
            let read = connection.resource(uri, patience, Some(&mut listener)).await.map_err(told)?;
            Ok(content::read(&read))
        })
    }
}
