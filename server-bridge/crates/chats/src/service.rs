//! The service that the web layer talks to.

use std::sync::{Arc, OnceLock, PoisonError};

use api::language::Language;
use api::tui::ClientId;
use execs::{Ledger, Recorded, Stops};
use sandbox::SandboxRouter;
use store::{Author, ChatId, Message, MessageId, MessageRole, Said, Store, UserId};
use tokio::time::sleep;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::attachments::with_attachments;
use crate::commands::{self, Context, Input};
use crate::house::{ChatService, House};
use crate::languages::Languages;
use crate::limits::{END_CHECK, TURNS_QUEUED};
use crate::live::LivePiece;
use crate::model_choices::Choices;
use crate::models::{Models, ModelsConfig};
use crate::prompt;
use crate::rule_book::RuleBook;
use crate::running::Running;
use crate::sending::Sending;
use crate::sends;
use crate::terminals::Terminals;
use crate::transcript::LeftOut;
use crate::turns;
use agent::approval::Mode;
use agent::commands::CommandSources;
use agent::engine::PromptParts;
use agent::hooks::Hooks;
use agent::library::Library;
use agent::tool::{Registry, visible};
use agent::trust::Trusts;
use memory::Meaning;
use tools::Services;
use tools::internet::Internet;

use crate::bus::Bus;
use crate::{Answered, ChatEvent, Error, NewPost, Posted, Result, recover};

impl ChatService {
    /// A service over this store and router, with these models and this access to the internet.
    pub fn new(store: Store, router: SandboxRouter, models: ModelsConfig, internet: Internet) -> Self {
        let (tasks, stops) = (TaskTracker::new(), Stops::new(store.is_node()));
        let execs = Ledger::new(store.clone(), router.clone());
        let (running, sending, models) = (Running::default(), Sending::default(), Models::new(models));
        let (queue, asks, at_work) = Default::default();
        let (settings, languages) = (Arc::default(), Default::default());
        let library = Library::default();
        let meaning = Meaning::new(store.clone());
        let prompt = prompt::parts(&store, &meaning, &settings, &library);
        let (bus, tools) = (Bus::default(), Registry::default());
        let (clients, chosen) = (Arc::new(bus.clone()), Arc::default());
        let terminals = Terminals::new(bus.clone());
        let meaning_of_memories = meaning.clone();
        let services = Services {
            store,
            router,
            execs,
            internet,
            library,
            clients,
            terminals: Arc::new(terminals.clone()),
            models: chosen,
            meaning: meaning_of_memories,
        };
        tools::add_all(&tools, &services);
        let service = Self(Arc::new(House {
            services,
            running,
            sending,
            models,
            queue,
            asks,
            at_work,
            terminals,
            tools,
            commands: CommandSources::default(),
            hooks: Hooks::default(),
            prompt,
            tasks,
            stops,
            bus,
            settings,
            languages,
            rules: RuleBook::default(),
            trusts: OnceLock::new(),
            begin_background: turns::begin_soon,
        }));
        // The tools must not keep the service that owns them alive.
        let _ = service.0.services.models.set(Arc::new(Choices(Arc::downgrade(&service.0))));
        meaning.set_embedders(service.embedders());
        service
    }

    /// Sets the approvals that `/trust` asks about. Called once, when the server starts.
    pub fn set_trusts(&self, trusts: Arc<dyn Trusts>) {
        // A second call would be a programming error; the first value stays.
        let _ = self.0.trusts.set(trusts);
    }

    /// The hooks of all turns: an extension registers its own here.
    pub fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// The tools of all turns: an extension registers its own here. A turn keeps the tools that it began with.
    pub fn tools(&self) -> &Registry {
        &self.0.tools
    }

    /// The skills and roles of agents; extensions register their own here.
    pub fn library(&self) -> &Library {
        &self.0.services.library
    }

    /// The parts of the prompt: an extension registers its own here.
    pub fn prompt(&self) -> &PromptParts {
        &self.0.prompt
    }

    /// The slash commands of extensions: each registers its own here.
    pub fn commands(&self) -> &CommandSources {
        &self.0.commands
    }

    /// The events of chats: a front end subscribes here.
    pub fn bus(&self) -> &Bus {
        &self.0.bus
    }

