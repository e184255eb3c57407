//! A server that stores everything in PostgreSQL: startup, a database outage, and the commands that need no server.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::postgres::Postgres;
use tests::http::Client;
use tests::server::run;
use tests::{Machine, Output, Person, Reply, ScriptedModel, Server, binaries, eventually};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The name of PostgreSQL's socket in its directory.
const SOCKET: &str = ".s.PGSQL.5432";
/// A password that must not appear in any output.
const PASSWORD: &str = "s3cret-of-postgres";

fn sandbridge(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binaries::sandbridge());
    command.args(arguments).env("SANDBRIDGE_HOME", home);
    run(command, b"correct horse battery\n")
}

/// The address of the database with a password, which the test's PostgreSQL does not require.
fn with_password(url: &str) -> String {
    url.replacen("sandbridge@", &format!("sandbridge:{PASSWORD}@"), 1)
}

fn messages(client: &Client, chat: &str) -> Vec<Value> {
    client.call("GET", &format!("/chats/{chat}/messages")).json()["messages"].as_array().unwrap().clone()
}

#[test]
fn an_unusable_database_at_the_start_is_reported_in_one_line_without_password() {
    let server = Postgres::own();
    let url = with_password(&server.empty());
    server.stop();
    let home = TempDir::new().unwrap();
    let long_ago = Instant::now();
    for (url, words) in [
        (url.as_str(), "cannot connect to the database"),
        (&format!("postgres://ann:{PASSWORD}@127.0.0.1:1/sand"), "sand at 127.0.0.1:1"),
        (&format!("postgres://ann:{PASSWORD}@127.0.0.1:nowhere/sand"), "postgres://user:password@host"),
        (&format!("postgres://ann@127.0.0.1/sand?pasword={PASSWORD}"), "pasword"),
        (&format!("mysql://ann:{PASSWORD}@127.0.0.1/sand"), "postgres://user:password@host"),
    ] {
        let serve = sandbridge(home.path(), &["serve", "--listen", "127.0.0.1:0", "--database", url]);
        let list = sandbridge(home.path(), &["user", "list", "--database", url]);
        for output in [serve, list] {
            assert_eq!(output.code, 1, "{output:?}");
            assert!(output.stderr.contains(words), "{output:?}");
            assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
            assert!(!format!("{output:?}").contains(PASSWORD), "{output:?}");
        }
    }
    assert!(long_ago.elapsed() < PATIENCE);
    assert!(!home.path().join("sandbridge.db").exists(), "nothing is stored elsewhere");
}

#[test]
fn commands_without_a_server_find_the_same_database_as_the_server() {
    let url = with_password(&testkit::postgres::database());
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("config.json"), json!({"database": url}).to_string()).unwrap();
    assert_eq!(sandbridge(home.path(), &["user", "add", "alice", "--password-stdin"]).code, 0);
    let elsewhere = TempDir::new().unwrap();
    let listed = sandbridge(elsewhere.path(), &["user", "list", "--database", &url]);
    assert!(listed.stdout.contains("alice"), "{listed:?}");
    fs::write(elsewhere.path().join(".env"), format!("SANDBRIDGE_DATABASE={url}\n")).unwrap();
    let copy = elsewhere.path().join("copy");
    let copy = copy.to_str().unwrap();
    for (home, arguments, words) in
        [(&home, ["backup", copy], "pg_dump"), (&elsewhere, ["restore", copy], "pg_restore")]
    {
        let refused = sandbridge(home.path(), &arguments);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains(words) && refused.stderr.contains("sandbridge.key"), "{refused:?}");
        assert!(!format!("{refused:?}").contains(PASSWORD), "{refused:?}");
    }
}

#[test]
fn only_one_server_at_a_time_uses_a_database() {
    let url = testkit::postgres::database();
    let mut server = Server::start_on(&url, &["--docker", "off"]);
    let home = TempDir::new().unwrap();
    let second = sandbridge(home.path(), &["serve", "--listen", "127.0.0.1:0", "--database", &url]);
    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("another server uses the database"), "{second:?}");
    // A killed server does not prevent the next start.
    server.kill();
    let other = Server::start_on(&url, &["--docker", "off"]);
    assert_eq!(other.person("alice").run(&["runner", "list"]).code, 0);
}

