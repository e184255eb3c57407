//! Tests automations with a real store, real chats and a scripted model, on a clock that the test sets.

mod slots;
mod zones;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chats::models::{Provider, Subscription, Tier, TierModel};
use chats::{ChatService, ModelsConfig};
use sandbox::{RouterConfig, SandboxRouter};
use store::{Clock, Store};
use tempfile::TempDir;
use tests::{Habits, Reply, ScriptedModel};
use tokio::runtime::{Builder, Runtime};
use tools::internet::Internet;

use crate::Automations;

/// Everything that outlives a server, and the clock of all servers.
struct World {
    model: ScriptedModel,
    now_ms: Arc<AtomicI64>,
    /// The directory of the database.
    home: TempDir,
}

/// The services of a running server.
struct Running {
    store: Store,
    chats: ChatService,
    automations: Automations,
}

impl World {
    fn new(now_ms: i64) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = TempDir::with_prefix("sandbridge-automation-").unwrap();
        let habits = Habits { remembers: false, counts: false, pauses: false };
        let model = ScriptedModel::start_with(habits, |_| Reply::Say("done".to_owned()));
        Self { model, now_ms: Arc::new(AtomicI64::new(now_ms)), home }
    }

    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    fn set_clock(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// The machine on which a server runs. When it is dropped, all tasks of the server end where they are, as if the server was killed.
    fn machine() -> Runtime {
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    }

    /// The database, on the clock of the servers.
    async fn store(&self) -> Store {
        let store = Store::open(&self.home.path().join("sandbridge.db")).await;
        let now_ms = Arc::clone(&self.now_ms);
        store.unwrap().with_clock(Clock::from_fn(move || now_ms.load(Ordering::SeqCst)))
    }

    /// Starts a server, in the order in which the server's program starts.
    async fn serve(&self) -> Running {
        let store = self.store().await;
        let balance = TierModel { name: "scripted".to_owned(), ..TierModel::default() };
        let subscription = Subscription {
            provider: Provider::OpenAi,
            base_url: Some(self.model.url().to_owned()),
            runner: None,
            models: BTreeMap::from([(Tier::Balance, balance)]),
            default_tier: None,
            fallback: None,
        };
        let mut models = ModelsConfig { server: Some((subscription, None)), ..ModelsConfig::default() };
        models.patience.pause = Duration::from_millis(1);
        let router = SandboxRouter::new(RouterConfig::default());
        let chats = ChatService::new(store.clone(), router, models, Internet::default());
        let automations = Automations::new(&chats, &store);
        chats.hooks().put(automations.clone());
        chats.recover().await.unwrap();
        automations.start();
        Running { store, chats, automations }
    }
}

impl Running {
    /// Returns once all due slots are on record, all due runs are posted, and all turns have ended.
    async fn settle(&self) {
        loop {
            let is_at_rest = self.store.due_jobs(self.store.now_ms(), 1).await.unwrap().is_empty()
                && self.store.due_runs(0, 1).await.unwrap().is_empty()
                && self.chats.chats_at_work() == 0;
            if is_at_rest {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
