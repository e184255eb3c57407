//! A tool as models call it.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Call, Failure, Live, Outcome, Rules, Subject, ToolContext, visible};
use futures_util::future::BoxFuture;
use http_tools::HttpTool;
use serde_json::{Map, Value};

use super::Inner;
use super::documents::Known;
use super::send::ToolResponse;
use crate::schema;
use crate::search::Offered;

/// The digits of a document's hash that identify the tool in an "always" approval.
const HASH_DIGITS: usize = 12;

/// A tool, and the rules for its calls.
pub(crate) struct Called {
    pub(crate) tool: Arc<HttpTool>,
    /// An "always" approval is valid as long as this hash stays the same.
    pub(crate) hash: String,
    pub(crate) access: Access,
    /// True if a workspace defines it.
    pub(crate) is_of_workspace: bool,
    /// The words, in addition to its own name, by which a search finds it.
    pub(crate) names: String,
}

/// Sends the requests of tools.
pub(crate) trait Sends: Send + Sync {
    /// Sends the request of a call, after looking up its secrets and everything that may have changed since the turn
    /// began.
    fn send<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        tool: &'a HttpTool,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolResponse, Failure>>;
}

/// A tool of a turn.
pub(crate) struct Tool {
    called: Arc<Called>,
    sender: Arc<dyn Sends>,
    name: String,
    description: String,
}

impl Tool {
    pub(crate) fn new(called: Called, sender: Arc<dyn Sends>) -> Self {
        Self {
            name: called.tool.wire_name(),
            // Invisible characters could give a model instructions that its user does not see.
            description: visible::lines(called.tool.description()),
            called: Arc::new(called),
            sender,
        }
    }

    /// The tool, with the words that find it.
    pub(crate) fn offered(self) -> Offered {
        let names = format!("{} {}", self.called.names, self.called.tool.name());
        let arguments = self.called.tool.parameter_names().map(str::to_owned).collect();
        Offered { names, arguments, tool: Arc::new(self) }
    }
}

/// The access that a request needs. One that only reads is treated like a request for a web page: in `plan` mode the user is asked,
/// and the call is not denied.
pub(crate) fn access(only_reads: bool) -> Access {
    if only_reads { Access::Web } else { Access::External }
}

impl agent::tool::Tool for Tool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        let mut schema = self.called.tool.schema().clone();
        schema::make_visible(&mut schema);
        schema
    }

    fn rules(&self) -> Rules {
        Rules::of(self.called.access).deferred().without_machine()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        // A request that cannot be sent fails at once, before the user is asked.
        let shown = self.called.tool.render_shown(&arguments).map_err(|problem| problem.to_string())?;
        Ok(Box::new(HttpCall {
            called: Arc::clone(&self.called),
            sender: Arc::clone(&self.sender),
            request: format!("{} {}", shown.method, shown.url),
            hint: Value::Object(arguments.clone()).to_string(),
            arguments,
        }))
    }
}

struct HttpCall {
    called: Arc<Called>,
    sender: Arc<dyn Sends>,
    /// The method and the address, with the names of secrets instead of their values.
    request: String,
    hint: String,
    arguments: Map<String, Value>,
}

impl Call for HttpCall {
    fn access(&self) -> Access {
        self.called.access
    }

    fn hint(&self) -> &str {
        &self.hint
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Request(self.called.tool.name(), self.called.tool.origin())
    }

    fn look<'a>(&'a self, _: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        let Called { tool, hash, is_of_workspace, .. } = &*self.called;
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        let (name, host) = (tool.name(), tool.host_shown());
        let of = if *is_of_workspace { " of the workspace" } else { "" };
        let effect = format!("sends a {} request to {host} with the HTTP tool {name}{of}", tool.method());
        let parts = vec![part("request", &self.request), part("arguments", &arguments)];
        let looked = Looked::words(effect, parts).always(
            &["http_tool", name, &hash[..HASH_DIGITS.min(hash.len())]],
            format!("every call of the HTTP tool {name}, which sends to {host}, in this chat"),
        );
        Box::pin(async { Ok(looked) })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        _: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let told = self.sender.send(context, &self.called.tool, &self.arguments).await?;
            Ok(Outcome { is_error: told.is_error, ..Outcome::done(told.text) })
        })
    }
}

/// The tool that a document defines.
pub(super) fn of_document(inner: &Arc<Inner>, known: Known) -> Tool {
    let called = Called {
        tool: Arc::clone(&known.tool),
        hash: known.hash.clone(),
        access: access(known.tool.only_reads()),
        is_of_workspace: known.needs_approval(),
        names: known.tool.host().to_owned(),
    };
    Tool::new(called, Arc::new(OfDocument { inner: Arc::clone(inner), known }))
}

/// Sends the requests of a tool that a document defines.
struct OfDocument {
    inner: Arc<Inner>,
    known: Known,
}

impl Sends for OfDocument {
    fn send<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        tool: &'a HttpTool,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolResponse, Failure>> {
        Box::pin(async move {
            let name = tool.name();
            // It may have changed, been removed, or lost its approval since the turn began.
            let sandbox = match self.known.needs_approval() {
                true => Some(context.sandbox().await?),
                false => None,
            };
            let documents = self.inner.documents(context.user.id, sandbox.as_ref()).await;
            let documents = documents.map_err(|error| {
                tracing::error!(%error, "the HTTP tools of a user could not be loaded");
                Failure::Message(format!("the HTTP tool {name}: {}", error.shown()))
            })?;
            let is_it = |known: &&Known| known.is_ready() && known.hash == self.known.hash;
            let Some(known) = documents.named(name).filter(is_it) else {
                return Err(Failure::Message(format!(
                    "the HTTP tool {name} was changed or removed since this turn began, and nothing was sent; search for it again with \
                     the next message"
                )));
            };
            let told = self.inner.send(context.user, known, documents.mask(&known.tool), arguments).await;
            told.map_err(|why| Failure::Message(format!("the HTTP tool {name}: {why}")))
        })
    }
}