#[test]
fn a_database_outage_is_reported_and_the_database_is_used_again_afterwards() {
    let database = Postgres::own();
    let server = Server::start_on(&with_password(&database.empty()), &["--docker", "off"]);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = client.send("POST", "/chats", b"{}").json()["id"].as_str().unwrap().to_owned();
    let say = |client: &Client| {
        let body = json!({"text": "!echo said", "send_id": "once"}).to_string();
        client.send("POST", &format!("/chats/{chat}/messages"), body.as_bytes())
    };
    for _ in 0..2 {
        database.stop();
        for answer in [client.call("GET", "/chats"), say(&client), client.call("GET", "/runners")] {
            assert_eq!((answer.status, answer.kind().as_str()), (503, "unavailable"), "{answer:?}");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert_eq!(message, "the server's database is unavailable; try again in a moment");
        }
        let login = json!({"user": "alice", "password": tests::server::PASSWORD}).to_string();
        let anonymous = Client::anonymous(&server);
        assert_eq!(
            anonymous.send("POST", "/login", login.as_bytes()).status,
            503,
            "the password is not reported as wrong"
        );
        let refused = alice.run(&["exec", "true"]);
        assert!(refused.code != 0 && refused.stderr.contains("database is unavailable"), "{refused:?}");
        database.start();
        eventually("it answers again", PATIENCE, || {
            (client.call("GET", "/chats").status == 200).then_some(())
        });
    }
    assert_eq!(messages(&client, &chat).len(), 0, "the failed requests changed nothing");
    for _ in 0..2 {
        let answer = say(&client);
        assert!((200..300).contains(&answer.status), "{answer:?}");
    }
    let said = messages(&client, &chat);
    assert_eq!(said.iter().filter(|message| message["role"] == "user").count(), 1, "{said:?}");
    assert!(alice.is_online("laptop"), "its link was not lost");
    assert_eq!(alice.run(&["exec", "true"]).code, 0);
}

/// Clients of a server that send requests without a pause, each after the answer to the one before.
fn ask_without_a_pause<T>(client: &Client, during: impl FnOnce() -> T) -> T {
    /// Ends the requests when it is dropped, also by a panic.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = Over(&is_over);
        let asking = |path| {
            let is_over = &is_over;
            scope.spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    let answer = client.call("GET", path);
                    assert!([200, 503].contains(&answer.status), "{answer:?}");
                }
            })
        };
        let asked: Vec<_> = ["/chats", "/runners", "/settings", "/keys"].map(asking).into();
        let done = during();
        drop(over);
        asked.into_iter().for_each(|asked| asked.join().unwrap());
        done
    })
}

/// The same client, but with a time limit, so that a request that is never answered fails the test.
fn patient(server: &Server, client: &Client) -> Client {
    Client::at(server.url(), client.token(), PATIENCE)
}

/// Checks that the server answers, records, and runs commands again.
fn works_again(server: &Server, client: &Client, alice: &Person) {
    // The server has its right to the database again, and with it the connection that it checks.
    let ready = format!("{}/readyz", server.url());
    eventually("it is ready again", PATIENCE, || ureq::get(&ready).call().is_ok().then_some(()));
    let client = &patient(server, client);
    eventually("it answers again", PATIENCE, || (client.call("GET", "/chats").status == 200).then_some(()));
    let chat = eventually("it records again", PATIENCE, || {
        let answer = client.send("POST", "/chats", b"{}");
        (answer.status < 300).then(|| answer.json()["id"].as_str().unwrap().to_owned())
    });
    assert_eq!(messages(client, &chat).len(), 0);
    assert_eq!(alice.run(&["exec", "true"]).code, 0);
}

#[test]
fn a_database_that_stops_answering_is_reported_and_used_again_when_it_answers() {
    let database = Postgres::own();
    let server = Server::start_on(&database.empty(), &["--docker", "off"]);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    ask_without_a_pause(&patient(&server, &client), || {
        database.freeze();
        eventually("it is reported", PATIENCE, || (client.call("GET", "/chats").status == 503).then_some(()));
    });
    database.thaw();
    works_again(&server, &client, &alice);
}

