//! `sandbridge here`: one command, one person, one directory.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::server::{Output, run};
use tests::terminal::Terminal;
use tests::tmux::Tmux;
use tests::{Asked, Reply, ScriptedModel, binaries, eventually, process};

/// The timeout for every step.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time limit from an empty home directory to the output of the first command; a release build on an idle machine takes three seconds.
const FIRST_ANSWER: Duration = Duration::from_secs(60);
/// The number of processes that start at the same time in one directory.
const AT_ONCE: usize = 4;

/// A person with an empty home, and other directories next to it.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::with_prefix("sandbridge-here-").unwrap();
        for name in ["person", "project", "other"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars() {
            if name.starts_with("SANDBRIDGE_")
                || name.starts_with("OPENAI_")
                || name.starts_with("ANTHROPIC_")
            {
                command.env_remove(name);
            }
        }
        command.args(arguments).env("HOME", self.path("person")).current_dir(self.path("project"));
        command
    }

    fn here(&self, arguments: &[&str]) -> Command {
        self.command(&binaries::sandbridge(), &[&["here"], arguments].concat())
    }

    fn says(&self, arguments: &[&str], lines: &str) -> Output {
        run(self.here(arguments), lines.as_bytes())
    }

    /// The home directory that belongs to the chats of a directory.
    fn home_of(&self, name: &str) -> PathBuf {
        let homes = std::fs::read_dir(self.path("person/.sandbridge/here")).unwrap();
        let mut homes = homes.map(|home| home.unwrap().path());
        homes.find(|home| home.file_name().unwrap().to_string_lossy().starts_with(name)).unwrap()
    }

    /// All processes with one of this world's directories on their command lines.
    fn processes(&self) -> Vec<i32> {
        process::with_marker(self.folder.path().file_name().unwrap().to_str().unwrap())
    }
}

/// A line-by-line chat whose standard input stays open.
struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Talk {
    fn start(mut command: Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn says(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next event of this kind.
    fn hears(&mut self, kind: &str) -> Value {
        let lines =
            self.output.by_ref().lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut seen = Vec::new();
        for event in lines {
            if event["type"] == kind {
                return event;
            }
            seen.push(event);
        }
        panic!("no {kind} in {seen:?}");
    }

    /// Ends the chat; returns its exit code and its standard error.
    fn ends(mut self) -> (i32, String) {
        self.input = None;
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), said)
    }
}

#[test]
fn a_command_runs_in_an_empty_home_and_its_chat_is_there_the_next_time() {
    let world = World::new();
    let began = Instant::now();
    let first = world.says(&[], "!pwd; echo done > made\n");
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(began.elapsed() < FIRST_ANSWER, "{:?}", began.elapsed());
    assert_eq!(first.stdout.trim(), world.path("project").to_str().unwrap());
    assert_eq!(std::fs::read_to_string(world.path("project/made")).unwrap(), "done\n");
    assert_eq!(world.processes(), [] as [i32; 0]);

    // The chat continues, and meanwhile other commands reach its server through the home directory.
    let mut second = Talk::start(world.here(&["--json"]));
    second.says("!echo $((6 * 7))");
    let chat = second.hears("done")["chat_id"].as_str().unwrap().to_owned();
    let home = world.home_of("project-");
    let export = ["--home", home.to_str().unwrap(), "chat", "export", &chat];
    let exported = run(world.command(&binaries::sandbridge(), &export), b"");
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    assert!(
        exported.stdout.contains("echo done > made") && exported.stdout.contains("42"),
        "{}",
        exported.stdout
    );
    assert_eq!(second.ends().0, 0);

    // Another directory has separate chats.
    let other = world.path("other");
    let third = world.says(&[other.to_str().unwrap()], "!pwd\n");
    assert_eq!(third.stdout.trim(), other.to_str().unwrap());
    let third = world.says(&["--json", other.to_str().unwrap()], "!pwd\n");
    assert!(third.code == 0 && !third.stdout.contains(&chat), "{}", third.stdout);
}

