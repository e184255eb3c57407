//! Calls of tools by hooks: without a model, and without asking a user. And the tokens that hooks must not see.

use std::time::Duration;

use api::mcp::McpServerEntry;
use hooks::payload::{secret_in, token_in};
use serde_json::{Map, Value};
use store::{ChatId, User, UserId};

use super::{McpServers, Owner, content, unread};

impl McpServers {
    /// The tokens in the definitions of a user's own servers.
    pub(crate) async fn own_tokens(&self, user: UserId) -> store::Result<Vec<String>> {
        let entries = self.0.own(user).await?.into_iter().filter_map(|(_, entry)| entry.ok());
        let tokens = |entry: McpServerEntry| {
            let named = entry.env.iter().chain(&entry.headers);
            let named = named.filter_map(|(name, value)| secret_in(name, value));
            let client = entry.oauth.as_ref().and_then(|client| token_in(client.client_secret.as_deref()?));
            named.chain(client).map(str::to_owned).collect::<Vec<_>>()
        };
        Ok(entries.flat_map(tokens).collect())
    }

    /// Calls a tool of a server that the user can use in a chat; returns the text of the answer, and true if it reports an error.
    /// Questions of the server during the call are declined.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn call_by_hook(
        &self,
        user: &User,
        chat: &ChatId,
        (server, tool): (&str, &str),
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Result<(String, bool), String> {
        let inner = &self.0;
        let (sandbox, ready) = inner.ready(user, Some(chat)).await.map_err(unread)?;
        let Some(server) = ready.into_iter().find(|known| known.name == server) else {
            return Err(format!("there is no MCP server {server:?} that can be used here"));
        };
        let owner = Owner { user: user.clone(), chat: Some(chat.clone()) };
        let sandbox = sandbox.filter(|_| server.is_program());
        let connection =
            inner.connection(&owner, &server, sandbox.as_ref()).await.map_err(|refused| refused.why)?;
        let place = sandbox.as_ref().map(sandbox::Sandbox::place);
        let listing = inner.listed(&owner, &server, place, &connection).await?;
        let known = listing.tools.iter().find(|known| known.accepted.name == tool);
        let Some(known) = known.filter(|known| known.is_offered()) else {
            return Err(format!(
                "the MCP server {:?} has no tool {tool:?}, or the tool changed and waits for your approval",
                server.name
            ));
        };
        if inner.is_plan(&owner).await? && !known.accepted.says_it_only_reads() {
            return Err(format!(
                "in plan mode, {tool:?} is not called: its server does not declare it as read-only"
            ));
        }
        let called = connection.call(tool, arguments, patience.min(server.spec.patience), None).await?;
        let outcome = content::outcome(called);
        Ok((outcome.text, outcome.is_error))
    }
}
