//! The ports in memory, and a test's settings for them. Every request to them is logged in order.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use llm::retry::Patience;
use llm::slots::{Kind, Seat, Slots};
use llm::{Content, Message, Request, ToolCall, ToolResult};
use records::{
    BegunCall, ChatId, ItemId, MessageId, Spent, StoredContext, SubAgent, TurnId, TurnItem, TurnStatus, User,
    UserId,
};
use sandbox::Sandbox;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::model::{Played, Step};
use crate::PortError;
use crate::approval::{Access, Answer, Mode, Ruling};
use crate::ask::{Ask, Asking, Reply, Waiters};
use crate::context::{ContextMode, history};
use crate::engine::agents::AtWork;
use crate::engine::pipeline::{Made, PromptContext, PromptPart, PromptParts};
use crate::engine::{
    Asked, Background, BackgroundAgents, BackgroundMessage, BackgroundTask, Begins, CallState, Called,
    CalledAgent, Card, Change, Display, Entry, Journal, Left, ModelPool, Name, Named, NewSubAgent,
    Permissions, Ports, ReplyState, Stream, SubAgentEnd, SubAgentTask, SubAgents, Turn, TurnAncestry,
    TurnEnd, Workplace,
};
use crate::hooks::{Hook, Hooks};
use crate::library::Library;
use crate::models::{Admission, ModelChain, ModelSetup, NoModel, Place, Tier};
use crate::tool::{CallKey, Failure, Registry, Subject, Tool};

/// The log of events, in order. Cheap to clone; all clones share the same log.
#[derive(Clone, Default)]
pub(in crate::engine) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(super) fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// The number of lines that begin with this text.
    pub(super) fn count(&self, beginning: &str) -> usize {
        self.lines().iter().filter(|line| line.starts_with(beginning)).count()
    }

    /// The index of the first line that begins with this text.
    pub(super) fn first(&self, beginning: &str) -> usize {
        let found = self.lines().iter().position(|line| line.starts_with(beginning));
        found.unwrap_or_else(|| panic!("no line begins with {beginning:?}"))
    }

    /// Asserts that lines with these beginnings were logged in this order.
    pub(super) fn came(&self, beginnings: &[&str]) {
        let lines = self.lines();
        let mut wanted = VecDeque::from(beginnings.to_vec());
        for line in &lines {
            if wanted.front().is_some_and(|beginning| line.starts_with(beginning)) {
                wanted.pop_front();
            }
        }
        assert!(wanted.is_empty(), "missing or too early: {wanted:?}\n{}", lines.join("\n"));
    }
}

/// An error of the store.
pub(super) fn gone(what: &'static str) -> PortError {
    PortError::Gone(format!("there is no {what} \"x\""))
}

/// The state that all chats of a test share.
#[derive(Clone)]
struct House {
    log: Log,
    played: Option<Played>,
    asks: Waiters,
    hooks: Hooks,
    at_work: AtWork,
    slots: Arc<Slots>,
    admission: Arc<Admission>,
    settings: Arc<Mutex<Settings>>,
    /// The id of the last message in any chat.
    messages: Arc<Mutex<i64>>,
}

/// A test's settings.
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) chain: Result<Vec<ModelSetup>, String>,
    pub(super) attempts: u32,
    pub(super) wants_room: bool,
    /// The layers that change a conversation automatically.
    pub(super) context: ContextMode,
    pub(super) news: Option<String>,
    /// The port methods that fail, by name.
    pub(super) broken: HashSet<&'static str>,
    /// The rules' ruling on calls of a tool.
    pub(super) rulings: HashMap<String, Ruling>,
    /// The calls that the user allowed for good.
    pub(super) allowed: HashSet<(String, String)>,
    /// True if a named sub-agent has not been called for too long.
    pub(super) is_closed: bool,
    /// True if the server's words are shown in a different language, as `<words>`.
    pub(super) is_translated: bool,
    /// True if the commands of calls are on record.
    pub(super) has_command: bool,
    pub(super) agents: HashMap<String, SubAgent>,
    pub(super) children: Vec<Arc<Chat>>,
    /// The recorded states of calls of sub-agents, by card.
    pub(super) called: HashMap<MessageId, Called>,
    /// The notes about sub-agents in the background that the turn reads before each request, in order; an empty text is no note.
    pub(super) heard: VecDeque<String>,
}

