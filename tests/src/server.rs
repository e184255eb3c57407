//! A running `sandbridge serve` with a separate home, and the people who use it through the CLI.
//!
//! It stores its data in a file, or if `SANDBRIDGE_TEST_DATABASE` is `postgres`, in a separate PostgreSQL database.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::{Authority, binaries, eventually, process};

/// The password of all users.
pub const PASSWORD: &str = "correct horse battery";

/// The databases of servers that have one on PostgreSQL, by the server's home.
static DATABASES: Mutex<Option<HashMap<PathBuf, String>>> = Mutex::new(None);

/// How long the server may take to answer a request.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The file of a server's log, in its home; a server writes its log there if the file exists.
const LOG: &str = "server.log";

/// A server process; it is stopped when this is dropped.
pub struct Server {
    process: Child,
    home: TempDir,
    url: String,
    /// The authority of its certificate for clients, if it has one.
    authority: Option<PathBuf>,
    printed: Printed,
}

/// The lines that a server printed after its address.
type Printed = Arc<Mutex<Vec<String>>>;

impl Server {
    /// Starts a server without Docker and without local execution.
    pub fn start() -> Self {
        Self::start_with(&["--docker", "off"])
    }

    /// Starts a server with more options.
    pub fn start_with(options: &[&str]) -> Self {
        Self::start_in(TempDir::with_prefix("sandbridge-server-").unwrap(), options)
    }

    /// Starts a server in a given home directory, as the user who owns it.
    pub fn start_in(home: TempDir, options: &[&str]) -> Self {
        if pgserver::is_wanted() {
            keep_in(home.path(), database());
        }
        Self::spawned(home, options)
    }

    /// Starts a server that writes all it can log, at every level, into [`Server::log`].
    pub fn start_logged(options: &[&str]) -> Self {
        let home = TempDir::with_prefix("sandbridge-server-").unwrap();
        std::fs::write(home.path().join(LOG), "").unwrap();
        Self::start_in(home, options)
    }

    /// The log of a server that was started to write one.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home().join(LOG)).unwrap()
    }

    /// Starts a server that stores its data in a file, whatever database the tests use.
    pub fn start_in_a_file(options: &[&str]) -> Self {
        Self::spawned(TempDir::with_prefix("sandbridge-server-").unwrap(), options)
    }

    /// Starts a server that stores its data in the PostgreSQL database at this address.
    pub fn start_on(database: &str, options: &[&str]) -> Self {
        Self::start_on_with(database, options, &[])
    }

    /// Like [`Server::start_on`], with these variables in the server's environment.
    pub fn start_on_with(database: &str, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let home = TempDir::with_prefix("sandbridge-server-").unwrap();
        keep_in(home.path(), database.to_owned());
        Self::spawned_with(home, options, variables)
    }

    /// Like [`Server::start_on`], and writes all it can log into [`Server::log`].
    pub fn start_logged_on(database: &str, options: &[&str]) -> Self {
        Self::start_logged_on_with(database, options, &[])
    }

    /// Like [`Server::start_logged_on`], with these variables in the server's environment.
    pub fn start_logged_on_with(database: &str, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let home = TempDir::with_prefix("sandbridge-server-").unwrap();
        std::fs::write(home.path().join(LOG), "").unwrap();
        keep_in(home.path(), database.to_owned());
        Self::spawned_with(home, options, variables)
    }

    fn spawned(home: TempDir, options: &[&str]) -> Self {
        Self::spawned_with(home, options, &[])
    }

    fn spawned_with(home: TempDir, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let (process, url, printed) = spawn(home.path(), options, "127.0.0.1:0", variables);
        Self { process, home, url, authority: None, printed }
    }

    /// Starts a server that encrypts, with a certificate of this authority.
    pub fn start_encrypted(authority: &Authority, options: &[&str]) -> Self {
        let [certificate, key] = authority.for_server().map(|file| file.to_str().unwrap().to_owned());
        let options = [&["--tls-cert", &certificate, "--tls-key", &key], options].concat();
        let mut server = Self::start_with(&options);
        server.authority = Some(authority.certificate());
        server
    }

    /// The base URL, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's home directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The secret for the first account, which the server prints while there is none.
    pub fn setup_secret(&self) -> String {
        eventually("the secret is printed", Duration::from_secs(30), || {
            let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
            printed.iter().find_map(|line| Some(line.split_once("#setup=")?.1.trim().to_owned()))
        })
    }

    /// The server's process id.
    pub fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Kills the server; it stays dead until it is restarted.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Stops the server in an orderly way and starts it again at the same address.
    pub fn restart(&mut self, options: &[&str]) {
        self.restart_with(options, &[]);
    }

    /// Like [`Server::restart`], with these variables in the server's environment.
    pub fn restart_with(&mut self, options: &[&str], variables: &[(&str, &str)]) {
        process::terminate(&mut self.process);
        let address = self.url.trim_start_matches("http://").to_owned();
        (self.process, self.url, self.printed) = spawn(self.home.path(), options, &address, variables);
    }

    /// Waits until something has killed the server.
    pub fn wait_killed(&mut self, deadline: Duration) {
        let status = eventually("the server is killed", deadline, || self.process.try_wait().unwrap());
        assert_eq!(status.signal(), Some(9), "{status}");
    }

    /// Adds a user and logs in.
    pub fn person(&self, name: &str) -> Person {
        let added = command(self.home(), "", &["user", "add", name, "--password-stdin"]);
        let added = run(added, PASSWORD.as_bytes());
        assert_eq!(added.code, 0, "user add: {}", added.stderr);
        let person = Person {
            name: name.to_owned(),
            home: TempDir::with_prefix("sandbridge-client-").unwrap(),
            url: self.url.clone(),
            authority: self.authority.clone(),
        };
        person.log_in();
        person
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

/// A user with their own client.
pub struct Person {
    /// The user's name.
    pub name: String,
    home: TempDir,
    url: String,
    authority: Option<PathBuf>,
}

impl Person {
    /// The same user on another machine, who reaches the server at `url`.
    pub fn at(&self, url: &str) -> Self {
        let home = TempDir::with_prefix("sandbridge-client-").unwrap();
        let authority = self.authority.clone();
        let person = Self { name: self.name.clone(), home, url: url.to_owned(), authority };
        person.log_in();
        person
    }

    fn log_in(&self) {
        let login = ["login", "--user", &self.name, "--password-stdin"];
        let login = self.with_stdin(&login, PASSWORD.as_bytes());
        assert_eq!(login.code, 0, "login: {}", login.stderr);
    }

    /// Runs the CLI.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.with_stdin(arguments, b"")
    }

    /// Runs the CLI with standard input.
    pub fn with_stdin(&self, arguments: &[&str], stdin: &[u8]) -> Output {
        run(self.command(arguments), stdin)
    }

    /// The CLI, ready to be started.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = command(self.home.path(), &self.url, arguments);
        command.envs(self.authority.iter().map(|file| ("SANDBRIDGE_CA_CERT", file)));
        command
    }

    /// Runs the CLI and reads its one JSON value.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}: {}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", output.stdout))
    }

    /// Registers a runner and returns a token of it that any process may show.
    pub fn add_runner(&self, name: &str) -> String {
        self.json(&["runner", "add", name, "--permanent", "--json"])["token"].as_str().unwrap().to_owned()
    }

    /// True if the runner is connected. It is often called, so it starts no process if the server does not encrypt.
    pub fn is_online(&self, runner: &str) -> bool {
        let list = match &self.authority {
            Some(_) => self.json(&["runner", "list", "--json"]),
            None => {
                let request = ureq::get(format!("{}/api/v1/runners", self.url))
                    .header("authorization", format!("Bearer {}", self.token()));
                let list = request.config().timeout_global(Some(ANSWER_WITHIN)).build().call().unwrap();
                serde_json::from_reader(list.into_body().into_reader()).unwrap()
            }
        };
        list.as_array().unwrap().iter().any(|entry| entry["name"] == runner && entry["online"] == true)
    }

    /// The token of the login that the CLI has stored.
    pub fn token(&self) -> String {
        let stored = std::fs::read(self.home.path().join("client.json")).unwrap();
        let stored: Value = serde_json::from_slice(&stored).unwrap();
        stored["logins"][&self.url]["token"].as_str().unwrap().to_owned()
    }

    /// The client's home directory.
    pub fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }
}

