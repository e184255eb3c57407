//! The exact secrets that payloads of hooks must not show, in addition to what is recognised by its name or form.
//!
//! They are read once when a turn begins, and only if a hook may run: a call without hooks costs nothing, and a call with hooks costs no read. Known are
//! the tokens in the headers of `http` handlers, those of the user's own MCP servers and HTTP tools, the keys of the user's models, and the server's
//! own key of a model.
//!
//! Not known are the secrets of files on a machine, such as a workspace's `.mcp.json`, which commands there can read anyway; and tokens that change
//! or that another part of the server opens one at a time: those of logins to MCP servers and services, of accounts on messengers, and of triggers.

use hooks::Hooks;
use hooks::handler::Action;
use hooks::layers::Hook;
use hooks::payload::{Redactor, secret_in, token_in};
use store::UserId;

use super::Inner;
use crate::http_tools;
use crate::limits::HOOK_SECRETS;

impl Inner {
    /// A redactor for the payloads of these hooks.
    pub(super) async fn redactor(&self, user: UserId, hooks: &Hooks) -> store::Result<Redactor> {
        if hooks.all().is_empty() {
            return Ok(Redactor::default());
        }
        let of_hooks = hooks.all().iter().flat_map(tokens);
        let of_servers = self.mcp_servers.own_tokens(user).await?;
        let of_tools = http_tools::own_tokens(&self.store, user).await?;
        let of_models = self.store.subscription_keys(user).await?;
        let of_users = [of_models, of_servers, of_tools].concat();
        let all = self.secrets.iter().cloned().chain(of_users).chain(of_hooks);
        let tokens = all.filter_map(|secret| token_in(&secret).map(str::to_owned));
        Ok(Redactor::new(tokens.take(HOOK_SECRETS)))
    }
}

/// The tokens in the headers of a handler.
fn tokens(hook: &Hook) -> Vec<String> {
    let Action::Http { headers, .. } = &hook.handler.action else { return Vec::new() };
    headers.iter().filter_map(|(name, value)| secret_in(name, value)).map(str::to_owned).collect()
}