/// A chat in memory, as its turns see it.
pub(crate) struct Chat {
    house: House,
    id: ChatId,
    /// The prefix of the chat's lines in the log: empty, or a mark for its depth.
    mark: String,
    state: Mutex<Kept>,
}

/// The stored state of a chat.
#[derive(Default)]
struct Kept {
    stored: StoredContext,
    shown: BTreeMap<MessageId, String>,
    turn: i64,
    ended_elsewhere: bool,
    /// The record that an earlier run of the server left of the turn that begins next.
    left: Option<Left>,
    /// The cards of the turn's open calls.
    left_cards: VecDeque<MessageId>,
    /// The end of the turn, if it ended before the restart.
    over: Option<TurnEnd>,
}

impl Default for Chat {
    fn default() -> Self {
        let settings = Settings {
            mode: Mode::Full,
            chain: Err("no model is set up".to_owned()),
            attempts: 3,
            wants_room: false,
            context: ContextMode::Full,
            news: None,
            broken: HashSet::new(),
            rulings: HashMap::new(),
            allowed: HashSet::new(),
            is_closed: false,
            is_translated: false,
            has_command: true,
            agents: HashMap::new(),
            children: Vec::new(),
            called: HashMap::new(),
            heard: VecDeque::new(),
        };
        let house = House {
            log: Log::default(),
            played: None,
            asks: Waiters::default(),
            hooks: Hooks::default(),
            at_work: AtWork::default(),
            slots: Arc::default(),
            admission: Arc::new(Admission::new(1)),
            settings: Arc::new(Mutex::new(settings)),
            messages: Arc::default(),
        };
        Self { house, id: ChatId::random(), mark: String::new(), state: Mutex::default() }
    }
}

impl Chat {
    fn below(&self) -> Self {
        let mark = format!("{}>", self.mark);
        Self { house: self.house.clone(), id: ChatId::random(), mark, state: Mutex::default() }
    }

    /// Creates a chat below this one, and its sub-agent.
    fn child(&self, new: &NewSubAgent<'_>) -> (Arc<Self>, SubAgent) {
        let child = Arc::new(self.below());
        let agent = SubAgent {
            chat: child.id.clone(),
            parent: self.id.clone(),
            message: Some(new.card),
            role: new.role.map(str::to_owned),
            instance: new.instance.map(str::to_owned),
            place: new.place.map(str::to_owned),
            worktree: None,
            tools_json: new.tools_json.to_owned(),
            title: String::new(),
            status: None,
            created_at_ms: 0,
            used_at_ms: 0,
        };
        (child, agent)
    }

    fn log(&self, line: String) {
        self.house.log.add(format!("{}{line}", self.mark));
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.state.lock().unwrap()
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.house.settings.lock().unwrap()
    }

