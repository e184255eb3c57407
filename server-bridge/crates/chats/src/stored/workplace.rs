//! The machine that the router finds for a turn's work.

use futures_util::future::BoxFuture;
use sandbox::{RouteRequest, Sandbox};

use super::Stored;
use super::{asked, reminder, stale};
use agent::engine::{Asked, Workplace};
use agent::tool::Failure;
use execs::{self, sandbox_user};
use tools::Ported;

impl Stored {
    /// The route to the place of work; it is fixed when it is first needed.
    pub(super) async fn route_request(&self) -> store::Result<&RouteRequest> {
        let route_request = || execs::chat_route_request(&self.service.store, self.user.id, Some(&self.chat));
        self.route_request.get_or_try_init(route_request).await
    }
}

impl Workplace for Stored {
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>> {
        Box::pin(async {
            let route_request = self.route_request().await.ported()?;
            Ok(self.service.router.for_user(&sandbox_user(&self.user), route_request).await?)
        })
    }

    fn name(&self) -> Asked<'_, Option<String>> {
        asked(async {
            let route_request = self.route_request().await?;
            let place = self.service.router.check(&sandbox_user(&self.user), route_request).ok();
            Ok(place.map(|place| place.name().to_owned()))
        })
    }

    fn cwd(&self) -> Asked<'_, String> {
        asked(self.service.store.chat_cwd(self.user.id, &self.chat))
    }

    fn news(&self) -> Asked<'_, Option<String>> {
        Box::pin(async {
            let store = &self.service.store;
            // Without a machine, nothing can be checked, and the turn reports that anyway.
            match self.sandbox().await {
                Ok(sandbox) => stale::look(store, &sandbox, &self.root, &self.chat).await.ported()?,
                Err(Failure::Port(error)) => return Err(error),
                Err(_) => {}
            }
            let files = reminder::text(&store.stale_reads(&self.root, &self.chat).await.ported()?);
            let others = self.service.tools.news(&self.user, &self.root).await;
            let news: Vec<String> = files.into_iter().chain(others).collect();
            Ok((!news.is_empty()).then(|| news.join("\n\n")))
        })
    }
}