#[test]
fn a_second_process_in_a_directory_joins_even_if_they_start_together() {
    let world = World::new();
    let mut talks: Vec<Talk> = (0..AT_ONCE).map(|_| Talk::start(world.here(&["--json"]))).collect();
    for (number, talk) in talks.iter_mut().enumerate() {
        talk.says(&format!("!touch by-{number}"));
    }
    for (number, talk) in talks.iter_mut().enumerate() {
        assert_eq!(talk.hears("done")["exit_code"], json!(0), "{number}");
        assert!(world.path(&format!("project/by-{number}")).exists());
    }
    let serving: Value =
        serde_json::from_slice(&std::fs::read(world.home_of("project-").join("here.json")).unwrap()).unwrap();
    let first = talks.iter().position(|talk| u64::from(talk.child.id()) == serving["pid"]).unwrap();
    let first = talks.swap_remove(first);
    for talk in talks {
        let (code, said) = talk.ends();
        let who = format!("served by process {} since ", serving["pid"]);
        assert!(code == 0 && said.contains(&who), "{said}");
    }
    let (code, said) = first.ends();
    assert!(code == 0 && !said.contains("joining"), "{said}");
    assert_eq!(world.processes(), [] as [i32; 0]);
}

#[test]
fn no_process_outlives_the_here_command_however_it_ends() {
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP] {
        let world = World::new();
        let mut terminal = Terminal::start(world.here(&["--lines"]), 24, 80);
        terminal.sees("> ");
        let script = "setsid sleep 7411 & sleep 7411";
        std::fs::write(world.path("project/tree.sh"), script).unwrap();
        terminal.types(format!("!sh {}/tree.sh\r", world.path("project").display()));
        let is_running = || (process::with_command("sleep 7411").len() == 2).then_some(());
        eventually("the command runs", PATIENCE, is_running);
        let home = world.home_of("project-");
        let serving: Value = serde_json::from_slice(&std::fs::read(home.join("here.json")).unwrap()).unwrap();
        let address = serving["url"].as_str().unwrap().trim_start_matches("http://").to_owned();
        TcpStream::connect(&address).unwrap();
        process::signal(terminal.pid(), signal);
        assert_eq!(terminal.ends(), 128 + signal.as_raw());
        let is_over = || {
            let is_over = world.processes().is_empty() && process::with_command("sleep 7411").is_empty();
            (is_over && TcpStream::connect(&address).is_err()).then_some(())
        };
        eventually("everything has ended", PATIENCE, is_over);
        // A killed process does not prevent the next start.
        let again = world.says(&[], "!echo again\n");
        assert_eq!((again.code, again.stdout.trim()), (0, "again"), "{}", again.stderr);
    }
}

#[test]
fn a_key_is_asked_for_once_and_used_in_every_directory() {
    let model = ScriptedModel::start(|asked: &Asked| {
        if asked.headers.contains("sk-right") {
            Reply::Say(format!("you said {}", asked.last_of_user()))
        } else {
            Reply::Refuse(401, json!({"error": {"message": "no such key"}}).to_string())
        }
    });
    let world = World::new();
    let tmux = Tmux::start(110, 30);
    let address = format!("SANDBRIDGE_LLM_BASE_URL={}", model.url());
    let start = |directory: &str| {
        let (home, program) = (world.path("person"), binaries::sandbridge());
        let words = format!("env HOME={} {address} {} here", home.display(), program.display());
        tmux.types(&format!("clear; cd {}; {words}; echo ended $?", world.path(directory).display()));
        tmux.press(&["Enter"]);
    };
    start("project");
    tmux.sees("Key for a model");
    tmux.types("hunter2");
    tmux.press(&["Enter"]);
    tmux.sees("does not look like a key");
    tmux.types("sk-wrong");
    tmux.press(&["Enter"]);
    tmux.sees("no such key");
    tmux.types("sk-right");
    tmux.press(&["Enter"]);
    tmux.sees("● project online");
    assert!(!tmux.screen().contains("sk-"), "{}", tmux.screen());
    tmux.types("hello");
    tmux.press(&["Enter"]);
    tmux.sees("you said hello");
    quits(&tmux);
    // The database contains the key sealed, and the next directory uses it without asking.
    let database = std::fs::read(world.home_of("project-").join("sandbridge.db")).unwrap();
    assert!(!database.windows(8).any(|window| window == b"sk-right"));
    start("other");
    tmux.sees("● other online");
    tmux.types("and here");
    tmux.press(&["Enter"]);
    tmux.sees("you said and here");
    quits(&tmux);
}

fn quits(tmux: &Tmux) {
    tmux.leaves_chat();
    tmux.sees("ended 0");
}

