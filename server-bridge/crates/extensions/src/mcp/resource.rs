//! `mcp_resource` of each server that has resources: lists them, or reads one.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Call, Failure, Live, Outcome, Rules, Tool, ToolContext, visible};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::servers::Server;
use super::tool::{Asking, allowed, connected};
use super::{Inner, content, names};
use crate::search::Offered;

/// The name of the tool, formed as if it were one of the server's own, so that rules about the server apply to it too.
const NAME: &str = "mcp_resource";

/// The tool that lists and reads the resources of a server.
pub(super) struct McpResource {
    inner: Arc<Inner>,
    server: Arc<Server>,
    name: String,
    description: String,
}

impl McpResource {
    pub(super) fn new(inner: &Arc<Inner>, server: &Arc<Server>) -> Self {
        let shown = visible::line(&server.name);
        Self {
            inner: Arc::clone(inner),
            server: Arc::clone(server),
            name: names::wire(&server.name, NAME),
            description: format!("Lists the resources of the MCP server {shown}, or reads one by its URI."),
        }
    }

    /// The tool, with the words that find it.
    pub(super) fn offered(self) -> Offered {
        let names = format!("{} resources", self.server.name);
        Offered { names, arguments: Vec::new(), tool: Arc::new(self) }
    }
}

impl Tool for McpResource {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        let uri = json!({"type": "string", "description": "The resource to read; absent to list them"});
        let watch = "True to be notified when the resource changes after this reading";
        let watch = json!({"type": "boolean", "description": watch});
        json!({"type": "object", "properties": {"uri": uri, "watch": watch}})
    }

    fn rules(&self) -> Rules {
        let rules = Rules::of(Access::Web).deferred();
        if self.server.is_program() { rules } else { rules.without_machine() }
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let uri = match arguments.get("uri") {
            None | Some(Value::Null) => None,
            Some(Value::String(uri)) => Some(uri.clone()),
            Some(_) => return Err("the arguments are invalid: `uri` must be a string".to_owned()),
        };
        let watches = match arguments.get("watch") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(watches)) => *watches && uri.is_some(),
            Some(_) => return Err("the arguments are invalid: `watch` must be true or false".to_owned()),
        };
        let (inner, server) = (Arc::clone(&self.inner), Arc::clone(&self.server));
        Ok(Box::new(Read { inner, server, uri, watches }))
    }
}

struct Read {
    inner: Arc<Inner>,
    server: Arc<Server>,
    uri: Option<String>,
    /// True if the model is to be notified of changes.
    watches: bool,
}

impl Call for Read {
    fn access(&self) -> Access {
        Access::Web
    }

    fn hint(&self) -> &str {
        self.uri.as_deref().unwrap_or(&self.server.name)
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(async move {
            let server = visible::line(&self.server.name);
            let looked = match &self.uri {
                Some(uri) => {
                    let effect = format!("reads a resource of the MCP server {server}");
                    Looked::words(effect, vec![part("resource", uri)])
                }
                None => Looked::words(format!("lists the resources of the MCP server {server}"), Vec::new()),
            };
            let always = format!("reading every resource of the MCP server {server}, in this chat");
            Ok(looked
                .at(ground.filter(|_| self.server.is_program()))
                .always(&allowed(&self.server, NAME), always))
        })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let told = |why: String| Failure::Told(format!("the MCP server {}: {why}", self.server.name));
            let (_, _, connection) = connected(&self.inner, &self.server, context).await?;
            let patience = self.server.spec.patience;
            let Some(uri) = &self.uri else {
                let resources = connection.resources(patience).await.map_err(told)?;
                return Ok(content::listed(&resources));
            };
            let mut listener = Asking::new(context, live, &self.server.name);
            if self.watches {
                connection.watch(uri, patience).await.map_err(told)?;
            }
            // A change during the read counts as one after it.
            connection.watched.seen(uri);
            let read = connection.resource(uri, patience, Some(&mut listener)).await.map_err(told)?;
            Ok(content::read(&read))
        })
    }
}
