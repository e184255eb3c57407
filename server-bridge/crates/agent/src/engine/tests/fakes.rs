//! Tools with a scripted behaviour.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::world::Log;
use crate::approval::Access;
use crate::tool::look::part;
use crate::tool::{
    Beside, Call, DelegationRequest, Failure, ForSubAgents, Ground, Live, Looked, Outcome, Phrase, Question,
    Rules, Subject, Tool, ToolContext,
};

/// A tool's behaviour.
#[derive(Clone)]
pub(in crate::engine) enum Does {
    /// The tool returns its arguments after this many milliseconds.
    Echo(u64),
    /// The tool fails, and the model gets the error.
    Fails,
    /// The tool's machine becomes unreachable.
    GoesAway,
    /// The store fails during its call.
    LosesStore,
    /// The tool waits until it is cancelled.
    WaitsForCancel,
    /// The tool asks its user a question.
    Asks,
    /// The tool writes this many pieces, 20 ms apart.
    Writes(usize),
    /// The tool returns the plan flag, and whether it was allowed to run as another user.
    TellsContext,
    /// The tool calls a sub-agent.
    Delegates,
    /// The tool returns this text, as a part of a longer result.
    Gives(String),
    /// The tool shows an image.
    Shows(llm::Content),
    /// The tool finds the tool with this name.
    Finds(&'static str),
}

/// A tool of a test.
#[derive(Clone)]
pub(in crate::engine) struct Fake {
    name: String,
    rules: Rules,
    does: Does,
    log: Log,
    at_work: Arc<AtomicUsize>,
    /// True if looking at a call fails.
    looks_bad: bool,
    /// The user account that its calls name to run as.
    run_as: Option<&'static str>,
}

impl Fake {
    pub(in crate::engine) fn new(log: &Log, name: &str, rules: Rules, does: Does) -> Self {
        let (log, at_work) = (log.clone(), Arc::default());
        Self {
            name: name.to_owned(),
            rules: rules.without_machine(),
            does,
            log,
            at_work,
            looks_bad: false,
            run_as: None,
        }
    }

    /// A tool that only reads.
    pub(in crate::engine) fn reads(log: &Log, name: &str, does: Does) -> Self {
        Self::new(log, name, Rules::of(Access::Read), does)
    }

    /// A tool that calls sub-agents.
    pub(in crate::engine) fn delegates(log: &Log) -> Self {
        let rules = Rules::of(Access::Read)
            .beside(Beside::SubAgents)
            .for_sub_agents(ForSubAgents::Named)
            .sees_cancel();
        Self::new(log, "SubAgent", rules, Does::Delegates)
    }

    /// The same tool, working on a machine.
    pub(in crate::engine) fn on_a_machine(mut self) -> Self {
        self.rules.needs_machine = true;
        self
    }

    /// The same tool, with looking at a call failing.
    pub(in crate::engine) fn looks_bad(mut self) -> Self {
        self.looks_bad = true;
        self
    }

    /// The same tool, running as another user of the machine.
    pub(in crate::engine) fn run_as(mut self, user: &'static str) -> Self {
        self.run_as = Some(user);
        self
    }
}

impl Tool for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        "a tool of a test"
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    fn rules(&self) -> Rules {
        self.rules
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        if arguments.contains_key("bad") {
            return Err("the arguments are invalid: bad".to_owned());
        }
        let word = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let tools = arguments.get("tools").map(|names| serde_json::from_value(names.clone()).unwrap());
        Ok(Box::new(FakeCall {
            tool: self.clone(),
            x: word("x").unwrap_or_default(),
            task: word("task").unwrap_or_default(),
            instance: word("instance"),
            on: word("on"),
            worktree: word("worktree").is_some(),
            background: word("background").is_some(),
            model: word("model"),
            role: word("role"),
            tools,
        }))
    }
}

struct FakeCall {
    tool: Fake,
    x: String,
    task: String,
    instance: Option<String>,
    on: Option<String>,
    worktree: bool,
    background: bool,
    model: Option<String>,
    role: Option<String>,
    tools: Option<Vec<String>>,
}

impl Call for FakeCall {
    fn access(&self) -> Access {
        self.tool.rules.access
    }

    fn run_as(&self) -> Option<&str> {
        self.tool.run_as
    }

    fn hint(&self) -> &str {
        &self.x
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Command(&self.x)
    }

    fn look<'a>(&'a self, _: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(async {
            if self.tool.looks_bad {
                return Err(Failure::Message("there is no such file".to_owned()));
            }
            let looked = Looked::words(format!("uses {}", self.tool.name), vec![part("x", &self.x)]);
            Ok(looked.always(&[&self.tool.name, &self.x], "this very call".to_owned()))
        })
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.work(context, live))
    }
}

impl FakeCall {
    async fn work(&self, context: &ToolContext<'_>, live: Live<'_>) -> Result<Outcome, Failure> {
        let Self { tool, x, .. } = self;
        let at_work = tool.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        let _ends = Ends(&tool.at_work);
        let again = if context.agent().is_ok_and(|turn| turn.is_taken_up) { "taken up" } else { "" };
        tool.log.add(format!("{} begins {again}{x} ({at_work} at work)", tool.name));
        let outcome = match &tool.does {
            Does::Echo(ms) => {
                sleep(Duration::from_millis(*ms)).await;
                Outcome::done(format!("{} of {x}", tool.name))
            }
            Does::Fails => return Err(Failure::Message("it did not work".to_owned())),
            Does::GoesAway => {
                return Err(Failure::Away { kind: "offline", text: "laptop is offline".to_owned() });
            }
            Does::LosesStore => return Err(super::world::gone("chat").into()),
            Does::WaitsForCancel => {
                context.cancelled.cancelled().await;
                sleep(Duration::from_millis(100)).await;
                Outcome::failed("it tidied up")
            }
            Does::Asks => {
                let question = Question { text: vec![Phrase::theirs(x)], options: vec![Phrase::ours("yes")] };
                match context.host.ask(&question).await? {
                    Some(words) => Outcome::done(words),
                    None => Outcome::failed("nobody answered"),
                }
            }
            Does::Writes(pieces) => {
                for piece in 0..*pieces {
                    live(&format!("piece {piece};"));
                    sleep(Duration::from_millis(20)).await;
                }
                Outcome::done("written")
            }
            Does::TellsContext => {
                let approved = context.approval.is_some();
                Outcome::done(format!("plan {}, approved {approved}", context.is_plan))
            }
            Does::Delegates => {
                let request = DelegationRequest {
                    tool: "SubAgent",
                    hint: self.task.clone(),
                    task: &self.task,
                    role: self.role.as_deref(),
                    tools: self.tools.as_deref(),
                    model: self.model.as_deref(),
                    instance: self.instance.as_deref(),
                    on: self.on.as_deref(),
                    worktree: self.worktree,
                    background: self.background,
                };
                context.host.delegate(request).await?
            }
            Does::Gives(text) => Outcome::part(text),
            Does::Finds(name) => {
                let text = crate::tool::deferred::found_line(name, "finds it");
                Outcome { found: vec![(*name).to_owned()], ..Outcome::part(text) }
            }
            Does::Shows(image) => Outcome { images: vec![image.clone()], ..Outcome::part("an image") },
        };
        tool.log.add(format!("{} ends {x}", tool.name));
        Ok(outcome)
    }
}

/// Counts a call as running until this is dropped.
struct Ends<'a>(&'a AtomicUsize);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
