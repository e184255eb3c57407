//! A server that stores long values in a bucket: its start, an undo that needs the bucket, and copying the store to a
//! file.

use std::fs;
use std::process::Command;
use std::time::Duration;

use s3server::{OWNER, S3Server};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::http::{Answer, Client};
use tests::server::run;
use tests::{Asked, Machine, Output, Reply, ScriptedModel, Server, binaries, eventually};

/// The timeout for any single answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The length of a value that is too long for the database, in bytes: it goes into the bucket.
const LONG: usize = 300 * 1024;

fn sandbridge(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let home = TempDir::new().unwrap();
    let mut command = Command::new(binaries::sandbridge());
    // Removes the machine's own variables for AWS.
    for name in ["AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"] {
        command.env_remove(name);
    }
    command.args(arguments).env("SANDBRIDGE_HOME", home.path()).envs(variables.iter().copied());
    run(command, b"")
}

/// The environment variables for this S3 server.
fn variables(server: &S3Server) -> Vec<(&'static str, String)> {
    server.variables(OWNER).to_vec()
}

/// The number of objects in the bucket that hold values.
fn objects(server: &S3Server) -> usize {
    server.keys("data").iter().filter(|key| !key.ends_with("/marker")).count()
}

fn borrowed<'a>(variables: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

#[test]
fn an_unusable_bucket_at_the_start_is_reported_in_one_line_without_secrets() {
    let (mut bucket, url) = (S3Server::start(&["data"]), testkit::postgres::database());
    let serve = |database: Option<&str>, blobs: &str, changed: (&'static str, &str)| {
        let mut variables = variables(&bucket);
        variables.retain(|(name, _)| *name != changed.0);
        variables.push((changed.0, changed.1.to_owned()));
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--docker", "off", "--blobs", blobs];
        arguments.extend(database.iter().flat_map(|url| ["--database", url]));
        sandbridge(&arguments, &borrowed(&variables))
    };
    let on = Some(url.as_str());
    let refused = [
        (serve(None, "s3://data", ("X", "")), "--database"),
        (serve(on, "data", ("X", "")), "s3://BUCKET"),
        (serve(on, "s3://data/../x", ("X", "")), "s3://BUCKET"),
        (serve(on, "s3://absent", ("X", "")), "there is no bucket \"absent\""),
        (serve(on, "s3://data", ("AWS_SECRET_ACCESS_KEY", "")), "AWS_SECRET_ACCESS_KEY"),
        (serve(on, "s3://data", ("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")), "AWS_SECRET_ACCESS_KEY"),
        (serve(on, "s3://data", ("AWS_ENDPOINT_URL_S3", "localhost")), "AWS_ENDPOINT_URL_S3"),
        (serve(on, "s3://data", ("AWS_REGION", "a b")), "AWS_REGION"),
    ];
    for (output, words) in refused {
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains(words), "{words}: {output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
        let shown = format!("{output:?}");
        assert!(!shown.contains(OWNER.1) && !shown.contains("a-wrong-secret"), "{output:?}");
    }
    bucket.stop();
    let away = sandbridge(
        &["serve", "--listen", "127.0.0.1:0", "--docker", "off", "--blobs", "s3://data", "--database", &url],
        &borrowed(&variables(&bucket)),
    );
    assert_eq!((away.code, away.stderr.lines().count()), (1, 1), "{away:?}");
    assert!(away.stderr.contains("cannot be reached"), "{away:?}");
}

/// Writes the file that the user's message names, once.
fn writes(asked: &Asked) -> Reply {
    if asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "tool" {
        return Reply::Say("done".to_owned());
    }
    let path = asked.last_of_user();
    Reply::Call(vec![("FileCreate", json!({"path": path, "content": "new", "rewrite": true}))])
}

/// A chat of alice's.
struct Chat {
    client: Client,
    id: String,
}

impl Chat {
    fn new(server: &Server) -> Self {
        let client = Client::login(server, "alice");
        let id = client.call("POST", "/chats").json()["id"].as_str().unwrap().to_owned();
        let chat = Self { client, id };
        assert_eq!(chat.send("PUT", "/approval", &json!({"mode": "full"})).status, 200);
        chat
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.client.send(method, &format!("/chats/{}{path}", self.id), body.to_string().as_bytes())
    }

    fn post(&self, text: &str) -> i64 {
        let posted = self.send("POST", "/messages", &json!({"text": text}));
        assert_eq!(posted.status, 202, "{posted:?}");
        posted.json()["messages"][1]["id"].as_i64().unwrap()
    }

