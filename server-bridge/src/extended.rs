//! Creates and registers everything that people add to agents. A new kind of extension is created here; no other module
//! refers to it.

use std::path::Path;
use std::sync::Arc;

use agent::tool::Typed;
use chats::ChatService;
use execs::Ledger;
use extensions::Notice;
use extensions::commands::TextCommands;
use extensions::custom_tools::CustomTools;
use extensions::hooks::callbacks::{Approval, Audit, Logging, Timing};
use extensions::hooks::{HookRunner, Used};
use extensions::http_tools::HttpTools;
use extensions::logs::Logs;
use extensions::manage_tools::ManageTools;
use extensions::mcp::McpServers;
use extensions::needs::MachineNeeds;
use extensions::plugins::Plugins;
use extensions::search::{DeferredTools, Offers};
use extensions::service_logins::ServiceLogins;
use extensions::skills::AlwaysSkills;
use extensions::trust::{Source, Trust, TrustNotice};
use extract::Extractor;
use knowledge::tools::{Read, Search};
use knowledge::{Knowledge, Machines};
use sandbox::SandboxRouter;
use store::Store;
use tokio_util::sync::CancellationToken;

/// The extensions of all users.
pub struct Extended {
    /// The hooks of turns.
    pub hooks: HookRunner,
    /// The MCP servers that offer tools.
    pub mcp_servers: McpServers,
    /// The HTTP tools of users.
    pub http_tools: HttpTools,
    /// The logins of users to the services of channels.
    pub service_logins: ServiceLogins,
    /// The custom tools of workspaces.
    pub custom_tools: CustomTools,
    /// The plugins that users installed.
    pub plugins: Plugins,
    /// The hooks, tools and servers that workspaces define, and their users' approvals.
    pub trust: Trust,
    /// The documents in which agents look things up.
    pub knowledge: Knowledge,
}

impl Extended {
    /// Creates the extensions for the turns of `chats`. Their requests may reach the public internet, and the `reachable` hosts at
    /// any address. The server's own `secrets` are shown to no hook and no model.
    pub(crate) fn new(
        chats: &ChatService,
        store: &Store,
        router: &SandboxRouter,
        home: &Path,
        reachable: &[String],
        secrets: Vec<String>,
    ) -> Self {
        let ledger = || chats.execs().clone();
        let (store, router, home) = (|| store.clone(), || router.clone(), || home.to_owned());
        let plugins = Plugins::new(ledger(), store(), reachable);
        chats.library().put(plugins.clone());
        chats.library().set_needs(MachineNeeds::new(ledger()));
        let mcp_servers = McpServers::new(ledger(), store(), router(), home(), reachable, plugins.clone());
        let used = Used {
            plugins: plugins.clone(),
            mcp_servers: mcp_servers.clone(),
            judge: Arc::new(chats.clone()),
            secrets: secrets.clone(),
        };
        let hooks = HookRunner::new(ledger(), store(), router(), home(), reachable, notices(chats), used);
        chats.hooks().put(hooks.clone());
        hooks.callbacks().put(Approval);
        hooks.callbacks().put(Audit::new(store()));
        hooks.callbacks().put(Logging);
        hooks.callbacks().put(Timing);
        chats.commands().add(mcp_servers.clone());
        chats.commands().add(TextCommands::new(store(), router(), plugins.clone()));
        let http_tools = HttpTools::new(ledger(), store(), router(), home(), reachable);
        let service_logins = ServiceLogins::new(store(), http_tools.clone(), reachable);
        let deferred: Vec<Arc<dyn Offers>> = vec![
            Arc::new(mcp_servers.clone()),
            Arc::new(service_logins.clone()),
            Arc::new(http_tools.clone()),
        ];
        chats.tools().add_source(DeferredTools::new(deferred));
        chats.tools().put(ManageTools::new(mcp_servers.clone(), http_tools.clone()));
        chats.tools().add_source(Logs::new(Arc::new(crate::log_ring::lines), secrets));
        let custom_tools = CustomTools::new(ledger(), store(), router());
        chats.tools().add_source(custom_tools.clone());
        let always_skills = AlwaysSkills::new(store());
        chats.prompt().put(always_skills.clone());
        let approvable: Vec<Arc<dyn Source>> = vec![
            Arc::new(hooks.clone()),
            Arc::new(mcp_servers.clone()),
            Arc::new(http_tools.clone()),
            Arc::new(custom_tools.clone()),
            Arc::new(always_skills),
        ];
        let trust = Trust::new(store(), ledger(), approvable);
        chats.set_trusts(Arc::new(trust.clone()));
        chats.hooks().put(TrustNotice::new(trust.clone(), router(), notices(chats)));
        let knowledge =
            Knowledge::new(store(), Extractor::default(), machines(ledger(), store()), chats.embedders());
        chats.tools().put(Typed::<Search>::new(knowledge.clone()));
        chats.tools().put(Typed::<Read>::new(knowledge.clone()));
        chats.prompt().put(knowledge.clone());
        Self { hooks, mcp_servers, http_tools, service_logins, custom_tools, plugins, trust, knowledge }
    }

    /// Indexes and embeds documents, and embeds memories, until `shutdown`.
    pub(crate) async fn index(&self, chats: &ChatService, shutdown: CancellationToken) {
        tokio::join!(self.knowledge.run(shutdown.clone()), chats.embed_memories(shutdown));
    }

    /// Ends all running extensions, and waits until the end of each is recorded.
    pub(crate) async fn shutdown(&self) {
        tokio::join!(
            self.hooks.shutdown(),
            self.mcp_servers.shutdown(),
            self.service_logins.shutdown(),
            self.custom_tools.shutdown()
        );
    }
}

/// Shows notices of extensions in chats.
fn notices(chats: &ChatService) -> Notice {
    let chats = chats.clone();
    Arc::new(move |user, chat, text| {
        let chats = chats.clone();
        Box::pin(async move { chats.notice(user, &chat, &text).await })
    })
}

/// Provides the sandboxes of runners for the folders of collections.
fn machines(ledger: Ledger, store: Store) -> Machines {
    Arc::new(move |user, place| {
        let (ledger, store) = (ledger.clone(), store.clone());
        Box::pin(async move {
            let user = store.user_by_id(user).await.map_err(|error| error.shown())?;
            let user = user.ok_or_else(|| "its owner's account was removed".to_owned())?;
            ledger.sandbox(&user, Some(&place)).await.map_err(|error| error.message())
        })
    })
}
