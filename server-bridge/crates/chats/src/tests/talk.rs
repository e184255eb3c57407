//! Chats with a scripted model, in the form that clients see: API documents, read again at each event.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent::approval::{Answer, Mode};
use agent::ask::Reply;
use serde_json::Value;
use store::{ChatId, MessageId, Name, Store, User};
use tests::ScriptedModel;
use tokio::sync::watch;

use super::{Bench, DEADLINE};
use crate::models::{Provider, Subscription, Tier, TierModel};
use crate::{
    ChatService, Error, Export, Format, ModelsConfig, Page, Posted, Surface, TakeBack, TakenBack, Turns,
    limits, message_view, shown_view,
};

/// How long to wait before a model that did not answer is asked again.
const PAUSE: Duration = Duration::from_millis(1);

/// A user's chat.
pub(super) struct Talk {
    pub(super) service: ChatService,
    pub(super) user: User,
    pub(super) id: ChatId,
    /// Changes with every event.
    news: watch::Receiver<()>,
    _subscription: crate::Subscription,
}

/// The operator's settings for this model.
pub(super) fn answered_by(model: &ScriptedModel, provider: Provider) -> ModelsConfig {
    // Another test may have installed it first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let balance = TierModel { name: "scripted".to_owned(), ..TierModel::default() };
    let subscription = Subscription {
        provider,
        base_url: Some(model.url().to_owned()),
        runner: None,
        models: BTreeMap::from([(Tier::Balance, balance)]),
        default_tier: None,
        fallback: None,
    };
    let mut models = ModelsConfig { server: Some((subscription, None)), ..ModelsConfig::default() };
    models.patience.pause = PAUSE;
    models
}

impl Bench {
    /// A service whose chats this model answers.
    pub(super) async fn played(model: &ScriptedModel) -> Self {
        Self::asking(answered_by(model, Provider::OpenAi)).await
    }

    pub(super) async fn asking(models: ModelsConfig) -> Self {
        Self::with_models(Store::open_in_memory().await.unwrap(), models).await
    }

    /// The existing chat, in this mode.
    pub(super) async fn talk(&self, mode: Mode) -> Talk {
        Talk::open(self, &self.user, self.chat.id.clone(), mode).await
    }

    /// A new chat of the same user, in full mode.
    pub(super) async fn other_talk(&self) -> Talk {
        self.talk_of(&self.user).await
    }

    /// A new chat of another user, in full mode.
    pub(super) async fn talk_of(&self, user: &User) -> Talk {
        let chat = self.service.create(user).await.unwrap();
        Talk::open(self, user, chat.id, Mode::Full).await
    }

    /// The same service after a restart of the server, with these models.
    pub(super) async fn restarted(self, models: ModelsConfig) -> Self {
        self.service.shutdown().await;
        let next = Self::with_models(self.store.clone(), models).await;
        next.service.recover().await.unwrap();
        next
    }

    pub(super) async fn somebody(&self, name: &str) -> User {
        self.store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap()
    }
}

impl Talk {
    pub(super) async fn open(bench: &Bench, user: &User, id: ChatId, mode: Mode) -> Self {
        let (tell, news) = watch::channel(());
        let subscription = bench.service.bus().subscribe(Arc::new(move |_, _| tell.send_modify(|()| {})));
        let talk = Self {
            service: bench.service.clone(),
            user: user.clone(),
            id,
            news,
            _subscription: subscription,
        };
        talk.set_mode(mode).await;
        talk
    }

    pub(super) async fn set_mode(&self, mode: Mode) {
        self.service.set_approval(&self.user, &self.id, mode).await.unwrap();
    }

    pub(super) async fn post(&self, text: &str) -> Posted {
        self.service.post(&self.user, &self.id, text).await.unwrap()
    }

    /// Posts a command that is answered at once; returns the text of its answer.
    pub(super) async fn told(&self, command: &str) -> String {
        self.post(command).await.messages.remove(1).text
    }