#[test]
fn a_key_in_the_environment_is_enough() {
    let model = ScriptedModel::with(vec![Reply::Say("I am here".to_owned())]);
    let world = World::new();
    for (key, address) in [("OPENAI_API_KEY", "OPENAI_BASE_URL"), ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")]
    {
        let mut command = world.here(&[]);
        command.env(key, "sk-test-7").env(address, model.url());
        let said = run(command, b"hello\n!env\n");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(said.stdout.contains("I am here") && !said.stdout.contains("sk-test-7"), "{}", said.stdout);
    }
    let asked = model.asked();
    assert!(asked.iter().all(|asked| asked.headers.contains("sk-test-7")));
    assert!(asked.iter().any(|asked| asked.path == "/v1/messages"));
}

#[test]
fn errors_are_reported_before_anything_is_created() {
    let world = World::new();
    let (person, folder) = (world.path("person"), world.path(""));
    for directory in [&person, &folder, Path::new("/"), &person.join("missing"), &binaries::runner()] {
        let refused = world.says(&[directory.to_str().unwrap()], "!pwd\n");
        let shown = directory.to_str().unwrap().trim_end_matches('/');
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(shown) && refused.stdout.is_empty(), "{}", refused.stderr);
        assert!(!person.join(".sandbridge").exists());
    }
    // Uses a home directory in which nothing can be created.
    let mut command = world.here(&[]);
    command.env("SANDBRIDGE_HOME", "/proc/sandbridge");
    let refused = run(command, b"!pwd\n");
    assert!(refused.code == 1 && refused.stderr.contains("/proc/sandbridge"), "{}", refused.stderr);
    // Names a runner program that does not exist, or is not a runner.
    for (runner, words) in [("/nonexistent/runner", "/nonexistent/runner"), ("/bin/false", "did not start")] {
        let refused = world.says(&["--runner", runner], "!pwd\n");
        assert!(refused.code == 1 && refused.stderr.contains(words), "{}", refused.stderr);
    }
    // The program is alone in its directory, without the runner.
    let alone = TempDir::new_in(binaries::directory()).unwrap();
    let program = alone.path().join("sandbridge");
    std::fs::hard_link(binaries::sandbridge(), &program).unwrap();
    let refused = run(world.command(&program, &["here"]), b"!pwd\n");
    assert!(refused.code == 1 && refused.stderr.contains("scripts/build"), "{}", refused.stderr);
    assert_eq!(world.processes(), [] as [i32; 0]);
}

/// Sends a POST; returns the status, and the whole response as text.
fn post(address: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let mut request =
        format!("POST {path} HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[test]
fn the_printed_address_signs_the_page_in_once() {
    let world = World::new();
    let mut first = Talk::start(world.here(&["--web", "--json"]));
    let mut line = String::new();
    first.output.read_line(&mut line).unwrap();
    let url = serde_json::from_str::<Value>(&line).unwrap()["url"].as_str().unwrap().to_owned();
    let (base, code) = url.split_once("/#sign-in=").unwrap();
    let address = base.trim_start_matches("http://");
    let redeem =
        |headers: &[(&str, &str)]| post(address, "/api/v1/sign-ins/redeem", headers, &json!({"code": code}));
    // Requests from another site's page, with a DNS name that points here, and from a program are refused, and these
    // attempts do not use up the code.
    for (headers, status) in [
        (&[("Host", address), ("Origin", "http://evil.example")][..], 403),
        (&[("Host", "evil.example"), ("Origin", "http://evil.example")], 421),
        (&[("Host", address)], 403),
    ] {
        assert_eq!(redeem(headers).0, status, "{headers:?}");
    }
    let (status, answer) = redeem(&[("Host", address), ("Origin", base)]);
    assert!(status == 200 && answer.contains("HttpOnly; SameSite=Strict"), "{answer}");
    let (status, again) = redeem(&[("Host", address), ("Origin", base)]);
    assert!(status == 401 && again.contains("already used"), "{again}");

    // The page's session has two halves and the same rights as a person, and the page is not asked for a password.
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let bearer = format!("Bearer {}", body["token"].as_str().unwrap());
    let cookie = answer.split("et-cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let with = |path: &str, cookie: &str| {
        let headers =
            [("Host", address), ("Origin", base), ("Authorization", bearer.as_str()), ("Cookie", cookie)];
        post(address, path, &headers, &json!({"name": "mine", "scope": "read"})).0
    };
    assert_eq!((with("/api/v1/keys", "none=none"), with("/api/v1/keys", cookie)), (401, 201));
    assert_eq!(with("/api/v1/sign-ins", cookie), 403, "a page cannot create another code");

    // A second start prints an address of the same server, and exits.
    let second = world.says(&["--web"], "");
    assert!(second.code == 0 && second.stdout.contains(&format!("open {base}/#sign-in=")), "{second:?}");
    process::signal(first.child.id() as i32, Signal::INT);
    assert_eq!(first.ends().0, 130);
    assert_eq!(world.processes(), [] as [i32; 0]);
}
