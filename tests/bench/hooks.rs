//! The time that hooks add to a tool call of a model.
//!
//! A scripted model repeatedly calls a tool that only reads from the store. A sample is the time from the end of an answer to the end of the next
//! request. The kinds of calls take turns, each in a separate chat.
//!
//! Where no hook runs, little time is added, so that case is measured in this process, where the lower bound can be measured too: chats to which
//! hooks were never connected are compared with chats that have no hook, and with chats that have a hook for another tool. A command hook is measured
//! with real programs: the time that the hook adds to a call is compared with a bare exec of the same command through a handle.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chats::models::{Provider, Subscription, Tier, TierModel};
use chats::{ChatService, ModelsConfig};
use extensions::hooks::{HookRunner, Used};
use extensions::mcp::McpServers;
use extensions::plugins::Plugins;
use sandbox::{ExecRequest, RouterConfig, SandboxRouter};
use serde_json::{Value, json};
use store::{Name, Store, User};
use tempfile::TempDir;
use tests::http::Client;
use tests::{Habits, Machine, Reply, ScriptedModel, Server};
use tokio::runtime::Runtime;
use tools::internet::Internet;

use crate::handle::exec;
use crate::remote::Remote;
use crate::samples::{Row, Samples, WARM_UPS, shown};

/// The number of turns of each kind.
const ROUNDS: usize = 12;
/// The number of answers in a turn: all but the last one call a tool.
const ITERATIONS: usize = 60;
/// The number of execs in each round.
const EXECS: usize = 50;
/// The limit on the time that hooks add to a call for which no hook runs.
const NONE_RUNS: Duration = Duration::from_micros(100);
/// The limit on the time that a command hook takes beyond a bare exec.
const COMMAND: Duration = Duration::from_millis(5);
/// The number of files of a large plugin, as a published one has.
const PLUGIN_FILES: usize = 2_280;
/// The size of each of its files, in bytes.
const PLUGIN_FILE_BYTES: usize = 5_000;
/// The model behaves as in the rows about the engine.
const HABITS: Habits = Habits { remembers: false, counts: false, pauses: true };

pub(crate) fn rows(remote: &Remote) -> Vec<Row> {
    let mut rows = without_a_run();
    rows.extend(commands(remote));
    rows
}

/// A model whose turns have [`ITERATIONS`] answers each, and a channel that signals the last answer of a turn.
struct Caller {
    model: ScriptedModel,
    done: Receiver<()>,
}

impl Caller {
    fn start() -> Self {
        let (said, done) = channel();
        let mut answers = 0;
        let model = ScriptedModel::start_with(HABITS, move |_| {
            answers += 1;
            if answers % ITERATIONS == 0 {
                said.send(()).unwrap();
                return Reply::Say("done".to_owned());
            }
            Reply::Call(vec![("offload_recall", json!({"id": "x"}))])
        });
        Self { model, done }
    }

    /// The times of the calls of a turn that this function starts.
    fn times(&self, begin: impl FnOnce()) -> Vec<Duration> {
        let before = self.model.times().len();
        begin();
        self.done.recv().unwrap();
        // The end of the turn is stored after its last answer; the next kind must not wait for that.
        sleep(Duration::from_millis(50));
        let times = self.model.times().split_off(before);
        times.windows(2).skip(WARM_UPS).map(|pair| pair[1].0 - pair[0].1).collect()
    }
}

/// Returns a set of hooks that has one command hook, for this tool.
fn hook_of(tool: &str) -> String {
    let hook = json!({"matcher": tool, "hooks": [{"type": "command", "command": "true"}]});
    json!({"enable_command_hooks": true, "hooks": {"PreToolUse": [hook]}}).to_string()
}

/// Creates a row for the time added to the lower bound, compared with its limit.
fn within(samples: &Samples, what: &str, against: &str, added: Duration, limit: Duration) -> Row {
    Row {
        against: format!("{against}: adds {}", shown(added)),
        ratio: format!("{:.2} ×", added.as_secs_f64() / limit.as_secs_f64()),
        target: "≤ 1.0 ×".to_owned(),
        ..samples.row(what)
    }
}

/// Measures calls in this process, for which no hook runs.
fn without_a_run() -> Vec<Row> {
    // Another group may have installed the TLS provider first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let caller = Caller::start();
    let (bare, hooked) =
        (House::open(&runtime, &caller.model, false), House::open(&runtime, &caller.model, true));
    let other = hook_of("NoSuchTool");
    let kinds = [(&bare, None), (&hooked, None), (&hooked, Some(other.as_str()))];
    let mut samples: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for ((house, document), samples) in kinds.iter().zip(&mut samples) {
            samples.extend(caller.times(|| house.work(&runtime, *document)));
        }
    }
    let [floor, none, others] = samples.map(Samples::new);
    let added = |samples: &Samples| samples.p50().saturating_sub(floor.p50());
    vec![
        floor.row("a call in this process, no hooks connected"),
        within(
            &none,
            "the same, hooks connected and none set",
            "at most 0.1 ms more than no hooks connected",
            added(&none),
            NONE_RUNS,
        ),
        within(
            &others,
            "the same, hooks of other tools set",
            "at most 0.1 ms more than no hooks connected",
            added(&others),
            NONE_RUNS,
        ),
    ]
}

/// A server's chats in this process, without a machine.
struct House {
    service: ChatService,
    user: User,
    hooks: Option<HookRunner>,
    _home: TempDir,
}

