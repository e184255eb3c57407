//! The service that the web layer talks to.

use std::sync::{Arc, PoisonError};

use api::language::Language;
use execs::{Ledger, Recorded};
use sandbox::SandboxRouter;
use store::{ChatId, Message, MessageId, MessageRole, Said, Store, UserId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::attachments::with_attachments;
use crate::commands::{self, Context, Input};
use crate::house::{ChatService, House};
use crate::limits::TURNS_QUEUED;
use crate::models::{Models, ModelsConfig};
use crate::prompt;
use crate::running::Running;
use crate::sending::Sending;
use crate::sends;
use crate::told::Told;
use crate::transcript::LeftOut;
use crate::turns;
use agent::approval::Mode;
use agent::hooks::Hooks;
use agent::tool::Registry;
use tools::Services;
use tools::internet::Internet;

use crate::bus::Bus;
use crate::{Answered, ChatEvent, Error, Posted, Result, Saying, recover};

impl ChatService {
    /// A service over this store and router, which answers with these models, and lets them read the internet that way.
    pub fn new(store: Store, router: SandboxRouter, models: ModelsConfig, internet: Internet) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let execs = Ledger::new(store.clone(), router.clone());
        let (running, sending, models) = (Running::default(), Sending::default(), Models::new(models));
        let (queue, asks, at_work) = Default::default();
        let (settings, languages) = (Arc::default(), Default::default());
        let prompt = prompt::parts(&store, &settings);
        let (bus, tools) = (Bus::default(), Registry::default());
        let services = Services { store, router, execs, internet, clients: Arc::new(bus.clone()) };
        tools::add_all(&tools, &services);
        Self(Arc::new(House {
            services,
            running,
            sending,
            models,
            queue,
            asks,
            at_work,
            tools,
            hooks: Hooks::default(),
            prompt,
            tasks,
            stop,
            bus,
            settings,
            languages,
        }))
    }

    /// The hooks of all turns: where an extension registers its own.
    pub fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// The tools of all turns: where an extension registers its own. A turn keeps those that it began with.
    pub fn tools(&self) -> &Registry {
        &self.0.tools
    }

    /// What happens in chats: where a front end subscribes.
    pub fn bus(&self) -> &Bus {
        &self.0.bus
    }

    /// Lets the settings on record hold, and goes on with every exec that an earlier server left running, those of clients too, and with every message that it had not
    /// begun to answer; tells of the answers that it was amid. Returns how many of a chat's there are. For a server's start, before
    /// anything is posted: each command waits in the background for its runner, 10 min at most.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn recover(&self) -> Result<usize> {
        self.0.load_settings().await?;
        self.0.store.remove_unfinished_forks().await?;
        Ok(recover::recover(&self.0).await? + turns::recover(&self.0).await?)
    }

    /// Takes what a user wrote into one of their chats: stores it, and does what it asks for. A command that runs is
    /// only begun; its output and its end come as events.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty text; [`Error::Store`] for a chat that is gone or another user's, or a text
    /// beyond 1 MiB; [`Error::Refused`] where too many messages wait for the model; [`Error::Stopping`].
    pub async fn post(&self, user: &store::User, chat: &ChatId, text: &str) -> Result<Posted> {
        let _tracked = self.check_saying(user, chat, text).await?;
        let input = Input::parse(text);
        self.0.check_room(user.id, chat, &input)?;
        let said = self.0.say(user.id, chat, MessageRole::User, input.shown(text)).await?;
        self.0.answer(user, chat, said, input).await
    }

    /// The same for a client that may have said it before, and heard no answer: under one id it is done once, and a
    /// repetition is told what came of the first one.
    ///
    /// # Errors
    /// As for [`ChatService::post`]; [`Error::Refused`] for another text under the same id.
    pub async fn say(&self, user: &store::User, chat: &ChatId, saying: Saying<'_>) -> Result<Answered> {
        let Saying { text, send_id, attachments } = saying;
        let text = with_attachments(text, attachments)?;
        let text = text.as_str();
        let Some(send_id) = send_id else { return Ok(self.post(user, chat, text).await?.into()) };
        let _tracked = self.check_saying(user, chat, text).await?;
        let input = Input::parse(text);
        if !self.0.store.was_said(user.id, chat, send_id).await? {
            self.0.check_room(user.id, chat, &input)?;
        }
        // Nothing is waited for between this and the record, so that the first of several repetitions is the one that answers.
        let under_way = self.0.sending.begin(chat, send_id);
        let said = match self.0.store.say_once(user.id, chat, send_id, input.shown(text)).await? {
            Said::New(message) => {
                self.0.tell(user.id, ChatEvent::Message(message.clone()));
                message
            }
            Said::Known(known) if known.message.text != input.shown(text) => {
                return Err(Error::Refused {
                    kind: "conflict",
                    text: "another message was sent with this send_id before; choose another one".to_owned(),
                });
            }
            // The server died before anything came of it: it is done now.
            Said::Known(known)
                if under_way.is_some() && known.answer_json.is_none() && !known.is_followed =>
            {
                known.message
            }
            Said::Known(known) => return sends::recall(&self.0, user, *known).await,
        };
        let posted = self.0.answer(user, chat, said, input).await?;
        sends::remember(&self.0, user, chat, send_id, &posted).await;
        Ok(posted.into())
    }

    /// Whether something may be said at all. A shutdown waits for what comes of it: its command must not begin behind the
    /// shutdown's back.
    async fn check_saying(&self, user: &store::User, chat: &ChatId, text: &str) -> Result<TaskTrackerToken> {
        let tracked = self.0.tasks.token();
        if self.0.stop.is_cancelled() {
            return Err(Error::Stopping);
        }
        if text.trim().is_empty() {
            return Err(Error::Invalid { rule: "is empty; write something, or /help to see what works" });
        }
        if self.0.store.sub_agent(user.id, chat).await?.is_some() {
            return Err(Error::Invalid {
                rule: "is for a sub-agent, which only its own agent talks to; send it in that agent's chat",
            });
        }
        Ok(tracked)
    }

    /// Sets how much a chat's model may do without asking: audited, and an event for the user's other windows.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that is gone or another user's.
    pub async fn set_approval(&self, user: &store::User, chat: &ChatId, mode: Mode) -> Result<()> {
        self.0.set_approval(user, chat, mode).await
    }

    /// Tells every command and the answer under way in a chat to stop, and returns how many there were. Their messages say
    /// the rest. Messages that wait are answered next.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that is gone or another user's.
    pub async fn cancel(&self, user: UserId, chat: &ChatId) -> Result<usize> {
        self.0.store.chat(user, chat).await?;
        Ok(self.0.stop(user, chat))
    }

    /// Puts the output so far into those of the messages whose command still runs. Output of which no event was sent yet
    /// stays out: it comes as one, and a client that had it already would show it twice.
    pub fn fill_live(&self, messages: &mut [Message]) {
        let is_told = |message: &Message| message.role == MessageRole::Exec && self.0.bus.knows(message.id);
        for message in messages.iter_mut().filter(|message| is_told(message)) {
            if let Some(transcript) = self.0.running.transcript(message.id) {
                let transcript = transcript.lock().unwrap_or_else(PoisonError::into_inner);
                message.text = transcript.render(&LeftOut::SoFar);
            }
        }
    }

    /// What was told live of a message under way, the newest 256 KiB of it; the message's own text does not hold it yet.
    /// What is told later begins where this ends.
    pub fn told(&self, message: MessageId) -> Vec<Told> {
        self.0.bus.told(message)
    }

    /// The life of every exec of the server: of chats, and of whatever else the server runs.
    pub fn execs(&self) -> &Ledger {
        &self.0.execs
    }

    /// Tells a user's clients of the message that shows an exec, where putting the exec's end on record changed it.
    pub fn tell_ended(&self, user: UserId, recorded: &Recorded) {
        self.0.services.clients.exec_ended(user, recorded);
    }

    /// Leaves what runs on machines that go on without this server, for [`ChatService::recover`], and begins to cancel what
    /// runs elsewhere. Later posts are refused. Said at once when the server stops: nothing is waited for.
    pub fn stop(&self) {
        self.0.stop.cancel();
        self.0.execs.stop();
    }

    /// The same, and returns when every task has ended and what was cancelled is on record.
    pub async fn shutdown(&self) {
        self.stop();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.execs.shutdown().await;
    }
}

