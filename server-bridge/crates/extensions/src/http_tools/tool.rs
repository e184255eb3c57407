//! A tool as models call it.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Call, Failure, Live, Outcome, Rules, Subject, ToolContext, visible};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::Inner;
use super::documents::Known;
use crate::schema;
use crate::search::Offered;

/// The digits of a document's hash that are part of what "always" covers.
const HASH_DIGITS: usize = 12;

/// A tool of a turn.
pub(super) struct Tool {
    inner: Arc<Inner>,
    known: Arc<Known>,
    name: String,
    description: String,
}

impl Tool {
    pub(super) fn new(inner: &Arc<Inner>, known: Known) -> Self {
        Self {
            inner: Arc::clone(inner),
            name: known.tool.wire_name(),
            // Invisible characters could tell a model something that its user does not see.
            description: visible::lines(known.tool.description()),
            known: Arc::new(known),
        }
    }

    /// The tool, with the words that find it.
    pub(super) fn offered(self) -> Offered {
        let names = format!("{} {}", self.known.tool.host(), self.known.tool.name());
        let arguments = self.known.tool.parameter_names().map(str::to_owned).collect();
        Offered { names, arguments, tool: Arc::new(self) }
    }
}

/// A request that only reads is treated like one for a web page: in `plan` mode the user is asked too, instead of a denial.
fn access(known: &Known) -> Access {
    if known.tool.only_reads() { Access::Web } else { Access::External }
}

impl agent::tool::Tool for Tool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        let mut schema = self.known.tool.schema().clone();
        schema::make_visible(&mut schema);
        schema
    }

    fn rules(&self) -> Rules {
        Rules::of(access(&self.known)).deferred().without_machine()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        // A request that cannot be sent fails at once, before anybody is asked.
        let shown = self.known.tool.render_shown(&arguments).map_err(|problem| problem.to_string())?;
        Ok(Box::new(HttpCall {
            inner: Arc::clone(&self.inner),
            known: Arc::clone(&self.known),
            request: format!("{} {}", shown.method, shown.url),
            hint: Value::Object(arguments.clone()).to_string(),
            arguments,
        }))
    }
}

struct HttpCall {
    inner: Arc<Inner>,
    known: Arc<Known>,
    /// The method and the address, with the names of secrets in their places.
    request: String,
    hint: String,
    arguments: Map<String, Value>,
}

impl Call for HttpCall {
    fn access(&self) -> Access {
        access(&self.known)
    }

    fn hint(&self) -> &str {
        &self.hint
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Request(self.known.tool.name(), self.known.tool.origin())
    }

    fn look<'a>(&'a self, _: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        let tool = &self.known.tool;
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        let (name, host, hash) = (tool.name(), tool.host_shown(), &self.known.hash);
        let of = if self.known.needs_approval() { " of the workspace" } else { "" };
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
            let name = self.known.tool.name();
            // It may have changed, been removed, or lost its approval since the turn began.
            let sandbox = match self.known.needs_approval() {
                true => Some(context.sandbox().await?),
                false => None,
            };
            let documents = self.inner.documents(context.user.id, sandbox.as_ref()).await;
            let documents = documents.map_err(|error| {
                tracing::error!(%error, "the HTTP tools of a user could not be loaded");
                Failure::Told(format!("the HTTP tool {name}: {}", error.shown()))
            })?;
            let is_it = |known: &&Known| known.is_ready() && known.hash == self.known.hash;
            let Some(known) = documents.named(name).filter(is_it) else {
                return Err(Failure::Told(format!(
                    "the HTTP tool {name} was changed or removed since this turn began, and nothing was sent; search for it again with \
                     the next message"
                )));
            };
            let told =
                self.inner.send(context.user, known, documents.mask(&known.tool), &self.arguments).await;
            let told = told.map_err(|why| Failure::Told(format!("the HTTP tool {name}: {why}")))?;
            Ok(Outcome { is_error: told.is_error, ..Outcome::done(told.text) })
        })
    }
}
