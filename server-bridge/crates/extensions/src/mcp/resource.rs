//! `mcp_resource` of each server that has resources: listing them, reading one, and values for a template of their addresses.

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
        let complete =
            "The name of a variable of the URI template in `uri`: lists values for it, and reads nothing";
        let complete = json!({"type": "string", "description": complete});
        let begun = json!({"type": "string", "description": "With `complete`: the beginning of the value"});
        let properties = json!({"uri": uri, "watch": watch, "complete": complete, "begun": begun});
        json!({"type": "object", "properties": properties})
    }

    fn rules(&self) -> Rules {
        let rules = Rules::of(Access::Web).deferred();
        if self.server.is_program() { rules } else { rules.without_machine() }
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let text = |name: &str| match arguments.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("the arguments are invalid: `{name}` must be a string")),
        };
        let watches = match arguments.get("watch") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(watches)) => *watches,
            Some(_) => return Err("the arguments are invalid: `watch` must be true or false".to_owned()),
        };
        let (uri, begun) = (text("uri")?, text("begun")?.unwrap_or_default());
        let request = match (uri, text("complete")?) {
            (None, None) => ResourceRequest::List,
            (Some(uri), None) => ResourceRequest::Read { uri, watches },
            (Some(template), Some(variable)) => ResourceRequest::Complete { template, variable, begun },
            (None, Some(_)) => {
                return Err("the arguments are invalid: `complete` needs a URI template in `uri`".to_owned());
            }
        };
        let (inner, server) = (Arc::clone(&self.inner), Arc::clone(&self.server));
        Ok(Box::new(Look { inner, server, request }))
    }
}

/// What the model wants.
enum ResourceRequest {
    List,
    Read {
        uri: String,
        /// True if the model wants to know of changes.
        watches: bool,
    },
    Complete {
        template: String,
        variable: String,
        begun: String,
    },
}

struct Look {
    inner: Arc<Inner>,
    server: Arc<Server>,
    request: ResourceRequest,
}

impl Call for Look {
    fn access(&self) -> Access {
        Access::Web
    }

    fn hint(&self) -> &str {
        match &self.request {
            ResourceRequest::List => &self.server.name,
            ResourceRequest::Read { uri, .. } => uri,
            ResourceRequest::Complete { template, .. } => template,
        }
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(async move {
            let server = visible::line(&self.server.name);
            let looked = match &self.request {
                ResourceRequest::List => {
                    Looked::words(format!("lists the resources of the MCP server {server}"), Vec::new())
                }
                ResourceRequest::Read { uri, .. } => {
                    let effect = format!("reads a resource of the MCP server {server}");
                    Looked::words(effect, vec![part("resource", uri)])
                }
                ResourceRequest::Complete { template, variable, begun } => {
                    let effect = format!("lists values for resources of the MCP server {server}");
                    let asked = [("template", template), ("variable", variable), ("begun", begun)];
                    Looked::words(effect, asked.map(|(name, text)| part(name, text)).into())
                }
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
            let told = |why: String| Failure::Message(format!("the MCP server {}: {why}", self.server.name));
            let (_, _, connection) = connected(&self.inner, &self.server, context).await?;
            let patience = self.server.spec.patience;
            let (uri, watches) = match &self.request {
                ResourceRequest::List => {
                    let found = connection.resources(patience).await.map_err(told)?;
                    return Ok(content::listed(&found));
                }
                ResourceRequest::Complete { template, variable, begun } => {
                    let values =
                        connection.values(template, variable, begun, patience).await.map_err(told)?;
                    return Ok(content::suggested(&values));
                }
                ResourceRequest::Read { uri, watches } => (uri, *watches),
            };
            let mut listener = Asking::new(context, live, &self.server.name);
            if watches {
                connection.watch(uri, patience).await.map_err(told)?;
            }
            // A change during the read counts as one after it.
            connection.watched.seen(uri);
            let read = connection.resource(uri, patience, Some(&mut listener)).await.map_err(told)?;
            Ok(content::read(&read))
        })
    }
}
