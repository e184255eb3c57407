//! A tool of a server, as models call it.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{Beside, Call, Failure, Live, Outcome, Rules, Tool, ToolContext, visible};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::connection::{Event, Listener};
use super::elicit::{self, Asker};
use super::listing::Definition;
use super::servers::Server;
use super::{Inner, Owner, content, names};

/// How much of a hash tells definitions apart in what a user allows for good, in digits.
const HASH_DIGITS: usize = 12;

/// A tool of a server.
pub(super) struct McpTool {
    inner: Arc<Inner>,
    server: Arc<Server>,
    name: String,
    description: String,
    definition: Arc<Definition>,
}

impl McpTool {
    pub(super) fn new(inner: &Arc<Inner>, server: &Arc<Server>, definition: Definition) -> Self {
        let about = [&definition.description, &definition.title, &definition.name];
        let about = about.into_iter().find(|text| !text.trim().is_empty()).cloned().unwrap_or_default();
        Self {
            inner: Arc::clone(inner),
            server: Arc::clone(server),
            name: names::wire(&server.name, &definition.name),
            // Characters that people cannot see could tell a model something behind their backs.
            description: visible::lines(&about),
            definition: Arc::new(definition),
        }
    }

    /// The server's name.
    pub(super) fn server(&self) -> &str {
        &self.server.name
    }

    /// Its definition.
    pub(super) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// What a server says about a tool is a hint: one that only reads is asked about all the same, but in `plan` mode as well.
    fn access(&self) -> Access {
        if self.definition.says_it_only_reads() { Access::Web } else { Access::External }
    }
}

impl Tool for McpTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        self.definition.parameters()
    }

    fn rules(&self) -> Rules {
        let rules = Rules::of(self.access()).deferred();
        let rules = if self.server.is_program() { rules } else { rules.without_machine() };
        if self.definition.says_it_only_reads() { rules.beside(Beside::Readers) } else { rules }
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let required = self.definition.schema.get("required").and_then(Value::as_array);
        let missing: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !arguments.contains_key(*name))
            .collect();
        if !missing.is_empty() {
            return Err(format!(
                "the arguments lack {}; its schema is {}",
                missing.join(", "),
                self.parameters()
            ));
        }
        Ok(Box::new(McpCall {
            inner: Arc::clone(&self.inner),
            server: Arc::clone(&self.server),
            definition: Arc::clone(&self.definition),
            access: self.access(),
            hint: Value::Object(arguments.clone()).to_string(),
            arguments,
        }))
    }
}

struct McpCall {
    inner: Arc<Inner>,
    server: Arc<Server>,
    definition: Arc<Definition>,
    access: Access,
    hint: String,
    arguments: Map<String, Value>,
}

impl Call for McpCall {
    fn access(&self) -> Access {
        self.access
    }

    fn hint(&self) -> &str {
        &self.hint
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        let (server, tool) = (visible::line(&self.server.name), visible::line(&self.definition.name));
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        let effect = format!("calls the tool {tool} of the MCP server {server}");
        let looked = Looked::words(effect, vec![part("arguments", &arguments)])
            .at(ground.filter(|_| self.server.is_program()))
            // Of what runs today: another definition is asked about again.
            .always(
                &[&server, &tool, &self.server.hash[..HASH_DIGITS.min(self.server.hash.len())]],
                format!("every call of the tool {tool} of the MCP server {server}, in this chat"),
            );
        Box::pin(async { Ok(looked) })
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
            let place = sandbox.as_ref().map(|sandbox| sandbox.place());
            self.inner
                .check_tool(&owner, &self.server, place, &connection, &self.definition)
                .await
                .map_err(told)?;
            let mut listener = Asking { context, live, server: &self.server.name };
            let (tool, patience) = (&self.definition.name, self.server.spec.patience);
            let called = connection.call(tool, self.arguments.clone(), patience, Some(&mut listener)).await;
            called.map(content::outcome).map_err(told)
        })
    }
}

/// Shows progress, and asks the user what a server asks, in the chat of the call.
pub(super) struct Asking<'a, 'c> {
    pub(super) context: &'a ToolContext<'c>,
    pub(super) live: Live<'a>,
    pub(super) server: &'a str,
}

impl Listener for Asking<'_, '_> {
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match event {
                Event::Progress(text) => (self.live)(&visible::lines(&text)),
                Event::Asks(request, answer) => {
                    let asker = InChat(self.context);
                    let _ = answer.send(elicit::ask(&asker, self.server, &request).await);
                }
            }
        })
    }
}

struct InChat<'a, 'c>(&'a ToolContext<'c>);

impl Asker for InChat<'_, '_> {
    async fn ask(&self, question: &str, options: &[String]) -> Option<String> {
        self.0.host.ask(question, options).await.ok().flatten()
    }
}