#[test]
fn connections_to_a_database_whose_machine_vanished_are_replaced() {
    let database = Postgres::own();
    let wire = Wire::to(&database);
    let server = Server::start_on(&wire.url(&database.empty()), &["--docker", "off"]);
    let alice = server.person("alice");
    let _machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    ask_without_a_pause(&patient(&server, &client), || {
        assert!(wire.vanish() > 0, "no connection was open");
        eventually("it is reported", PATIENCE, || (client.call("GET", "/chats").status == 503).then_some(()));
    });
    works_again(&server, &client, &alice);
}

/// A relay in front of a database server, whose connections can go silent without an end, as those to a machine without power do.
struct Wire {
    folder: TempDir,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// How often the machine behind the relay vanished; connections from before are silent.
    vanished: AtomicU32,
    /// The number of connections since then.
    connections: AtomicUsize,
}

impl Wire {
    fn to(database: &Postgres) -> Self {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let target = Path::new(folder_of(&database.url("postgres"))).join(SOCKET);
        let counts = Arc::<Counts>::default();
        let shared = Arc::clone(&counts);
        thread::spawn(move || {
            for program in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&target) else { continue };
                shared.connections.fetch_add(1, Ordering::AcqRel);
                let ends = [program.try_clone().unwrap(), server.try_clone().unwrap()];
                for (from, to) in
                    [(program, ends[1].try_clone().unwrap()), (server, ends[0].try_clone().unwrap())]
                {
                    let counts = Arc::clone(&shared);
                    thread::spawn(move || relay(from, to, &counts));
                }
            }
        });
        Self { folder, counts }
    }

    /// The address of a database through this relay.
    fn url(&self, url: &str) -> String {
        url.replace(folder_of(url), self.folder.path().to_str().unwrap())
    }

    /// Silences all current connections for good; returns how many were made since the last time.
    fn vanish(&self) -> usize {
        self.counts.vanished.fetch_add(1, Ordering::AcqRel);
        self.counts.connections.swap(0, Ordering::AcqRel)
    }
}