impl House {
    fn open(runtime: &Runtime, model: &ScriptedModel, has_hooks: bool) -> Self {
        runtime.block_on(async {
            let store = Store::open_in_memory().await.unwrap();
            let name = Name::parse("ada").unwrap();
            let user = store.add_user(&name, "correct horse", false).await.unwrap();
            let (router, home) = (SandboxRouter::new(RouterConfig::default()), TempDir::new().unwrap());
            let scripted = TierModel { name: "scripted".to_owned(), ..TierModel::default() };
            let subscription = Subscription {
                provider: Provider::OpenAi,
                base_url: Some(model.url().to_owned()),
                runner: None,
                models: [(Tier::Balance, scripted)].into(),
                default_tier: None,
                fallback: None,
            };
            let models = ModelsConfig { server: Some((subscription, None)), ..ModelsConfig::default() };
            let service = ChatService::new(store.clone(), router.clone(), models, Internet::default());
            let hooks = has_hooks.then(|| {
                let (ledger, path) = (|| service.execs().clone(), || home.path().to_owned());
                let plugins = Plugins::new(ledger(), store.clone(), &[]);
                let mcp_servers =
                    McpServers::new(ledger(), store.clone(), router.clone(), path(), &[], plugins.clone());
                let used =
                    Used { plugins, mcp_servers, judge: Arc::new(service.clone()), secrets: Vec::new() };
                let notice: extensions::Notice = Arc::new(|_, _, _| Box::pin(async {}));
                let hooks =
                    HookRunner::new(ledger(), store.clone(), router.clone(), path(), &[], notice, used);
                service.hooks().put(hooks.clone());
                hooks
            });
            Self { service, user, hooks, _home: home }
        })
    }

    /// Starts a turn in a new chat, with these hooks.
    fn work(&self, runtime: &Runtime, document: Option<&str>) {
        runtime.block_on(async {
            if let Some(hooks) = &self.hooks {
                hooks.set_document(&self.user, document).await.unwrap();
            }
            let chat = self.service.create(&self.user).await.unwrap();
            self.service.post(&self.user, &chat.id, "work").await.unwrap();
        });
    }
}

/// Measures calls of real programs, with a command hook and without one.
fn commands(remote: &Remote) -> Vec<Row> {
    let caller = Caller::start();
    let options = [&["--docker", "off"], &caller.model.options("openai")[..]].concat();
    let server = Server::start_with(&options);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, &alice.name);
    let work = |document: Option<String>| {
        let text = document.map_or(Value::Null, Value::from);
        let set = client.send("PUT", "/hooks/document", json!({"text": text}).to_string().as_bytes());
        assert_eq!(set.status, 200);
        let chat = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
        let answer = client.send("POST", &format!("/chats/{chat}/messages"), br#"{"text": "work"}"#);
        assert_eq!(answer.status, 202);
    };
    let (mut none, mut command, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        none.extend(caller.times(|| work(None)));
        command.extend(caller.times(|| work(Some(hook_of("offload_recall")))));
        bare.extend(execs(remote));
    }
    install_plugin(&client);
    let mut of_plugin = Vec::new();
    for _ in 0..ROUNDS {
        of_plugin.extend(caller.times(|| work(None)));
    }
    let [none, command, bare, of_plugin] = [none, command, bare, of_plugin].map(Samples::new);
    let added = |samples: &Samples| samples.p50().saturating_sub(none.p50());
    let beyond = |samples: &Samples| added(samples).saturating_sub(bare.p50());
    let against = |samples: &Samples| {
        format!("at most 5 ms more than the bare exec (with it {})", shown(added(samples)))
    };
    vec![
        none.row("a call of a server, no hook set"),
        bare.row("handle exec of the shell line `true`"),
        within(
            &command,
            "a call of a server, with a command hook `true`",
            &against(&command),
            beyond(&command),
            COMMAND,
        ),
        within(
            &of_plugin,
            &format!("the same, the hook of a plugin with {PLUGIN_FILES} files"),
            &against(&of_plugin),
            beyond(&of_plugin),
            COMMAND,
        ),
    ]
}

/// Installs a plugin with many files, whose hook runs the same command.
fn install_plugin(client: &Client) {
    let file = |path: String, content: &str| json!({"path": path, "content": STANDARD.encode(content), "executable": false});
    let hook = json!({"matcher": "offload_recall", "hooks": [{"type": "command", "command": "true"}]});
    let hooks = json!({"hooks": {"PreToolUse": [hook]}}).to_string();
    let others =
        (1..PLUGIN_FILES).map(|at| file(format!("lib/{}/{at}.js", at / 40), &"x".repeat(PLUGIN_FILE_BYTES)));
    let files: Vec<Value> =
        std::iter::once(file("hooks/hooks.json".to_owned(), &hooks)).chain(others).collect();
    let post = |path: &str, hash: Option<&Value>| {
        let body = json!({"name": "large", "files": files, "hash": hash}).to_string();
        let answer = client.send("POST", path, body.as_bytes());
        assert!(answer.status < 300, "{answer:?}");
        answer.json()
    };
    let looked = post("/plugins/look", None);
    post("/plugins", Some(&looked["hash"]));
}

/// Measures bare execs of the hook's command.
fn execs(remote: &Remote) -> Vec<Duration> {
    let sandbox = remote.sandbox();
    remote.run(async move {
        let mut times = Vec::new();
        for sample in 0..EXECS + WARM_UPS {
            let start = Instant::now();
            exec(&sandbox, ExecRequest::shell("true")).await;
            if sample >= WARM_UPS {
                times.push(start.elapsed());
            }
        }
        times
    })
}