    /// Applies the stored settings and continues the work of an earlier run of the server: every exec that was running, including
    /// clients' execs, and every message that was not yet being answered. Answers that were cut off are reported. Returns the number of
    /// chats' execs. Called when the server starts, before any message is posted: each command waits in the background for its runner, 10
    /// min at most.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn recover(&self) -> Result<usize> {
        self.load().await?;
        self.recover_of(None).await
    }

    /// Applies the stored settings. Called when the server starts; [`ChatService::recover`] includes it.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn load(&self) -> Result<()> {
        self.0.load_settings().await?;
        self.0.rules.load(self.0.settings.home()).await?;
        Ok(())
    }

    /// Applies the stored settings again, because another node may have changed them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn reload_settings(&self) -> Result<()> {
        Ok(self.0.load_settings().await?)
    }

    /// Continues one user's work from an earlier run of the server, as [`ChatService::recover`] does for all users. Called when the
    /// server becomes the user's home, before any message is posted for this user.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn recover_user(&self, user: store::UserId) -> Result<usize> {
        self.0.execs.begin_user(user);
        self.0.stops.begin(user);
        self.recover_of(Some(user)).await
    }

    /// Leaves all work of one user to the user's next home, as [`ChatService::stop`] does for all users, and returns when none of it is
    /// in progress here any more. The database refuses any changes that this work still tries to make.
    pub async fn end_user(&self, user: store::UserId) {
        let house = &self.0;
        house.execs.end_user(user);
        house.stops.end(user);
        while house.queue.is_at_work_for(user)
            || house.running.is_running_for(user)
            || house.execs.is_watching(user)
        {
            sleep(END_CHECK).await;
        }
    }

    async fn recover_of(&self, user: Option<store::UserId>) -> Result<usize> {
        self.0.store.remove_unfinished_forks(user).await?;
        Ok(recover::recover(&self.0, user).await? + turns::recover(&self.0, user).await?)
    }

    /// The number of chats in which a turn is in progress or about to begin.
    pub fn chats_at_work(&self) -> usize {
        self.0.queue.at_work()
    }

    /// True if a turn of a user is in progress or about to begin.
    pub fn is_at_work_for(&self, user: UserId) -> bool {
        self.0.queue.is_at_work_for(user)
    }

    /// Takes a user's message to one of their chats: stores it and acts on it. A command is only started; its output and its end follow as events.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty text; [`Error::Store`] for a chat that was deleted or belongs to another user, and for a text
    /// longer than 1 MiB; [`Error::Refused`] if too many messages are queued for the model; [`Error::Stopping`].
    pub async fn post(&self, user: &store::User, chat: &ChatId, text: &str) -> Result<Posted> {
        self.post_from(user, chat, text, None).await
    }

    /// Like [`ChatService::post`], for a message that may have been written in a terminal.
    async fn post_from(
        &self,
        user: &store::User,
        chat: &ChatId,
        text: &str,
        client: Option<ClientId>,
    ) -> Result<Posted> {
        let _tracked = self.check_saying(user, chat, text).await?;
        let expanded = self.0.expanded(user, chat, text).await?;
        let text = expanded.as_deref().unwrap_or(text);
        let input = if expanded.is_some() { Input::Plain(text) } else { Input::parse(text) };
        self.0.check_room(user.id, chat, &input)?;
        let said = self.0.say(user.id, chat, MessageRole::User, input.shown(text)).await?;
        if expanded.is_some() {
            self.0.store.mark_expanded(user.id, said.id).await?;
        }
        self.0.answer(user, chat, (said, client), input).await
    }

    /// Like [`ChatService::post`], for a client that may have sent the message before and got no answer: each id is processed once, and a
    /// repetition gets the result of the first one.
    ///
    /// # Errors
    /// As for [`ChatService::post`]; [`Error::Refused`] for a different text under the same id.
    pub async fn say(&self, user: &store::User, chat: &ChatId, post: NewPost<'_>) -> Result<Answered> {
        let NewPost { text, send_id, attachments, author, client } = post;
        let text = with_attachments(text, attachments)?;
        let text = text.as_str();
        let send_id = match (send_id, author) {
            (Some(send_id), _) => send_id,
            (None, Author::Owner) => {
                return Ok(self.post_from(user, chat, text, client).await?.into());
            }
            (None, Author::Others) => {
                return Err(Error::Invalid { rule: "was not written by the user, and needs a send_id" });
            }
        };
        let _tracked = self.check_saying(user, chat, text).await?;
        let mut input = Input::parse(text);
        // An extension's server may return a different text for the same command, so a repetition keeps the first text.
        let is_of_extension = matches!(input, Input::Unknown(..));
        let mut expanded = None;
        if !self.0.store.was_said(user.id, chat, send_id).await? {
            expanded = self.0.expanded(user, chat, text).await?;
            if let Some(expanded) = &expanded {
                input = Input::Plain(expanded);
            }
            self.0.check_room(user.id, chat, &input)?;
        }
        let text = expanded.as_deref().unwrap_or(text);
        // There is no await between this and the record, so that the first of several repetitions is the one that answers.
        let under_way = self.0.sending.begin(chat, send_id);
        let said = match self.0.store.say_once(user.id, chat, send_id, input.shown(text), author).await? {
            Said::New(message) => {
                self.0.tell(user.id, ChatEvent::Message(message.clone()));
                message
            }
            Said::Known(known) if !is_of_extension && known.message.text != input.shown(text) => {
                return Err(Error::Refused {
                    kind: "conflict",
                    text: "another message was already sent with this send_id; choose another send_id"
                        .to_owned(),
                });
            }
            // The server died before it acted on the message, so it acts now.
            Said::Known(known)
                if under_way.is_some() && known.answer_json.is_none() && !known.is_followed =>
            {
                known.message
            }
            Said::Known(known) => return sends::recall(&self.0, user, *known).await,
        };
        if is_of_extension {
            self.0.store.mark_expanded(user.id, said.id).await?;
        }
        let stood_for = said.text.clone();
        if is_of_extension && stood_for != text.trim_end() {
            input = Input::Plain(&stood_for);
        }
        let posted = self.0.answer(user, chat, (said, client), input).await?;
        sends::remember(&self.0, user, chat, send_id, &posted).await;
        Ok(posted.into())
    }

    /// Checks that a message may be posted at all. A shutdown waits until the returned token is dropped, so that no command begins after
    /// the shutdown.
    async fn check_saying(&self, user: &store::User, chat: &ChatId, text: &str) -> Result<TaskTrackerToken> {
        let tracked = self.0.tasks.token();
        if self.0.is_stopping(user.id) {
            return Err(Error::Stopping);
        }
        if text.trim().is_empty() {
            return Err(Error::Invalid { rule: "is empty; write something, or /help to see what works" });
        }
        if self.0.store.sub_agent(user.id, chat).await?.is_some() {
            return Err(Error::Invalid {
                rule: "is for a sub-agent; to write to a sub-agent that has a name, use the chat whose agent called it: /agent NAME TEXT",
            });
        }
        Ok(tracked)
    }

    /// Sets a chat's approval mode: audited, with an event for the user's other windows.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn set_approval(&self, user: &store::User, chat: &ChatId, mode: Mode) -> Result<()> {
        self.0.set_approval(user, chat, mode).await
    }

    /// Cancels every command and the answer in progress in a chat; returns their number. Their messages show how they end. Queued
    /// messages are answered next.
    ///
    /// # Errors
    /// [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn cancel(&self, user: UserId, chat: &ChatId) -> Result<usize> {
        self.0.store.chat(user, chat).await?;
        Ok(self.0.stop(user, chat).await)
    }

    /// Puts the output so far into those messages whose command still runs. Output whose event was not sent yet is left out: it follows
    /// as an event, and a client that already had it would show it twice.
    pub fn fill_live(&self, user: UserId, messages: &mut [Message]) {
        let is_told = |message: &Message| message.role == MessageRole::Exec && self.0.bus.knows(message.id);
        for message in messages.iter_mut().filter(|message| is_told(message)) {
            if let Some(transcript) = self.0.running.transcript(message.id) {
                let transcript = transcript.lock().unwrap_or_else(PoisonError::into_inner);
                message.text = transcript.render(&LeftOut::SoFar, self.language(user));
            }
        }
    }

    /// The newest 256 KiB of the live text of a message in progress; the message's own text does not contain it yet.
    /// Later events begin where this ends.
    pub fn live(&self, message: MessageId) -> Vec<LivePiece> {
        self.0.bus.live(message)
    }

    /// The ledger of every exec of the server: those of chats and all others.
    pub fn execs(&self) -> &Ledger {
        &self.0.execs
    }

    /// Sends the user's clients the message that shows an exec, if recording the exec's end changed it.
    pub fn tell_ended(&self, user: UserId, recorded: &Recorded) {
        self.0.services.clients.exec_ended(user, recorded);
    }

    /// Leaves execs on machines that survive this server to [`ChatService::recover`], and begins to cancel the others. Later posts are
    /// refused. Called first when the server stops; it does not wait.
    pub fn stop(&self) {
        // This must be first: work that is cut off here is resumed by the next run.
        self.0.execs.stop();
        self.0.stops.all().cancel();
    }

    /// Like [`ChatService::stop`], and returns when every task has ended and every cancelled command is recorded.
    pub async fn shutdown(&self) {
        self.stop();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.execs.shutdown().await;
    }
}