    /// Returns the value at once, unless the test broke this method.
    fn asked<T: Send + 'static>(&self, what: &'static str, value: T) -> Asked<'_, T> {
        let is_broken = self.settings().broken.contains(what);
        Box::pin(async move { if is_broken { Err(gone(what)) } else { Ok(value) } })
    }

    fn next_message(&self) -> MessageId {
        let mut last = self.house.messages.lock().unwrap();
        *last += 1;
        MessageId(*last)
    }

    fn add(&self, message: &Message) -> ItemId {
        let mut kept = self.kept();
        let turn = TurnId(kept.turn);
        let id = ItemId(kept.stored.items.len() as i64 + 1);
        kept.stored.items.push(TurnItem {
            id,
            turn,
            item_json: history::to_json(message),
            is_journaled: true,
        });
        id
    }

    /// The text that a message shows.
    pub(super) fn shown(&self, message: i64) -> String {
        self.kept().shown.get(&MessageId(message)).cloned().unwrap_or_default()
    }

    /// Replaces an item.
    pub(super) fn edit(&self, item: i64, message: &Message) {
        let stored = &mut self.kept().stored;
        let found = stored.items.iter_mut().find(|known| known.id == ItemId(item)).unwrap();
        found.item_json = history::to_json(message);
    }

    /// The messages, in order.
    pub(super) fn said(&self) -> Vec<Message> {
        self.kept().stored.items.iter().filter_map(|item| history::from_json(&item.item_json)).collect()
    }

    /// The results of calls, in order.
    pub(super) fn results(&self) -> Vec<String> {
        let text = |result: &ToolResult| {
            result.content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n")
        };
        let said = self.said();
        let results = said.iter().filter_map(|message| match message {
            Message::Tool(result) => Some(text(result)),
            Message::User(_) | Message::Assistant(_) => None,
        });
        results.collect()
    }

    fn ports(self: &Arc<Self>) -> Ports {
        let chat = Arc::clone(self);
        let say = move |text: &str| match chat.settings().is_translated {
            true => format!("<{text}>"),
            false => text.to_owned(),
        };
        Ports {
            journal: Arc::clone(self) as _,
            display: Arc::clone(self) as _,
            permissions: Arc::clone(self) as _,
            models: Arc::clone(self) as _,
            workplace: Arc::clone(self) as _,
            sub_agents: Arc::clone(self) as _,
            background: Arc::clone(self) as _,
            library: Library::default(),
            say: Arc::new(say),
        }
    }

    /// Begins a turn with this text.
    fn begin_turn(&self, text: &str) -> (TurnId, MessageId) {
        self.kept().turn += 1;
        self.add(&Message::user(text));
        (TurnId(self.kept().turn), self.next_message())
    }
}

impl Journal for Chat {
    fn begin<'a>(&'a self, model: &'a str) -> Asked<'a, Begins> {
        self.log(format!("begin {model}"));
        let left = self.kept().left.take();
        let begins = match (self.kept().ended_elsewhere, left) {
            (true, _) => Begins::Over,
            (false, Some(left)) => Begins::Again(Box::new(left)),
            (false, None) => Begins::First,
        };
        self.asked("begin", begins)
    }

    fn load(&self) -> Asked<'_, StoredContext> {
        let stored = self.kept().stored.clone();
        self.asked("load", stored)
    }

    fn append<'a>(&'a self, entry: Entry<'a>) -> Asked<'a, (ItemId, Message)> {
        let message = match entry {
            Entry::Said(message) => {
                self.log("said".to_owned());
                message
            }
            Entry::Answer(message, spent, count) => {
                self.log(format!("answer of {} for {}", spent.model, spent.usage.cost_micros));
                self.kept().stored.count = Some(count);
                message
            }
            Entry::Result(call, outcome, _) => {
                self.log(format!("result of {}", call.name));
                let content = std::iter::once(Content::Text(outcome.text)).chain(outcome.images).collect();
                let (call_id, is_error) = (call.id.clone(), outcome.is_error);
                Message::Tool(ToolResult { call_id, content, is_error })
            }
        };
        if self.settings().broken.contains("append") {
            return self.asked("append", (ItemId(0), message));
        }
        let item = self.add(&message);
        self.asked("append", (item, message))
    }

    fn change<'a>(&'a self, change: Change<'a>) -> Asked<'a, ()> {
        let stored = &mut self.kept().stored;
        match change {
            Change::Amended(item, message) => {
                self.log("amended".to_owned());
                let found = stored.items.iter_mut().find(|known| known.id == item).unwrap();
                found.item_json = history::to_json(message);
            }
            Change::Masked(masks) => {
                self.log(format!("masked {}", masks.len()));
                stored.masks.extend(masks.iter().cloned());
            }
            Change::Compacted(new) => {
                self.log("compacted".to_owned());
                stored.compaction = Some(new.compaction.clone());
                stored.items.retain(|item| item.id > new.compaction.up_to_item);
            }
            Change::NotCompacted(at) => {
                self.log("not compacted".to_owned());
                stored.compaction_tried_at = at;
            }
        }
        self.asked("change", ())
    }

    fn spend<'a>(&'a self, spent: Spent<'a>) -> Asked<'a, ()> {
        self.log(format!("spent {}", spent.usage.cost_micros));
        self.asked("spend", ())
    }

    fn begins<'a>(&'a self, call: &'a ToolCall, access: Access) -> Asked<'a, ()> {
        self.log(format!("runs {access:?}"));
        let turn = TurnId(self.kept().turn);
        self.kept().stored.begun.push(BegunCall { turn, call_id: call.id.clone() });
        self.asked("runs", ())
    }

    fn has_command(&self, _: CallKey) -> Asked<'_, bool> {
        let has_command = self.settings().has_command;
        self.asked("has_command", has_command)
    }

    fn end<'a>(&'a self, first: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()> {
        self.log(format!("end {:?} {}", state.status, state.error.unwrap_or_default()));
        let is_broken = self.settings().broken.contains("end");
        if is_broken { self.asked("end", ()) } else { self.reply(first, text, state) }
    }
}

