//! Tests of the service with a scripted runner on an in-memory link, and a store in memory.

mod approvals;
mod background;
mod commands;
mod context;
mod forgotten;
mod isolation;
mod letta;
mod manage;
mod order;
mod prompt;
mod recover;
mod remembered;
mod runner;
mod shell;
mod stale;
mod sub_agents;
mod talk;
mod terminals;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use memory::{MemoryKind, MemoryScope, Write};
use sandbox::{RouterConfig, SandboxRouter};
use store::{Chat, ExecStatus, Message, MessageId, MessageRole, Name, RunnerName, Store, User};
use tokio::sync::mpsc;

use api::document::ExecDocument;
use tools::internet::Internet;

use crate::{ChatEvent, ChatService, ModelsConfig, Posted, Subscription};
use runner::ScriptedRunner;

/// The deadline for every wait in these tests.
const DEADLINE: Duration = Duration::from_secs(20);

/// The pause between two checks of a condition.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until a condition holds.
async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let looking = async {
        while !holds().await {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(DEADLINE, looking).await.unwrap_or_else(|_| panic!("{what}"));
}

/// A service with one user, who has one chat and may use runners.
struct Bench {
    service: ChatService,
    store: Store,
    router: SandboxRouter,
    user: User,
    chat: Chat,
    events: mpsc::UnboundedReceiver<ChatEvent>,
    _subscription: Subscription,
}

impl Bench {
    async fn new() -> Self {
        let store = Store::open_in_memory().await.unwrap();
        Self::with_store(store).await
    }

    async fn with_store(store: Store) -> Self {
        Self::with_models(store, ModelsConfig::default()).await
    }

    async fn with_models(store: Store, models: ModelsConfig) -> Self {
        Self::with_internet(store, models, Internet::default()).await
    }

    async fn with_internet(store: Store, models: ModelsConfig, internet: Internet) -> Self {
        let user = match store.user_by_name("ada").await.unwrap() {
            Some(user) => user,
            None => store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap(),
        };
        let chat = match store.chats(user.id, 1).await.unwrap().pop() {
            Some(chat) => chat,
            None => store.create_chat(user.id).await.unwrap(),
        };
        let router = SandboxRouter::new(RouterConfig::default());
        let (sender, events) = mpsc::unbounded_channel();
        let service = ChatService::new(store.clone(), router.clone(), models, internet);
        let subscription = service.bus().subscribe(Arc::new(move |_, event: &ChatEvent| {
            let _ = sender.send(event.clone());
        }));
        Self { service, store, router, user, chat, events, _subscription: subscription }
    }

    /// Registers a runner of this name and connects it.
    async fn connect(&self, name: &str) -> ScriptedRunner {
        self.connect_of(&self.user, name).await
    }

    /// Like [`Self::connect`], for another user.
    async fn connect_of(&self, user: &User, name: &str) -> ScriptedRunner {
        self.store.add_runner(user.id, &RunnerName::parse(name).unwrap()).await.unwrap();
        ScriptedRunner::connect(&self.router, &execs::sandbox_user(user).key, name).await
    }

    /// Connects to this server a runner that was connected to another one.
    async fn take_over(&self, runner: &mut ScriptedRunner, name: &str) {
        runner.connect_to(&self.router, &execs::sandbox_user(&self.user).key, name).await;
    }

    /// Stores a memory of the user, and returns its number.
    async fn keep(&self, kind: MemoryKind, name: &str, text: &str) -> i64 {
        let wanted = Write {
            kind,
            scope: MemoryScope::User,
            scope_name: "",
            name,
            text,
            chat: None,
            message: None,
            supersedes: &[],
            valid_to_ms: None,
        };
        self.service.keep_memory(&self.user, None, &wanted).await.unwrap().item().id
    }

    async fn post(&self, text: &str) -> Posted {
        self.service.post(&self.user, &self.chat.id, text).await.unwrap()
    }

    /// Posts a message that is answered at once, and returns the answer.
    async fn ask(&self, text: &str) -> Message {
        let mut posted = self.post(text).await;
        assert_eq!(posted.messages.len(), 2, "{posted:?}");
        posted.messages.remove(1)
    }

    async fn next_event(&mut self) -> ChatEvent {
        tokio::time::timeout(DEADLINE, self.events.recv()).await.expect("an event in time").unwrap()
    }

    /// Waits for the event that shows a command's message as running, and returns the message.
    async fn told_running(&mut self, id: MessageId) -> Message {
        loop {
            if let ChatEvent::Message(message) = self.next_event().await
                && message.id == id
                && document(&message).status == "running"
            {
                return message;
            }
        }
    }

    /// Waits until the command of a message has ended; returns the message and the output sent until then.
    async fn ended(&mut self, id: MessageId) -> (Message, ExecDocument, String) {
        let mut told = String::new();
        loop {
            match self.next_event().await {
                ChatEvent::Output { message, text, .. } if message == id => told.push_str(&text),
                ChatEvent::Message(message) if message.id == id => {
                    let document = document(&message);
                    if document.status != "running" {
                        assert_eq!(
                            self.store.message(self.user.id, id).await.unwrap(),
                            message,
                            "stored as told"
                        );
                        return (message, document, told);
                    }
                }
                ChatEvent::Output { .. } | ChatEvent::Said { .. } => {}
                ChatEvent::Message(_) | ChatEvent::Chat(_) | ChatEvent::Removed(_) => {}
                ChatEvent::ActiveRunner(_) | ChatEvent::Control { .. } | ChatEvent::ServerSettings(_) => {}
            }
        }
    }

    /// The recorded exec of the command that a message shows.
    async fn record(&self, document: &ExecDocument) -> store::Exec {
        let id = store::ExecId::parse(&document.exec_id).unwrap();
        self.store.exec(self.user.id, &id).await.unwrap()
    }
}

fn document(message: &Message) -> ExecDocument {
    serde_json::from_str(message.document_json.as_deref().unwrap()).unwrap()
}