impl ChatService {
    /// Adds a notice to a user's chat, in the user's language. A failure is only logged, because nothing depends on the notice.
    pub async fn notice(&self, user: UserId, chat: &ChatId, text: &str) {
        if let Err(error) = self.0.say(user, chat, MessageRole::Notice, text).await {
            tracing::warn!(%error, %chat, "a notice could not be shown");
        }
    }

    /// Records a user's language: the server's messages to this user use it from now on.
    pub fn speaks(&self, user: UserId, language: Language) {
        self.0.languages.set(user, language);
    }

    /// The user's language for the server's texts.
    pub fn language(&self, user: UserId) -> Language {
        self.0.languages.of(user)
    }

    /// The languages of all users, for code that must not keep the service alive.
    pub fn languages(&self) -> Arc<Languages> {
        Arc::clone(&self.0.languages)
    }
}

impl House {
    /// Acts on a stored message.
    async fn answer(
        self: &Arc<Self>,
        user: &store::User,
        chat: &ChatId,
        (said, client): (Message, Option<ClientId>),
        input: Input<'_>,
    ) -> Result<Posted> {
        let chat = self.store.chat(user.id, chat).await?;
        self.tell(user.id, ChatEvent::Chat(chat.clone()));
        let context = Context { service: self, user, chat, said: said.id, client };
        let mut posted = commands::dispatch(context, input).await?;
        posted.messages.insert(0, said);
        Ok(posted)
    }

