//! The world in which a page's commands run: a server with a scripted model, alice and her machines, bob, and what listens outside.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use tests::docker::{self, IMAGE};
use tests::platforms::feishu::{APP_ID, APP_SECRET, Feishu};
use tests::platforms::telegram::Telegram;
use tests::{Asked, Gate, Machine, Page, Pages, Person, Reply, ScriptedModel, Server, binaries};

use super::files;
use super::page::root;
use super::table::{MODEL, Says, Setting};
use crate::docker::Cleanup;
use crate::mcp_over_http::{Guarded, OverHttp};
use crate::mcp_servers::results_since;

/// The redirect URL of `sandbridge channel login`.
const CHANNEL_LOGIN: &str = "http://127.0.0.1:8735/callback";

pub(super) struct World {
    pub(super) page: &'static str,
    /// Alice's home directory at her desk.
    home: TempDir,
    alice: Person,
    bob: Person,
    /// The facts that were asked for, by their names.
    facts: BTreeMap<String, String>,
    /// What listens outside, which ends with this.
    services: Vec<Box<dyn Any>>,
    laptop: Machine,
    _nas: Option<Machine>,
    _containers: Option<Cleanup>,
    server: Server,
    _model: ScriptedModel,
}

impl World {
    pub(super) fn new(page: &'static str) -> Self {
        let setting = Setting::of(page);
        if setting.serve.contains(&IMAGE) {
            docker::ready();
        }
        let model = ScriptedModel::start(move |asked| reply(page, asked));
        let options = [setting.serve, &["--fetch-allow", "127.0.0.1"], &model.options("openai")[..]].concat();
        let server = Server::start_with(&options);
        let containers = setting.serve.contains(&IMAGE).then(|| Cleanup::of(&server));
        let (alice, bob) = (server.person("alice"), server.person("bob"));
        let laptop = Machine::start_with(&server, &alice, "laptop", setting.laptop);
        let nas = setting.has_nas.then(|| Machine::start(&server, &alice, "nas"));
        alice.run(&["use", "laptop"]);
        let home = TempDir::with_prefix("sandbridge-docs-").unwrap();
        let mut world = Self {
            page,
            home,
            alice,
            bob,
            facts: BTreeMap::new(),
            services: Vec::new(),
            laptop,
            _nas: nas,
            _containers: containers,
            server,
            _model: model,
        };
        world.fill();
        world
    }

    /// Writes alice's files: those of her client, and those that the pages name, at her desk and on her laptop.
    fn fill(&mut self) {
        fs::create_dir_all(self.home().join(".sandbridge")).unwrap();
        fs::create_dir_all(self.desk()).unwrap();
        let login = self.alice.home().join("client.json");
        fs::copy(login, self.home().join(".sandbridge/client.json")).unwrap();
        // Without this, curl succeeds whatever the server answers.
        fs::write(self.home().join(".curlrc"), "fail-with-body\nsilent\nshow-error\n").unwrap();
        let files = files::of(self.page);
        for (path, content) in files {
            // A text from a document names what is outside.
            let content = match String::from_utf8(content) {
                Ok(text) => self.filled(&text).into_bytes(),
                Err(bytes) => bytes.into_bytes(),
            };
            for directory in [self.desk(), self.laptop.workspace().to_owned()] {
                files::put(&directory.join(&path), &content);
            }
        }
    }

    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The working directory of alice's shell.
    pub(super) fn desk(&self) -> PathBuf {
        self.home().join("desk")
    }

