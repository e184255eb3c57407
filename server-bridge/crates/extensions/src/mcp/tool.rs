//! A tool of a server, as models call it.

use std::sync::Arc;

use agent::approval::Access;
use agent::tool::look::{Ground, Looked, part};
use agent::tool::{
    Beside, Call, Failure, Live, Outcome, Question, Rules, Subject, Tool, ToolContext, visible,
};
use futures_util::future::BoxFuture;
use rmcp::model::{ElicitResult, ElicitationAction};
use sandbox::Sandbox;
use serde_json::{Map, Value};

use super::connection::{Connection, Event, Listener, Refused};
use super::elicit::{self, Asker};
use super::listing::Definition;
use super::login::Who;
use super::servers::Server;
use super::{Inner, Owner, content, names, sample, skill};
use crate::search::Offered;

/// The digits of a definition's hash that identify the tool in an "always" approval.
const HASH_DIGITS: usize = 12;

/// A tool of a server.
pub(super) struct McpTool {
    inner: Arc<Inner>,
    server: Arc<Server>,
    name: String,
    /// The parts of the name before it was cut, for rules.
    parts: Arc<(String, String)>,
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
            parts: Arc::new(names::parts(&server.name, &definition.name)),
            // Invisible characters could give a model instructions that its user does not see.
            description: visible::lines(&about),
            definition: Arc::new(definition),
        }
    }

    /// The tool, with the words that find it.
    pub(super) fn offered(self) -> Offered {
        let Definition { name, title, schema, .. } = &*self.definition;
        let names = format!("{} {name} {title}", self.server.name);
        let arguments = schema.get("properties").and_then(Value::as_object);
        let arguments = arguments.into_iter().flat_map(|fields| fields.keys().cloned()).collect();
        Offered { names, arguments, tool: Arc::new(self) }
    }

    /// A server's description of a tool is only a hint: the user is asked even about a tool that only reads, but in
    /// `plan` mode such a tool is not denied.
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
        // One call at a time: a server's question does not name the call that it is about.
        let rules = rules.beside(Beside::Nothing);
        if self.server.is_program() { rules } else { rules.without_machine() }
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
                "the arguments lack {}; the tool's schema is {}",
                missing.join(", "),
                self.parameters()
            ));
        }
        Ok(Box::new(McpCall {
            inner: Arc::clone(&self.inner),
            server: Arc::clone(&self.server),
            definition: Arc::clone(&self.definition),
            parts: Arc::clone(&self.parts),
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
    parts: Arc<(String, String)>,
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

    fn subject(&self) -> Subject<'_> {
        Subject::External(&self.parts.0, &self.parts.1)
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        let (server, tool) = (visible::line(&self.server.name), visible::line(&self.definition.name));
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        let effect = match &self.definition.skill {
            Some(skill) => {
                format!("reads the skill {} of the MCP server {server}", visible::line(skill.name()))
            }
            None => format!("calls the tool {tool} of the MCP server {server}"),
        };
        let looked = Looked::words(effect, vec![part("arguments", &arguments)])
            .at(ground.filter(|_| self.server.is_program()))
            .always(
                &allowed(&self.server, &self.definition.name),
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
            let told = |why: String| Failure::Message(format!("the MCP server {}: {why}", self.server.name));
            let (owner, sandbox, connection) = connected(&self.inner, &self.server, context).await?;
            let place = sandbox.as_ref().map(|sandbox| sandbox.place());
            self.inner
                .check_tool(&owner, &self.server, place, &connection, &self.definition)
                .await
                .map_err(told)?;
            let mut listener = Asking::new(context, live, &self.server.name);
            let (tool, patience) = (&self.definition.name, self.server.spec.patience);
            if let Some(skill) = &self.definition.skill {
                let uri = skill::address(skill, &self.arguments).map_err(told)?;
                let read = connection.resource(&uri, patience, Some(&mut listener)).await.map_err(told)?;
                return skill::loaded(skill, &uri, &read).map_err(told);
            }
            let called = connection.call(tool, self.arguments.clone(), patience, Some(&mut listener)).await;
            if let Some(challenge) = connection.take_challenge() {
                self.inner.logins.challenged(&Who::of(owner.user.id, &self.server), &challenge);
            }
            called.map(content::outcome).map_err(told)
        })
    }
}

/// The connection for a call: its owner, its machine if it has one, and the connection.
pub(super) async fn connected(
    inner: &Arc<Inner>,
    server: &Arc<Server>,
    context: &ToolContext<'_>,
) -> Result<(Owner, Option<Sandbox>, Arc<Connection>), Failure> {
    let owner = Owner { user: context.user.clone(), chat: Some(context.agent()?.root.clone()) };
    let sandbox = match server.is_program() {
        true => Some(context.sandbox().await?),
        false => None,
    };
    let connection = inner.connection(&owner, server, sandbox.as_ref()).await;
    let told =
        |refused: Refused| Failure::Message(format!("the MCP server {}: {}", server.name, refused.why));
    Ok((owner, sandbox, connection.map_err(told)?))
}

/// The scope of an "always" approval: a tool of the server's current definition only.
pub(super) fn allowed<'a>(server: &'a Server, tool: &'a str) -> [&'a str; 3] {
    [&server.name, tool, &server.hash[..HASH_DIGITS.min(server.hash.len())]]
}

/// Shows progress and a server's questions to the user, in the chat of the call.
pub(super) struct Asking<'a, 'c> {
    context: &'a ToolContext<'c>,
    live: Live<'a>,
    server: &'a str,
    /// True once the user has allowed all requests of the server to the model during this call.
    is_allowed: bool,
}

impl<'a, 'c> Asking<'a, 'c> {
    pub(super) fn new(context: &'a ToolContext<'c>, live: Live<'a>, server: &'a str) -> Self {
        Self { context, live, server, is_allowed: false }
    }

    /// True if the call belongs to a chat that the user sees: not to a sub-agent's chat, and not to a program's call without a chat.
    fn has_user(&self) -> bool {
        self.context.agent().is_ok_and(|turn| turn.chat == turn.root)
    }
}

impl Listener for Asking<'_, '_> {
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match event {
                Event::Progress(text) => (self.live)(&visible::lines(&text)),
                Event::Asks(_, answer) if !self.has_user() => {
                    let _ = answer.send(ElicitResult::new(ElicitationAction::Cancel));
                }
                Event::Samples(_, answer) if !self.has_user() => {
                    let _ = answer.send(Err(sample::refused("no user can be asked")));
                }
                Event::Samples(request, answer) => {
                    let (asker, host) = (InChat(self.context), self.context.host);
                    let answered = sample::answer(&asker, host, self.server, *request, &mut self.is_allowed);
                    let _ = answer.send(answered.await);
                }
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
    async fn ask(&self, question: &Question) -> Option<String> {
        self.0.host.ask(question).await.ok().flatten()
    }
}