    /// The text that an extension's slash command stands for; `None` if the text is not such a command.
    async fn expanded(&self, user: &store::User, chat: &ChatId, text: &str) -> Result<Option<String>> {
        // The first line has the arguments; the lines after it are the user's own, and are added after the text.
        let (first, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let Input::Unknown(word, argument) = Input::parse(first) else { return Ok(None) };
        let expanded = self.commands.text(user, chat, word, argument.unwrap_or_default()).await;
        let expanded =
            expanded.transpose().map_err(|text| Error::Refused { kind: "command_failed", text })?;
        Ok(expanded.map(|expanded| {
            // The text becomes the user's own message: the user sees all of it, and it must not become a command when it is taken back
            // into the input.
            let expanded = visible::lines(&expanded);
            let is_plain = !expanded.trim_start().starts_with(['!', '/']);
            let title = if is_plain { String::new() } else { format!("({first})\n\n") };
            match rest.trim() {
                "" => format!("{title}{expanded}"),
                rest => format!("{title}{expanded}\n\n{rest}"),
            }
        }))
    }

    /// Refuses a message for the model if too many messages of its chat are queued. This happens before any of it is stored; the client
    /// keeps the message.
    fn check_room(&self, user: UserId, chat: &ChatId, input: &Input<'_>) -> Result<()> {
        if matches!(input, Input::Plain(_)) && self.is_queue_full(user, chat) {
            let text = format!(
                "{TURNS_QUEUED} messages are already waiting for an answer in this chat; send this one again when one is answered"
            );
            return Err(Error::Refused { kind: "busy", text });
        }
        Ok(())
    }
}