impl Display for Chat {
    fn add_reply(&self) -> Asked<'_, MessageId> {
        let message = self.next_message();
        self.log(format!("reply {} begins", message.0));
        self.asked("add_reply", message)
    }

    fn reply<'a>(&'a self, message: MessageId, text: &'a str, state: ReplyState<'a>) -> Asked<'a, ()> {
        let ReplyState { status, error, waits, reasoning, .. } = state;
        let waits = if waits { " waits" } else { "" };
        let why = error.map(|error| format!(" ({error})")).unwrap_or_default();
        let thought = if reasoning.is_empty() { String::new() } else { format!(" [{reasoning}]") };
        let shown = format!("{status:?}{waits}: {text}{thought}{why}");
        self.log(format!("reply {} {shown}", message.0));
        self.kept().shown.insert(message, shown);
        self.asked("reply", ())
    }

    fn stream(&self, message: MessageId, what: Stream, text: String) {
        self.log(format!("stream {} {what:?} {text}", message.0));
    }

    fn notice<'a>(&'a self, text: &'a str) -> Asked<'a, ()> {
        self.log(format!("notice {text}"));
        self.asked("notice", ())
    }

    fn keep_call<'a>(&'a self, card: Card<'a>) -> Asked<'a, MessageId> {
        let left = self.kept().left_cards.pop_front();
        let message = left.unwrap_or_else(|| self.next_message());
        let shown = of_card(card);
        self.log(format!("card {} {shown}", message.0));
        self.kept().shown.insert(message, shown);
        self.asked("keep_call", message)
    }

    fn tell(&self, message: MessageId) {
        self.log(format!("tell {}", message.0));
    }

    fn call<'a>(&'a self, message: MessageId, card: Card<'a>) -> Asked<'a, ()> {
        let shown = of_card(card);
        self.log(format!("card {} {shown}", message.0));
        self.kept().shown.insert(message, shown);
        self.asked("call", ())
    }

    fn settle(&self, first: MessageId) -> Asked<'_, ()> {
        self.log(format!("settle {}", first.0));
        self.asked("settle", ())
    }
}

fn of_card(card: Card<'_>) -> String {
    let Card { tool, hint, asked_by, state, .. } = card;
    let by = asked_by.map(|name| format!(" by {name}")).unwrap_or_default();
    let state = match state {
        CallState::Asks(looked, _) => format!("asks {}", looked.proposal.effect),
        CallState::Questions(question, options) => format!("questions {question} {options:?}"),
        CallState::Runs => "runs".to_owned(),
        CallState::Delegates(agent) => format!("delegates {} {}", agent.steps, agent.doing),
        CallState::Settled(status) => format!("settled {status:?}"),
        CallState::Ended(status, outcome, took_ms) => {
            let steps = outcome.sub_agent.as_ref().map(|agent| format!(" {} steps", agent.steps));
            format!("{status:?} {took_ms:?}{}", steps.unwrap_or_default())
        }
    };
    format!("{tool} {hint}{by} {state}")
}