impl ChatService {
    /// Notes the language in which a user's client shows texts: messages of the server to this user are in it from now on.
    pub fn speaks(&self, user: UserId, language: Language) {
        self.0.languages.set(user, language);
    }

    /// The language in which a user's client shows texts.
    pub fn language(&self, user: UserId) -> Language {
        self.0.languages.of(user)
    }
}

impl House {
    /// Does what a message asks for that is on record.
    async fn answer(
        self: &Arc<Self>,
        user: &store::User,
        chat: &ChatId,
        said: Message,
        input: Input<'_>,
    ) -> Result<Posted> {
        let chat = self.store.chat(user.id, chat).await?;
        self.tell(user.id, ChatEvent::Chat(chat.clone()));
        let context = Context { service: self, user, chat, said: said.id };
        let mut posted = commands::dispatch(context, input).await?;
        posted.messages.insert(0, said);
        Ok(posted)
    }

    /// Refuses a message for the model while too many of its chat wait, before anything of it is stored: its client keeps it.
    fn check_room(&self, user: UserId, chat: &ChatId, input: &Input<'_>) -> Result<()> {
        if matches!(input, Input::Plain(_)) && self.is_queue_full(user, chat) {
            let text = format!(
                "{TURNS_QUEUED} messages wait for an answer in this chat already; send it again when one is answered"
            );
            return Err(Error::Refused { kind: "busy", text });
        }
        Ok(())
    }
}