    fn message(&self, id: i64) -> Option<Value> {
        let page = self.client.call("GET", &format!("/chats/{}/messages", self.id)).json();
        page["messages"].as_array()?.iter().find(|message| message["id"] == id).cloned()
    }

    fn ended(&self, id: i64) -> Value {
        eventually("the answer is over", PATIENCE, || {
            let message = self.message(id)?;
            let is_open = ["queued", "running"].iter().any(|status| message["agent"]["status"] == *status);
            (!is_open).then_some(message)
        })
    }

    fn undo(&self) -> Answer {
        self.send("POST", "/undo", &json!({"force": false}))
    }
}

#[test]
fn an_undo_reads_the_file_from_the_bucket_and_an_outage_is_reported() {
    let mut bucket = S3Server::start(&["data"]);
    let (model, url) = (ScriptedModel::start(writes), testkit::postgres::database());
    let plain = [&["--docker", "off"], &model.options("openai")[..]].concat();
    let options = [&plain[..], &["--blobs", "s3://data/bridge"]].concat();
    let variables = variables(&bucket);
    let mut server = Server::start_logged_on_with(&url, &options, &borrowed(&variables));
    let alice = server.person("alice");
    let machine = Machine::start(&server, &alice, "laptop");
    let old = |name: &str| name.repeat(LONG / name.len());
    for name in ["one", "two", "six"] {
        fs::write(machine.workspace().join(name), old(name)).unwrap();
    }
    let now = |name: &str| fs::read_to_string(machine.workspace().join(name)).unwrap();
    let chat = Chat::new(&server);
    assert_eq!(chat.ended(chat.post("one"))["agent"]["status"], "done");
    assert_eq!(now("one"), "new");
    assert_eq!(objects(&bucket), 1);

    // A turn waits for the bucket before it changes anything.
    bucket.stop();
    let waits = chat.post("two");
    eventually("the model called its tool", PATIENCE, || {
        let message = chat.message(waits)?;
        (message["agent"]["status"] == "running" && model.asked().len() == 3).then_some(())
    });
    assert_eq!(now("two"), old("two"));
    bucket.start_again();
    assert_eq!(chat.ended(waits)["agent"]["status"], "done");
    assert_eq!((now("two").as_str(), objects(&bucket)), ("new", 2));

    // A request by a person fails at once.
    bucket.stop();
    let away = chat.undo();
    assert_eq!((away.status, away.kind().as_str()), (503, "unavailable"), "{away:?}");
    let message = away.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(message, "the server's object store is unavailable; try again in a moment");
    assert_eq!(now("two"), "new");
    bucket.start_again();
    assert_eq!(chat.undo().status, 200);
    assert_eq!(now("two"), old("two"));

    // A server without the flag reports that it is missing, and changes nothing.
    server.restart_with(&plain, &[]);
    assert!(server.log().contains("start the server with the --blobs"), "{}", server.log());
    eventually("the machine is back", PATIENCE, || alice.is_online("laptop").then_some(()));
    let chat = Chat { client: Client::login(&server, "alice"), id: chat.id };
    let refused = chat.undo();
    assert_eq!((refused.status, refused.kind().as_str()), (500, "internal"), "{refused:?}");
    assert!(server.log().contains("start it with the --blobs s3://BUCKET"), "{}", server.log());
    assert_eq!(now("one"), "new");
    server.restart_with(&options, &borrowed(&variables));
    eventually("the machine is back", PATIENCE, || alice.is_online("laptop").then_some(()));
    let chat = Chat { client: Client::login(&server, "alice"), id: chat.id };
    assert_eq!(chat.undo().status, 200);
    assert_eq!(now("one"), old("one"));
    assert_eq!(chat.ended(chat.post("six"))["agent"]["status"], "done");
    let log = server.log();
    assert!(!log.contains(OWNER.1), "the secret is in no log");

    // All values can be copied back into a file.
    drop(server);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sandbridge.db");
    let copy = ["store", "copy", "--from", &url, "--to", file.to_str().unwrap()];
    let refused = sandbridge(&copy, &[]);
    assert_eq!((refused.code, refused.stderr.lines().count()), (1, 1), "{refused:?}");
    assert!(refused.stderr.contains("--blobs"), "{refused:?}");
    let copied = sandbridge(&[&copy[..], &["--blobs", "s3://data/bridge"]].concat(), &borrowed(&variables));
    assert_eq!(copied.code, 0, "{copied:?}");
    let stored = fs::read(&file).unwrap();
    let whole = old("six");
    // A page of the SQLite file contains a part of the value.
    assert!(stored.windows(2000).any(|part| part == &whole.as_bytes()[..2000]), "the content is in the file");
}