impl Permissions for Chat {
    fn mode(&self) -> Asked<'_, Mode> {
        let mode = self.settings().mode;
        self.asked("mode", mode)
    }

    fn ruling<'a>(&'a self, tool: &'a str, subject: Subject<'a>, counts: bool) -> Asked<'a, Ruling> {
        self.log(format!("ruling on {tool} {subject:?} {counts}"));
        let ruling = self.settings().rulings.get(tool).cloned().unwrap_or_default();
        self.asked("ruling", ruling)
    }

    fn hidden<'a>(&'a self, _tool: &'a str, _base: &'a str, paths: &'a [String]) -> Asked<'a, Vec<bool>> {
        self.asked("hidden", vec![false; paths.len()])
    }

    fn is_allowed<'a>(&'a self, tool: &'a str, subject: &'a str) -> Asked<'a, bool> {
        let is_allowed = self.settings().allowed.contains(&(tool.to_owned(), subject.to_owned()));
        self.asked("is_allowed", is_allowed)
    }

    fn allow_for_good<'a>(&'a self, tool: &'a str, subject: &'a str, _scope: &'a str) -> Asked<'a, ()> {
        self.log(format!("allowed for good {tool}"));
        self.settings().allowed.insert((tool.to_owned(), subject.to_owned()));
        self.asked("allow_for_good", ())
    }

    fn files_change(&self) -> Asked<'_, ()> {
        self.log("files change".to_owned());
        self.asked("files_change", ())
    }

    fn ask(&self, message: MessageId, ask: Ask) -> Asked<'_, Asking> {
        self.log(format!("ask with {} {:?}", message.0, ask.kind));
        let asking = self.house.asks.wait(UserId(1), message, ask);
        Box::pin(async { Ok(asking) })
    }

    fn wants_room(&self) -> bool {
        std::mem::take(&mut self.settings().wants_room)
    }
}

impl ModelPool for Chat {
    fn chain(&self, tier: Option<Tier>) -> BoxFuture<'_, Result<ModelChain, NoModel>> {
        if let Some(tier) = tier {
            self.log(format!("chain of {}", tier.as_str()));
        }
        let chain = self.settings().chain.clone();
        Box::pin(async move {
            let mut all = chain.map_err(NoModel::Unavailable)?;
            let setup = all.remove(0);
            Ok(ModelChain { setup, others: all })
        })
    }

    fn seat(&self, kind: Kind) -> Seat {
        self.house.slots.seat("1", kind)
    }

    fn patience(&self) -> Patience {
        let attempts = self.settings().attempts;
        Patience { attempts, pause: Duration::from_secs(1), pause_limit: Duration::from_secs(8) }
    }

    fn place(&self, kind: Kind) -> Place {
        self.house.admission.place(UserId(1), kind)
    }
}

impl Workplace for Chat {
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>> {
        Box::pin(async { Err(Failure::Away { kind: "offline", text: "there is no machine".to_owned() }) })
    }

    fn name(&self) -> Asked<'_, Option<String>> {
        self.asked("name", None)
    }

    fn cwd(&self) -> Asked<'_, String> {
        self.asked("cwd", String::new())
    }

    fn news(&self) -> Asked<'_, Option<String>> {
        let news = self.settings().news.clone();
        self.asked("news", news)
    }
}

impl SubAgents for Chat {
    fn take_name(&self, name: &str) -> Option<Name> {
        self.house.at_work.take_name(&self.id, name)
    }

    fn named<'a>(&'a self, name: &'a str) -> Asked<'a, Named> {
        let settings = self.settings();
        let named = match settings.agents.get(name) {
            Some(_) if settings.is_closed => Named::Closed,
            Some(agent) => Named::Open(Box::new(agent.clone())),
            None => Named::Nobody,
        };
        drop(settings);
        self.asked("named", named)
    }

    fn create<'a>(&'a self, new: NewSubAgent<'a>) -> Asked<'a, SubAgent> {
        let (child, agent) = self.child(&new);
        self.log(format!("sub-agent with {}", new.tools_json));
        let mut settings = self.settings();
        if let Some(name) = new.instance {
            settings.agents.insert(name.to_owned(), agent.clone());
        }
        settings.children.push(child);
        drop(settings);
        self.asked("create", agent)
    }