/// Passes bytes on until the connection ends or goes silent; a silent one stays open.
fn relay(mut from: UnixStream, mut to: UnixStream, counts: &Counts) {
    let vanished = counts.vanished.load(Ordering::Acquire);
    let mut bytes = [0; 16 * 1024];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        if counts.vanished.load(Ordering::Acquire) != vanished {
            std::mem::forget((from, to));
            return;
        }
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// The directory of the socket in the address of a test's database.
fn folder_of(url: &str) -> &str {
    url.split_once("?host=").unwrap().1
}

#[test]
fn results_during_a_database_outage_are_recorded_afterwards() {
    let database = Arc::new(Postgres::own());
    let is_away = Arc::new(AtomicBool::new(false));
    let model = ScriptedModel::start({
        let (database, is_away) = (Arc::clone(&database), Arc::clone(&is_away));
        move |asked| match asked.results().len() {
            // The database stops while the model is thinking.
            0 => {
                database.stop();
                is_away.store(true, Ordering::Release);
                Reply::Call(vec![("Shell", json!({"command": "echo of the model >> log"}))])
            }
            _ => Reply::Say("It is done.".to_owned()),
        }
    });
    let options = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let server = Server::start_on(&database.empty(), &options);
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let client = Client::login(&server, "alice");
    let chat = crate::agent::new_chat(&client, "full");
    let commands = client.send("POST", "/chats", b"{}").json()["id"].as_str().unwrap().to_owned();
    let wait = "!while [ ! -e go ]; do sleep 0.05; done; echo of the user";
    crate::agent::say(&client, &commands, wait);
    eventually("it runs", PATIENCE, || {
        messages(&client, &commands)
            .iter()
            .any(|message| message["exec"]["status"] == "running")
            .then_some(())
    });
    crate::agent::say(&client, &chat, "go");
    eventually("the database is down", PATIENCE, || is_away.load(Ordering::Acquire).then_some(()));
    // The command ends meanwhile, and its result cannot be recorded, so it does not count as done.
    fs::write(machine.workspace().join("go"), "").unwrap();
    for _ in 0..2 {
        // Each request is answered after the longest wait for a connection.
        assert_eq!(client.call("GET", "/chats").status, 503);
    }
    assert!(!machine.workspace().join("log").exists());
    database.start();
    let ended = eventually("the command's end is on record", PATIENCE, || {
        messages(&client, &commands).into_iter().find(|message| message["exec"]["status"] == "exited")
    });
    assert!(ended["text"].as_str().unwrap().contains("of the user"), "{ended}");
    let turn = crate::agent::ended(&client, &chat, 1);
    assert_eq!(turn["agent"]["status"], "done", "{turn}");
    assert_eq!(fs::read_to_string(machine.workspace().join("log")).unwrap(), "of the model\n", "once");
}

#[test]
fn a_store_is_copied_to_postgres_and_back_while_no_server_uses_it() {
    let mut server = Server::start_in_a_file(&["--docker", "off"]);
    let alice = server.person("alice");
    alice.run(&["chat", "--new", "/help"]);
    let url = testkit::postgres::database();
    let file = server.home().join("sandbridge.db");
    let copy = |from: &str, to: &str| {
        let home = TempDir::new().unwrap();
        sandbridge(home.path(), &["store", "copy", "--from", from, "--to", to])
    };
    let refused = copy(file.to_str().unwrap(), &url);
    assert!(refused.code == 1 && refused.stderr.contains("another server uses"), "{refused:?}");
    server.kill();
    let copied = copy(file.to_str().unwrap(), &with_password(&url));
    assert_eq!(copied.code, 0, "{copied:?}");
    assert!(
        copied.stdout.contains("both hold the same") && !format!("{copied:?}").contains(PASSWORD),
        "{copied:?}"
    );
    let stale = sandbridge(server.home(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(stale.code == 1 && stale.stderr.contains("was copied to"), "{stale:?}");
    let again = copy(file.to_str().unwrap(), &url);
    assert!(again.code == 1 && again.stderr.contains("is not empty"), "{again:?}");
    server.restart(&["--docker", "off", "--database", &url]);
    let client = Client::login(&server, "alice");
    let chats = client.call("GET", "/chats").json();
    assert_eq!(chats[0]["title"], "/help", "{chats}");
    assert_eq!(client.call("GET", "/about").json()["storage"], "postgres");
    assert_eq!(alice.run(&["runner", "list"]).code, 0, "the session is still valid");
    let other = TempDir::new().unwrap();
    let back = other.path().join("sandbridge.db");
    let refused = copy(&url, back.to_str().unwrap());
    assert!(refused.code == 1 && refused.stderr.contains("another server uses the database"), "{refused:?}");
    server.kill();
    let copied = copy(&url, back.to_str().unwrap());
    assert_eq!(copied.code, 0, "{copied:?}");
    assert!(sandbridge(other.path(), &["user", "list"]).stdout.contains("alice"));
}

#[test]
fn bytes_that_are_not_text_are_shown_alike_with_either_database() {
    let shown = |server: Server| {
        let alice = server.person("alice");
        let _machine = Machine::start(&server, &alice, "laptop");
        let said = r"!printf 'one\000two\377three\342\230'";
        let output = alice.run(&["chat", "--new", said]);
        let client = Client::login(&server, "alice");
        let chat = client.call("GET", "/chats").json()[0].clone();
        let body = json!({"text": "/fo\0o"}).to_string();
        let id = chat["id"].as_str().unwrap();
        client.send("POST", &format!("/chats/{id}/messages"), body.as_bytes());
        let texts: Vec<_> =
            messages(&client, id).into_iter().map(|message| message["text"].clone()).collect();
        let raw = alice.run(&["exec", "printf", r"a\000b\377"]);
        assert_eq!(raw.stdout_bytes, b"a\0b\xff", "the bytes that a program reads are never changed");
        let title = chat["title"].clone();
        let exit = (output.code, output.stdout);
        (texts, title, exit)
    };
    let of_file = shown(Server::start_in_a_file(&["--docker", "off"]));
    let of_postgres = shown(Server::start_on(&testkit::postgres::database(), &["--docker", "off"]));
    assert_eq!(of_file, of_postgres);
    let text = of_file.0[1].as_str().unwrap();
    assert!(text.starts_with("one\u{2400}two\u{fffd}three\u{fffd}"), "{text:?}");
}