    /// The environment of alice's shell.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let programs = format!("{}:{}", text(&binaries::directory()), std::env::var("PATH").unwrap());
        vec![
            ("PATH", programs),
            ("HOME", text(self.home())),
            ("BOB", text(&self.bob.home())),
            ("SANDBRIDGE_SERVER", self.server.url().to_owned()),
            ("SANDBRIDGE_RUNNER_STATIC", text(&binaries::runner_static())),
            ("LC_ALL", "C.UTF-8".to_owned()),
        ]
    }

    /// A text in which `{NAME}` is replaced by the fact of that name; what it is about is started when it is first named.
    pub(super) fn filled(&mut self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            let name: String = rest[at + 1..].chars().take_while(char::is_ascii_lowercase).collect();
            let end = at + 1 + name.len();
            let fact = rest[end..].starts_with('}').then(|| self.fact(&name)).flatten();
            match fact {
                Some(fact) => {
                    filled.push_str(&rest[..at]);
                    filled.push_str(&fact);
                    rest = &rest[end + 1..];
                }
                None => {
                    filled.push_str(&rest[..=at]);
                    rest = &rest[at + 1..];
                }
            }
        }
        filled + rest
    }

    fn fact(&mut self, name: &str) -> Option<String> {
        if let Some(known) = self.facts.get(name) {
            return Some(known.clone());
        }
        let fact = self.found(name)?;
        self.facts.insert(name.to_owned(), fact.clone());
        Some(fact)
    }

    fn found(&mut self, name: &str) -> Option<String> {
        let fact = match name {
            "url" => self.server.url().to_owned(),
            "host" => self.server.url().trim_start_matches("http://").to_owned(),
            "root" => root().to_str().unwrap().to_owned(),
            "image" => IMAGE.to_owned(),
            "static" => binaries::runner_static().to_str().unwrap().to_owned(),
            "key" => text(&self.alice.json(&["key", "add", "docs", "--json"])["key"]),
            "token" => self.alice.add_runner("box"),
            "database" | "target" => pgserver::database(),
            "app" => APP_ID.to_owned(),
            "secret" => APP_SECRET.to_owned(),
            "bucket" => {
                let server = s3server::S3Server::start(&["company-data"]);
                self.keeps(server, |server| server.endpoint())
            }
            "pages" => {
                let www = self.desk().join("www");
                let pages = Pages::start(move |path| page_of(&www, path));
                self.keeps(pages, |pages| format!("127.0.0.1:{}", pages.port()))
            }
            "everything" => self.keeps(OverHttp::start(), |server| format!("127.0.0.1:{}", server.1)),
            "guarded" => self.keeps(Guarded::start(3600), |server| format!("127.0.0.1:{}", server.1)),
            "telegram" => {
                let telegram = Telegram::start();
                telegram.unhurried();
                self.keeps(telegram, Telegram::url)
            }
            "feishu" => {
                let feishu = Feishu::start();
                feishu.logs_in(CHANNEL_LOGIN, Some("ou_alice"));
                self.keeps(feishu, Feishu::url)
            }
            _ => return None,
        };
        Some(fact)
    }

    fn keeps<S: Any>(&mut self, service: S, fact: impl FnOnce(&S) -> String) -> String {
        let fact = fact(&service);
        self.services.push(Box::new(service));
        fact
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a text")).to_owned()
}

/// The page at a path: a file below a directory.
fn page_of(www: &Path, path: &str) -> Page {
    let path = path.split('?').next().unwrap_or_default().trim_start_matches('/');
    match fs::read(www.join(path)) {
        Ok(bytes) => {
            let media_type = if path.ends_with(".gz") { "application/gzip" } else { "application/json" };
            Page::Is(media_type, bytes)
        }
        Err(_) => Page::Status(404),
    }
}

/// The scripted model's reply.
fn reply(page: &str, asked: &Asked) -> Reply {
    let (message, handle) = (asked.last_of_user(), asked.agent());
    let of = |says: &&Says| says.page == page && (message.contains(says.to) || handle == says.to);
    let Some(says) = MODEL.iter().find(of) else { return Reply::Say("That is all.".to_owned()) };
    match says.calls.get(results_since(asked)) {
        Some((tool, arguments)) => Reply::Call(vec![(tool, serde_json::from_str(arguments).unwrap())]),
        None if says.is_endless => Reply::Held("I am at work.".to_owned(), Gate::default()),
        None => Reply::Say("That is all.".to_owned()),
    }
}