    fn called(&self) -> Asked<'_, Called> {
        let card = self.kept().left_cards.front().copied();
        let called = card.and_then(|card| self.settings().called.get(&card).cloned());
        let called = called.unwrap_or(Called::Nobody);
        self.asked("called", called)
    }

    fn is_at_work(&self, _: &ChatId) -> bool {
        false
    }

    fn place<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(async move {
            match name {
                "gpu-box" => Ok(Some(name.to_owned())),
                "laptop" => Ok(None),
                _ => Err(Failure::Message(format!("you have no machine {name}"))),
            }
        })
    }

    fn run<'a>(&'a self, task: SubAgentTask<'a>) -> BoxFuture<'a, Result<SubAgentEnd, Failure>> {
        let SubAgentTask { chat, text, worktree, goes_on, ancestry, cancelled, .. } = task;
        let child = self.settings().children.iter().find(|child| child.id == *chat).map(Arc::clone).unwrap();
        Box::pin(async move {
            if child.settings().broken.contains("run") {
                return Err(gone("chat").into());
            }
            let over = child.kept().over.take();
            if let (Some(turn), true) = (over, goes_on) {
                return Ok(SubAgentEnd { turn, worktree: None });
            }
            let (turn, message) = match goes_on {
                true => (TurnId(child.kept().turn), MessageId(900)),
                false => child.begin_turn(text),
            };
            let (ports, parts, user) = (&child.ports(), &PromptParts::default(), &ada());
            let hooks = &child.house.hooks;
            let (stop, chat) = (&CancellationToken::new(), &child.id);
            let context = child.settings().context;
            let turn =
                Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context };
            let turn = turn.run().await.unwrap();
            Ok(SubAgentEnd { turn, worktree: worktree.then(|| "(Its worktree is gone.)".to_owned()) })
        })
    }
}

impl BackgroundAgents for Chat {
    fn check(&self) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(async {
            match self.settings().broken.contains("background") {
                true => Err(Failure::Message("3 are at work already".to_owned())),
                false => Ok(()),
            }
        })
    }

    fn begin<'a>(&'a self, task: BackgroundTask<'a>) -> BoxFuture<'a, Result<(), Failure>> {
        let BackgroundTask { text, background, .. } = task;
        let Background { role_text, tier, tools_json, place, worktree, .. } = background;
        self.log(format!("background {text}: {role_text:?} {tier:?} {tools_json} {place:?} {worktree}"));
        Box::pin(async { Ok(()) })
    }

    fn end<'a>(&'a self, _: &'a ChatId) -> Asked<'a, bool> {
        self.asked("end", true)
    }

    fn send<'a>(&'a self, message: BackgroundMessage<'a>) -> Asked<'a, bool> {
        let at_work = self
            .settings()
            .agents
            .values()
            .any(|agent| agent.chat == *message.chat && agent.status.is_some_and(TurnStatus::is_open));
        if at_work {
            self.log(format!("sent {}", message.text));
        }
        self.asked("send", at_work)
    }

    fn hear(&self) -> Asked<'_, Option<(ItemId, Message)>> {
        let text = self.settings().heard.pop_front().unwrap_or_default();
        if text.is_empty() {
            return self.asked("hear", None);
        }
        Box::pin(async move { Ok(Some(self.append(Entry::Said(Message::user(text))).await?)) })
    }
}

/// The user of all tests.
fn ada() -> User {
    User { id: UserId(1), name: "ada".to_owned(), admin: false, created_at_ms: 0 }
}

/// A part of the prompt.
struct Part(&'static str, &'static str, bool);

impl PromptPart for Part {
    fn key(&self) -> &str {
        self.0
    }

    fn is_static(&self) -> bool {
        self.2
    }

    fn make<'a>(&'a self, _: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(async { Ok((!self.1.is_empty()).then(|| self.1.to_owned())) })
    }
}

/// A chat, its model and its tools.
pub(super) struct World {
    pub(super) chat: Arc<Chat>,
    pub(super) played: Played,
    pub(super) tools: Arc<Registry>,
    pub(super) log: Log,
    pub(super) cancelled: CancellationToken,
    pub(super) stop: CancellationToken,
}

impl World {
    /// A chat whose model gives these answers, then "done".
    pub(super) fn new(answers: Vec<Vec<Step>>) -> Self {
        let mut answers = VecDeque::from(answers);
        Self::by(move |_, _| answers.pop_front().unwrap_or_else(|| super::model::says("done")))
    }