/// The output of a CLI call.
#[derive(Debug)]
pub struct Output {
    /// Exit code; 128 + N when signal N ended it.
    pub code: i32,
    /// Standard output, lossy.
    pub stdout: String,
    /// Standard output, unchanged.
    pub stdout_bytes: Vec<u8>,
    /// Standard error, lossy.
    pub stderr: String,
}

fn spawn(
    home: &Path,
    options: &[&str],
    listen: &str,
    variables: &[(&str, &str)],
) -> (Child, String, Printed) {
    let mut command = command(home, "", &["serve", "--listen", listen]);
    let mut level = std::env::var("SANDBRIDGE_LOG").unwrap_or_else(|_| "warn".into());
    if let Ok(log) = std::fs::OpenOptions::new().append(true).open(home.join(LOG)) {
        command.stderr(log);
        level = "trace".to_owned();
    }
    let mut process = command
        .args(options)
        .env("SANDBRIDGE_LOG", level)
        .envs(variables.iter().copied())
        .env("SANDBRIDGE_RUNNER", binaries::for_owner_of(home, &binaries::runner()))
        .env("SANDBRIDGE_RUNNER_STATIC", binaries::runner_static())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = lines.next().expect("the server ended before it listened").unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("http")).expect("a URL in the first line");
    // The rest is read to its end, so that the server never blocks on a full pipe.
    let url = url.trim_end_matches('/').to_owned();
    let printed = Printed::default();
    let keep = Arc::clone(&printed);
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            keep.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    });
    (process, url, printed)
}

fn command<A: AsRef<OsStr>>(home: &Path, url: &str, arguments: &[A]) -> Command {
    let mut command = binaries::as_owner_of(home, &binaries::sandbridge());
    command.args(arguments).env("SANDBRIDGE_HOME", home);
    let databases = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
    command.envs(databases.iter().filter_map(|of| of.get(home)).map(|url| ("SANDBRIDGE_DATABASE", url)));
    if !url.is_empty() {
        command.env("SANDBRIDGE_SERVER", url);
    }
    command
}

fn keep_in(home: &Path, database: String) {
    let mut databases = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
    databases.get_or_insert_default().insert(home.to_owned(), database);
}

/// The address of a new PostgreSQL database with the schema of the built program.
fn database() -> String {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../server-bridge/crates/store/migrations-postgres");
    pgserver::database_of(schema, |url| {
        let home = TempDir::with_prefix("sandbridge-schema-").unwrap();
        let mut list = Command::new(binaries::sandbridge());
        list.args(["user", "list"]).env("SANDBRIDGE_HOME", home.path()).env("SANDBRIDGE_DATABASE", url);
        let listed = run(list, b"");
        assert_eq!(listed.code, 0, "{}", listed.stderr);
    })
}

/// Runs a command with standard input and collects its output.
pub fn run(mut command: Command, stdin: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_owned();
    let writer = std::thread::spawn(move || {
        // A program that does not read its input is fine.
        let _ = pipe.write_all(&stdin);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Output {
        code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stdout_bytes: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