    /// Posts a message for the model and waits for the end of its answer; returns the message that represents the answer.
    pub(super) async fn say(&self, text: &str) -> Value {
        let posted = self.post(text).await;
        self.ended(posted.messages[1].id).await
    }

    /// The message that represents an answer, once the answer has ended.
    pub(super) async fn ended(&self, id: MessageId) -> Value {
        let goes_on = ["queued", "running"];
        self.until("the answer is over", async || {
            let message = self.service.0.store.message(self.user.id, id).await.unwrap();
            let message = serde_json::to_value(message_view(message)).unwrap();
            goes_on.iter().all(|status| message["agent"]["status"] != *status).then_some(message)
        })
        .await
    }

    pub(super) async fn messages(&self) -> Vec<Value> {
        self.messages_of(&self.id).await
    }

    pub(super) async fn messages_of(&self, chat: &ChatId) -> Vec<Value> {
        let most = Some(limits::MESSAGE_PAGE_MAX_ROWS);
        let (shown, _) = self.service.messages(self.user.id, chat, Page::Last, most).await.unwrap();
        shown.into_iter().map(|shown| serde_json::to_value(shown_view(shown)).unwrap()).collect()
    }

    /// The messages that show a call of this tool.
    pub(super) async fn cards(&self, tool: &str) -> Vec<Value> {
        let messages = self.messages().await.into_iter();
        messages.filter(|message| message["agent"]["tool"] == tool).collect()
    }

    /// Waits until the messages contain what `wanted` looks for.
    pub(super) async fn sees<T>(&self, what: &str, wanted: impl Fn(&[Value]) -> Option<T>) -> T {
        self.until(what, async || wanted(&self.messages().await)).await
    }

    /// Waits until a condition holds, which is checked again at each event.
    pub(super) async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        let mut news = self.news.clone();
        let looking = async {
            loop {
                news.mark_unchanged();
                if let Some(found) = look().await {
                    return found;
                }
                news.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(DEADLINE, looking).await {
            Ok(found) => found,
            Err(_) => panic!("{what}: {:#?}", self.messages().await),
        }
    }

    /// The first notice that contains these words.
    pub(super) async fn notice(&self, containing: &str) -> String {
        self.sees(containing, |messages| {
            let notices = messages.iter().filter(|message| message["role"] == "notice");
            let mut texts = notices.map(|notice| notice["text"].as_str().unwrap());
            texts.find(|text| text.contains(containing)).map(str::to_owned)
        })
        .await
    }

    /// The card with this subject that waits for its user's answer.
    pub(super) async fn asking(&self, hint: &str) -> Value {
        let waits = |message: &&Value| {
            message["agent"]["status"] == "asking"
                && message["agent"]["hint"].as_str().unwrap().contains(hint)
        };
        self.sees(hint, |messages| messages.iter().find(waits).cloned()).await
    }

    /// Answers a card; returns the reason if the answer was refused.
    pub(super) async fn answer(&self, card: &Value, reply: Reply) -> Option<&'static str> {
        let message = MessageId(card["id"].as_i64().unwrap());
        let answered = self.service.answer(&self.user, &self.id, message, reply, Surface("page")).await;
        answered.err().map(|error| error.kind())
    }

    /// Allows or denies what a card asks for.
    pub(super) async fn approve(&self, card: &Value, answer: Answer) -> Option<&'static str> {
        self.answer(card, Reply::Approval(answer)).await
    }

    /// Takes back the last turn and its files.
    pub(super) async fn undo(&self) -> Result<TakenBack, Error> {
        let wanted = TakeBack { turns: Turns::Last(1), files: true, force: false };
        self.service.take_back(&self.user, &self.id, wanted).await
    }

    /// The chat as a file.
    pub(super) async fn exported(&self, format: Format) -> String {
        let mut next = Some(self.service.export(&self.user, &self.id, format).await.unwrap());
        let mut file = String::new();
        while let Some(export) = next.take() {
            if let Some((part, rest)) = Export::next(export).await.unwrap() {
                file.push_str(&part);
                next = Some(rest);
            }
        }
        file
    }
}
