//! Tests channels with a scripted model, and a messenger in this process that can fail in every way.

mod asks;
mod bound;
mod cards;
mod delivery;
mod drafts;
mod gates;
mod limits;
mod message;
mod messenger;
mod notices;
mod outages;
mod people;
mod settings;
mod strangers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use api::channel::ChannelPut;
use chats::models::{Provider, Subscription, Tier, TierModel};
use chats::{ChatService, ModelsConfig};
use guard::Reach;
use sandbox::{RouterConfig, SandboxRouter};
use store::{Clock, Name, Store, User};
use tests::{Reply, ScriptedModel};
use tools::internet::Internet;

use crate::limits::DRAFT_AFTER;
use crate::{Channels, Surroundings};
use messenger::{KINDS, Messenger};

/// The deadline for each wait in these tests.
const DEADLINE: Duration = Duration::from_secs(60);

/// The time limit for storing the files of one message.
const MEDIA_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until `look` finds something.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, looking).await.unwrap_or_else(|_| panic!("{what}: not in time"))
}

/// A model that repeats what the user said.
fn echo() -> ScriptedModel {
    ScriptedModel::start(|asked| Reply::Say(format!("echo: {}", asked.last_of_user())))
}

/// The services and settings of the server other than its chats.
fn around() -> Surroundings {
    Surroundings {
        kinds: KINDS,
        reach: Reach::Anywhere,
        public_url: Some("https://sandbridge.example".to_owned()),
        media_timeout: MEDIA_TIMEOUT,
        watch: notices::watch(),
        draft_after: DRAFT_AFTER,
    }
}

/// A server with an administrator, a user, and an account on a messenger, which the administrator shares.
struct World {
    store: Store,
    chats: ChatService,
    channels: Channels,
    messenger: Arc<Messenger>,
    root: User,
    ada: User,
    around: Surroundings,
    /// How far the server's clock is ahead of the machine's, in milliseconds.
    ahead_ms: Arc<AtomicI64>,
    _model: Arc<ScriptedModel>,
}

impl World {
    async fn new(model: ScriptedModel, messenger: Messenger) -> Self {
        Self::with(model, messenger, around()).await
    }

    /// Creates a world whose server has these settings.
    async fn with(model: ScriptedModel, messenger: Messenger, around: Surroundings) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ahead_ms = Arc::new(AtomicI64::new(0));
        let (system, ahead) = (Clock::system(), Arc::clone(&ahead_ms));
        let clock = Clock::from_fn(move || system.now_ms() + ahead.load(Ordering::SeqCst));
        let store = Store::open_in_memory().await.unwrap().with_clock(clock);
        let add = async |name: &str, is_admin| {
            let name = Name::parse(name).unwrap();
            store.add_user(&name, "correct horse", is_admin).await.unwrap()
        };
        let (root, ada) = (add("root", true).await, add("ada", false).await);
        let (messenger, model) = (Arc::new(messenger), Arc::new(model));
        let (chats, channels) = Self::served(&store, &model, around.clone());
        let world = Self { store, chats, channels, messenger, root, ada, around, ahead_ms, _model: model };
        world.put(true).await;
        world.channels.start();
        world
    }

    fn served(store: &Store, model: &ScriptedModel, around: Surroundings) -> (ChatService, Channels) {
        let balance = TierModel { name: "scripted".to_owned(), ..TierModel::default() };
        let subscription = Subscription {
            provider: Provider::OpenAi,
            base_url: Some(model.url().to_owned()),
            runner: None,
            models: BTreeMap::from([(Tier::Balance, balance)]),
            default_tier: None,
            fallback: None,
        };
        let mut models = ModelsConfig { server: Some((subscription, None)), ..ModelsConfig::default() };
        models.patience.pause = Duration::from_millis(1);
        let router = SandboxRouter::new(RouterConfig::default());
        let chats = ChatService::new(store.clone(), router, models, Internet::default());
        let channels = Channels::new(&chats, store, around);
        chats.hooks().put(channels.clone());
        channels.offer_tools(&chats);
        channels.show_groups(Arc::new(bound::Logs(store.clone())));
        (chats, channels)
    }

    /// Sets the server's clock this far ahead of the machine's, or behind it.
    fn sets_clock(&self, ahead_ms: i64) {
        self.ahead_ms.store(ahead_ms, Ordering::SeqCst);
    }

    /// Saves the account, enabled or not.
    async fn put(&self, enabled: bool) {
        let values = BTreeMap::from([("token".to_owned(), self.messenger.register())]);
        let put = ChannelPut { kind: "fake".to_owned(), values, allow: Vec::new(), enabled, shared: true };
        self.channels.put(&self.root, "desk", put).await.unwrap();
    }

    /// Starts another server on the same database.
    async fn restart(&mut self) {
        self.channels.shutdown().await;
        self.chats.shutdown().await;
        let (chats, channels) = Self::served(&self.store, &self._model, self.around.clone());
        asks::offer(&chats);
        chats.recover().await.unwrap();
        channels.start();
        (self.chats, self.channels) = (chats, channels);
    }

    /// Links a person with a user.
    async fn link(&self, user: &User, person: &str) {
        let code = self.channels.code(user, "desk").await.unwrap().code;
        let before = self.messenger.texts(person).len();
        self.messenger.says(person, person, &code);
        until("the person is linked", async || {
            let texts = self.messenger.texts(person);
            texts[before..].iter().any(|text| text.starts_with("You are linked")).then_some(())
        })
        .await;
    }

    /// Waits until a conversation shows a text that contains this part.
    async fn reads(&self, conversation: &str, part: &str) -> messenger::Shown {
        let what = format!("{part:?} in {conversation}");
        until(&what, async || {
            self.messenger.shown(conversation).into_iter().find(|shown| shown.text.contains(part))
        })
        .await
    }

    /// Waits until all arrived events have been handled and all messages have been sent.
    async fn rests(&self) {
        until("nothing is on its way", async || {
            // The stages are checked in the order in which work moves through them.
            let is_at_rest = self.messenger.is_delivered()
                && self.store.inbox_lanes(1).await.unwrap().is_empty()
                && self.store.outbox_lanes(1).await.unwrap().is_empty();
            is_at_rest.then_some(())
        })
        .await;
    }
}
