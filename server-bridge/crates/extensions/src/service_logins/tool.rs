//! The tools of users who are logged in.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::tool::{Failure, ToolCaller, ToolContext};
use futures_util::future::BoxFuture;
use http_tools::{HttpTool, feishu as declared};
use serde_json::{Map, Value};
use store::{ChatId, User};

use super::app::App;
use super::{Inner, SERVICE, feishu, grants};
use crate::http_tools::send::ToolResponse;
use crate::http_tools::tool::{Called, Sends, Tool, access};
use crate::search::Offer;

impl Inner {
    /// The tools for a new turn.
    pub(super) async fn offer(self: &Arc<Self>, user: &User, chat: &ChatId) -> store::Result<Offer> {
        let Some((app, grant)) = self.granted(user.id).await? else { return Ok(Offer::default()) };
        if self.store.group_agent_in(chat).await?.is_some() {
            return Ok(Offer::default());
        }
        let services = vec![SERVICE.to_owned()];
        if grant.is_over(self.store.now_ms()) {
            return Ok(Offer {
                services,
                missing: vec![(SERVICE.to_owned(), grants::ended(&app))],
                ..Offer::default()
            });
        }
        let sender: Arc<OfUser> = Arc::new(OfUser { inner: Arc::clone(self), app });
        let tools = declared::documents(&sender.app.domain).into_iter().filter_map(|(name, document)| {
            // The channel's address is not permitted for a tool. The user's other tools are still offered.
            let tool = HttpTool::parse(&document).ok()?;
            let called = Called {
                access: access(declared::only_reads(name)),
                tool: Arc::new(tool),
                hash: sender.app.hash(),
                is_of_workspace: false,
                names: format!("{SERVICE} Lark {}", name.replace('.', " ")),
            };
            Some(Tool::new(called, Arc::<OfUser>::clone(&sender)).offered())
        });
        Ok(Offer { services, tools: tools.collect(), ..Offer::default() })
    }
}

/// Sends the requests of tools with the token of the user whose agent calls them.
struct OfUser {
    inner: Arc<Inner>,
    /// The app that the user was logged in with when the turn began.
    app: App,
}

impl Sends for OfUser {
    fn send<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        tool: &'a HttpTool,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolResponse, Failure>> {
        Box::pin(async move {
            let told = self.answer(context, tool, arguments).await;
            told.map_err(|why| Failure::Message(format!("the HTTP tool {}: {why}", tool.name())))
        })
    }
}

impl OfUser {
    async fn answer(
        &self,
        context: &ToolContext<'_>,
        tool: &HttpTool,
        arguments: &Map<String, Value>,
    ) -> Result<ToolResponse, String> {
        let (inner, user) = (&self.inner, context.user);
        if let ToolCaller::Agent(turn) = &context.caller
            && inner.store.group_agent_in(turn.root).await.map_err(|error| grants::words(&error))?.is_some()
        {
            return Err("agents of groups cannot use a person's login".to_owned());
        }
        // The user may have logged out, or lost the channel, since the turn began.
        let granted = inner.granted(user.id).await.map_err(|error| grants::words(&error))?;
        if granted.is_none_or(|(app, _)| app.hash() != self.app.hash()) {
            return Err(grants::ended(&self.app));
        }
        let mut stale = None;
        loop {
            let access = inner.access(user, &self.app, stale.clone()).await?;
            let secrets = BTreeMap::from([(declared::TOKEN.to_owned(), access.token.clone())]);
            let answered = inner.http_tools.answered(user, tool, &secrets, &access.mask, arguments).await?;
            // Feishu refuses a stale token before it does anything, so the call can be sent again.
            if feishu::is_stale(&answered.content) && stale.is_none() {
                stale = Some(access.token);
                continue;
            }
            let is_failure = feishu::is_failure(&answered.content);
            let told = inner.http_tools.told(tool, answered, access.mask).await?;
            return Ok(ToolResponse { is_error: told.is_error || is_failure, ..told });
        }
    }
}