    /// A chat whose model answers with this script.
    pub(super) fn by(script: impl FnMut(&Request, usize) -> Vec<Step> + Send + 'static) -> Self {
        let played = Played::by(script);
        let mut chat = Chat::default();
        chat.house.played = Some(played.clone());
        chat.settings().chain = Ok(vec![played.setup("one", 100_000)]);
        let log = chat.house.log.clone();
        Self {
            chat: Arc::new(chat),
            played,
            tools: Arc::default(),
            log,
            cancelled: CancellationToken::new(),
            stop: CancellationToken::new(),
        }
    }

    /// The same chat with a tool.
    pub(super) fn with(self, tool: impl Tool) -> Self {
        self.tools.put(tool);
        self
    }

    /// The same chat with a hook.
    pub(super) fn hooked(self, hook: impl Hook) -> Self {
        self.chat.house.hooks.put(hook);
        self
    }

    /// The same chat in a different mode.
    pub(super) fn mode(self, mode: Mode) -> Self {
        self.set(|settings| settings.mode = mode);
        self
    }

    /// The same chat with a changed setting.
    pub(super) fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.chat.settings());
    }

    /// Marks the chat's turns as ended elsewhere.
    pub(super) fn end_elsewhere(&self) {
        self.chat.kept().ended_elsewhere = true;
    }

    /// Makes a port's method fail from now on.
    pub(super) fn breaks(&self, method: &'static str) {
        self.chat.settings().broken.insert(method);
    }

    /// Adds messages to the conversation, as an earlier turn would have.
    pub(super) fn before(&self, messages: Vec<Message>) {
        for message in messages {
            self.chat.add(&message);
        }
    }

    /// Records that a call of the next turn was about to take effect.
    pub(super) fn had_begun_next(&self, call_id: &str) {
        let mut kept = self.chat.kept();
        let turn = TurnId(kept.turn + 1);
        kept.stored.begun.push(BegunCall { turn, call_id: call_id.to_owned() });
    }

    /// Resumes a turn that has these messages on record after the first one.
    pub(super) fn begin_again(
        &self,
        text: &str,
        record: &[Message],
        left: Left,
    ) -> JoinHandle<Option<TurnEnd>> {
        let begun = self.chat.begin_turn(text);
        self.before(record.to_vec());
        self.chat.kept().left = Some(left);
        self.serve(begun)
    }

    /// Records an interrupted call of a sub-agent: its card, and the sub-agent's turn, which has these messages on record after its task,
    /// or has ended.
    pub(super) fn left_sub_agent(&self, card: i64, record: &[Message], left: Result<Left, TurnEnd>) {
        let card = MessageId(card);
        let new = NewSubAgent { card, role: None, instance: None, place: None, tools_json: r#"["Look"]"# };
        let (child, agent) = self.chat.child(&new);
        child.begin_turn("work");
        for message in record {
            child.add(message);
        }
        let is_over = left.is_err();
        match left {
            Ok(left) => child.kept().left = Some(left),
            Err(end) => child.kept().over = Some(end),
        }
        self.chat.kept().left_cards.push_back(card);
        self.set(|settings| {
            settings.children.push(child);
            settings.called.insert(card, Called::Agent(Box::new(CalledAgent { agent, steps: 2, is_over })));
        });
    }

    /// Records the card of an interrupted call, with the state of its sub-agent.
    pub(super) fn left_card(&self, card: i64, called: Called) {
        self.chat.kept().left_cards.push_back(MessageId(card));
        self.set(|settings| drop(settings.called.insert(MessageId(card), called)));
    }

    /// Like [`Self::begin_again`], and waits for the end of the turn.
    pub(super) async fn again(&self, text: &str, record: &[Message], left: Left) -> TurnEnd {
        self.begin_again(text, record, left).await.unwrap().expect("the server does not stop")
    }

    /// Records that a call of an earlier turn was about to take effect.
    pub(super) fn had_begun(&self, call_id: &str) {
        let mut kept = self.chat.kept();
        let turn = TurnId(kept.turn);
        kept.stored.begun.push(BegunCall { turn, call_id: call_id.to_owned() });
    }

    /// Begins a turn with this text.
    pub(super) fn begin(&self, text: &str) -> JoinHandle<Option<TurnEnd>> {
        self.serve(self.chat.begin_turn(text))
    }

    fn serve(&self, (turn, message): (TurnId, MessageId)) -> JoinHandle<Option<TurnEnd>> {
        let (chat, tools) = (Arc::clone(&self.chat), self.tools.snapshot());
        let (cancelled, stop) = (self.cancelled.clone(), self.stop.clone());
        tokio::spawn(async move {
            let (ports, parts, user) = (&chat.ports(), &parts(), &ada());
            let ancestry = &TurnAncestry::top(&chat.id, turn, tools, Arc::clone(&ports.display));
            let hooks = &chat.house.hooks;
            let context = chat.settings().context;
            let (chat, cancelled, stop) = (&chat.id, &cancelled, &stop);
            Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context }
                .run()
                .await
        })
    }

    /// Runs a turn to its end.
    pub(super) async fn run(&self, text: &str) -> TurnEnd {
        self.begin(text).await.unwrap().expect("the server does not stop")
    }

    /// Compresses the chat while nothing is in progress in it; returns the text for the user.
    pub(super) async fn compress(&self) -> Option<String> {
        let (ports, parts, user, chat) = (&self.chat.ports(), &parts(), &ada(), &self.chat.id);
        let turn = TurnId(self.chat.kept().turn);
        let ancestry = &TurnAncestry::top(chat, turn, self.tools.snapshot(), Arc::clone(&ports.display));
        let hooks = &self.chat.house.hooks;
        let (message, cancelled, stop) = (MessageId(0), &self.cancelled, &self.stop);
        let context = self.chat.settings().context;
        Turn { ports, parts, hooks, user, chat, turn, message, cancelled, stop, ancestry, context }
            .compress_alone()
            .await
    }

    /// Answers the next question as soon as it is asked; returns the message that asked it.
    pub(super) async fn answer(&self, said: Reply) -> i64 {
        for _ in 0..100_000 {
            for line in self.log.lines() {
                let Some(rest) = line.trim_start_matches('>').strip_prefix("ask with ") else { continue };
                let message: i64 = rest.split(' ').next().unwrap().parse().unwrap();
                if self.chat.house.asks.deliver(UserId(1), MessageId(message), said.clone()) {
                    return message;
                }
            }
            sleep(Duration::from_millis(1)).await;
        }
        panic!("nobody was asked\n{}", self.log.lines().join("\n"));
    }

    /// Like [`Self::answer`], for a question about a tool's permission.
    pub(super) async fn allow(&self, answer: Answer) -> i64 {
        self.answer(Reply::Approval(answer)).await
    }

    /// Takes the server's only place for another user's answer.
    pub(super) fn take_place(&self) -> Place {
        let place = self.chat.house.admission.place(UserId(2), Kind::Shared);
        assert!(place.try_take());
        place
    }

    /// Waits for this many milliseconds.
    pub(super) async fn wait(&self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }

    /// The requests to the model, in order.
    pub(super) fn asked(&self) -> Vec<Request> {
        self.played.asked()
    }

    /// The texts of the last request's messages.
    pub(super) fn told(&self) -> Vec<String> {
        let asked = self.asked();
        let last = asked.last().expect("the model was asked");
        last.messages.iter().map(|message| words(message)).collect()
    }
}

/// The text of a message.
pub(super) fn words(message: &Message) -> String {
    let text = |content: &[Content]| content.iter().filter_map(Content::text).collect::<Vec<_>>().join("\n");
    match message {
        Message::User(content) => text(content),
        Message::Assistant(said) => said.text.clone(),
        Message::Tool(result) => text(&result.content),
    }
}

fn parts() -> PromptParts {
    let parts: Vec<Arc<dyn PromptPart>> = vec![
        Arc::new(Part("20", "second", true)),
        Arc::new(Part("10", "first", true)),
        Arc::new(Part("30", "", true)),
        Arc::new(Part("40", "here", false)),
    ];
    parts.into()
}
