//! Groups and chains: agents of two people on their own machines, in one log.

use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Person, Reply, eventually};

mod attempts;
mod budgets;
mod chain_files;
mod chains;
mod gates;
mod going_on;
mod grants;
mod kills;
mod people;
pub(crate) mod private;
mod terminal;
pub(crate) mod tools;
mod waits;
mod workspaces;

use crate::agent_tools::{asking, post};
use crate::world::World;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Alice with the agent `coder` on her laptop, and bob with the agent `writer` on his desk, in one group that alice owns.
pub(crate) struct Team {
    pub(crate) world: World,
    pub(crate) bob: Person,
    pub(crate) desk: Machine,
    pub(crate) group: String,
}

/// The handle of the agent that was asked.
pub(crate) fn handle(asked: &Asked) -> String {
    asked.agent()
}

fn last_line(asked: &Asked) -> String {
    asked.last_of_user().lines().last().unwrap_or_default().to_owned()
}

/// A model for agents that repeat each request.
pub(crate) fn echo(asked: &Asked) -> Reply {
    Reply::Say(format!("{} heard: {}", handle(asked), last_line(asked)))
}

impl Team {
    pub(crate) fn new(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self::with(script, &[])
    }

    /// Starts the team on a server with these options.
    pub(crate) fn with(script: impl FnMut(&Asked) -> Reply + Send + 'static, options: &[&str]) -> Self {
        let world = World::with(script, options);
        let bob = world.server.person("bob");
        let desk = Machine::start(&world.server, &bob, "desk");
        let group = world.alice.json(&["group", "create", "Work", "--json"])["id"].to_string();
        let team = Self { world, bob, desk, group };
        team.alice(&["add-person", &team.group, "bob"]);
        team.alice(&["add-agent", &team.group, "coder", "--on", "laptop", "--approval", "full"]);
        team.of(&team.bob, &["add-agent", &team.group, "writer", "--on", "desk"]);
        team
    }

    pub(crate) fn of(&self, person: &Person, arguments: &[&str]) -> Value {
        person.json(&[&["group"], arguments, &["--json"]].concat())
    }

    pub(crate) fn alice(&self, arguments: &[&str]) -> Value {
        self.of(&self.world.alice, arguments)
    }

    /// Posts a message; returns the created entry, its calls and its notes.
    pub(crate) fn post(&self, person: &Person, text: &str) -> Value {
        self.of(person, &["post", &self.group, text])
    }

    pub(crate) fn entries(&self) -> Vec<Value> {
        self.alice(&["log", &self.group])["entries"].as_array().unwrap().clone()
    }

    /// The whole log, starting with the newest part: the command line shows 100 entries at a time.
    pub(crate) fn all_entries(&self) -> Vec<Value> {
        let mut all = self.entries();
        loop {
            let Some(first) = all.iter().filter_map(|entry| entry["id"].as_i64()).min() else { return all };
            let before = self.alice(&["log", &self.group, "--before", &first.to_string()]);
            match before["entries"].as_array().unwrap() {
                earlier if earlier.is_empty() => return all,
                earlier => all.extend(earlier.iter().cloned()),
            }
        }
    }

    /// The agents' messages so far, each with the agent's handle.
    fn said(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let entries = self.entries();
        let of_agents = entries.iter().filter(|entry| entry["kind"] == "agent");
        of_agents.map(|entry| (text(&entry["author"]), text(&entry["text"]))).collect()
    }

    fn until_said(&self, count: usize) -> Vec<(String, String)> {
        eventually("the agents answered", PATIENCE, || Some(self.said()).filter(|said| said.len() >= count))
    }

    pub(crate) fn calls(&self) -> Vec<Value> {
        self.alice(&["calls", &self.group]).as_array().unwrap().clone()
    }

    fn call(&self, id: &Value) -> Value {
        self.calls().into_iter().find(|call| call["id"] == *id).unwrap()
    }

    pub(crate) fn until_call(&self, id: &Value, state: &str) -> Value {
        eventually(&format!("call {id} is {state}"), PATIENCE, || {
            let call = self.call(id);
            assert!(
                call["ended_at"].is_null() || call["state"] == state,
                "the call ended as {call} instead of {state}"
            );
            (call["state"] == state).then_some(call)
        })
    }

    /// Starts a run of a chain with these steps.
    pub(crate) fn begin(&self, steps: &str) -> Value {
        let set = ["group", "chain", "set", &self.group, "story", "-", "--replace"];
        let put = self.world.alice.with_stdin(&set, steps.as_bytes());
        assert_eq!(put.code, 0, "{put:?}");
        self.alice(&["chain", "run", &self.group, "story", "a story about rain"])["id"].clone()
    }

    pub(crate) fn run(&self, run: &Value) -> Value {
        self.alice(&["chain", "show", &self.group, &run.to_string()])
    }

    pub(crate) fn until_run(&self, run: &Value, state: &str) -> Value {
        eventually(&format!("the run is {state}"), PATIENCE, || {
            let shown = self.run(run);
            assert!(
                shown["ended_at"].is_null() || shown["state"] == state,
                "the run ended as {shown} instead of {state}"
            );
            (shown["state"] == state).then_some(shown)
        })
    }

    pub(crate) fn answer(&self, person: &Person, gate: &Value, arguments: &[&str]) -> Value {
        self.of(person, &[&["chain", "answer", &self.group, &gate["id"].to_string()], arguments].concat())
    }
}

#[test]
fn mentioned_agents_answer_and_the_lead_if_none_is_mentioned() {
    let team = Team::new(echo);
    let alice = &team.world.alice;
    team.of(&team.bob, &["grant", &team.group, "writer", "alice"]);
    let posted = team.post(alice, "@coder and @writer: say hello");
    assert_eq!(posted["entry"]["asks"], json!(["coder", "writer"]), "{posted}");
    let mut said = team.until_said(2);
    said.sort();
    let heard = |handle: &str, text: &str| (handle.to_owned(), format!("{handle} heard: {text}"));
    let all = "@coder and @writer: say hello";
    assert_eq!(said, [heard("coder", all), heard("writer", all)]);

    let nobody = team.post(alice, "is anybody there?");
    assert_eq!(nobody["calls"], json!([]));
    assert!(nobody["notes"][0].as_str().unwrap().starts_with("nobody was asked"), "{nobody}");
    team.alice(&["lead", &team.group, "coder"]);
    assert_eq!(team.post(alice, "and now?")["entry"]["asks"], json!(["coder"]));
    let said = team.until_said(3);
    assert_eq!(said[2], heard("coder", "and now?"));
    // The lead was shown the messages in between, with their authors, but not its own words.
    let asked = team.world.model.asked();
    let shown = asked.last().unwrap().last_of_user();
    assert!(
        shown.contains("[@writer] writer heard:") && shown.contains("[alice] is anybody there?"),
        "{shown}"
    );
    assert!(!shown.contains("[@coder]"), "{shown}");
}

#[test]
fn mentions_in_an_agents_message_ask_nobody() {
    let team =
        Team::new(|asked| Reply::Say(format!("@writer @coder @all do something, says {}", handle(asked))));
    team.post(&team.world.alice, "@coder go on");
    team.until_said(1);
    team.post(&team.world.alice, "@coder again");
    assert_eq!(team.until_said(2).len(), 2);
    assert_eq!(team.calls().len(), 2, "{:?}", team.calls());
}

#[test]
fn a_repeated_message_is_posted_once() {
    let team = Team::new(echo);
    let client = Client::login(&team.world.server, "alice");
    let path = format!("/groups/{}/entries", team.group);
    let body = json!({"text": "@coder hello", "send_id": "one"}).to_string();
    let first = client.send("POST", &path, body.as_bytes());
    let again = client.send("POST", &path, body.as_bytes());
    assert_eq!((first.status, again.status), (202, 202), "{first:?} {again:?}");
    assert_eq!(first.json()["entry"]["id"], again.json()["entry"]["id"]);
    team.until_said(1);
    assert_eq!(team.calls().len(), 1);
}

#[test]
fn another_persons_machine_needs_a_grant_and_its_owners_approval() {
    let script = |asked: &Asked| match asked.results().last() {
        Some(result) => Reply::Say(format!("it says {}", result.trim())),
        None => Reply::Call(vec![("Shell", json!({"command": "touch made; echo made"}))]),
    };
    let team = Team::new(script);
    let (alice, bob) = (&team.world.alice, &team.bob);
    let refused = team.post(bob, "@coder make it");
    assert_eq!(refused["calls"], json!([]));
    let note = refused["notes"][0].as_str().unwrap();
    assert!(note.contains("alice") && note.contains("grant"), "{note}");
    // Only the agent's owner can grant this.
    assert_ne!(bob.run(&["group", "grant", &team.group, "coder", "bob", "--mode", "own"]).code, 0);

    team.alice(&["grant", &team.group, "coder", "bob"]);
    let call = team.post(bob, "@coder make it")["calls"][0]["id"].clone();
    let shown = |person| team.of(person, &["show", &team.group])["agents"][0]["chat_id"].clone();
    let chat = eventually("the agent has a chat", PATIENCE, || shown(alice).as_str().map(str::to_owned));
    assert_eq!(shown(bob), Value::Null, "only the owner sees the chat");
    let (of_alice, of_bob) =
        (Client::login(&team.world.server, "alice"), Client::login(&team.world.server, "bob"));
    // The agent's own approval mode asks nothing, but for a request by bob the agent's owner is asked.
    let ask = asking(&of_alice, &chat, "made");
    assert!(!team.world.path("made").exists());
    assert_eq!(of_bob.call("GET", &format!("/chats/{chat}/messages")).status, 404);
    let allow = json!({"message_id": ask["id"], "allow": true, "always": false});
    assert_eq!(post(&of_bob, &chat, "approvals", &allow), 404);
    assert_eq!(post(&of_alice, &chat, "approvals", &allow), 204);
    team.until_call(&call, "done");
    assert!(team.world.path("made").exists());

    // Without the grant the agent cannot be asked any more.
    team.alice(&["revoke", &team.group, "coder", "bob"]);
    assert_eq!(team.post(bob, "@coder make it")["calls"], json!([]));
}

#[test]
fn a_call_waits_for_an_offline_machine_but_not_for_a_revoked_one() {
    let team = Team::new(echo);
    let token = team.world.alice.add_runner("box");
    team.alice(&["add-agent", &team.group, "builder", "--on", "box"]);
    let call = team.post(&team.world.alice, "@builder build")["calls"][0]["id"].clone();
    let waits = team.until_call(&call, "waiting");
    assert_eq!(waits["reason"], "runner box is offline");
    assert!(team.said().is_empty(), "no other machine runs it");
    let machine = Machine::start_with_token(&team.world.server, "box", &token, &[]);
    team.until_call(&call, "done");
    assert_eq!(team.said().len(), 1);
    drop(machine);

    eventually("the machine is offline", PATIENCE, || (!team.world.alice.is_online("box")).then_some(()));
    let call = team.post(&team.world.alice, "@builder again")["calls"][0]["id"].clone();
    team.until_call(&call, "waiting");
    team.world.run(&["runner", "revoke", "box"]);
    let failed = team.until_call(&call, "failed");
    assert!(failed["reason"].as_str().unwrap().contains("box was revoked"), "{failed}");
    let last = team.entries().pop().unwrap();
    assert_eq!(last["kind"], "server");
    assert!(last["text"].as_str().unwrap().starts_with("@builder could not answer"), "{last}");
}

#[test]
fn outsiders_learn_nothing_of_a_group_and_readers_only_read() {
    let team = Team::new(echo);
    let eve = team.world.server.person("eve");
    team.post(&team.world.alice, "@coder hello");
    team.until_said(1);
    let client = Client::login(&team.world.server, "eve");
    let of = |what: &str| format!("/groups/{}{what}", team.group);
    let put = |path: &str, body: Value| client.send("PUT", &of(path), body.to_string().as_bytes()).status;
    let send = |path: &str, body: Value| client.send("POST", &of(path), body.to_string().as_bytes()).status;
    let everything = |expected: u16| {
        let answers = [
            put("", json!({"title": "mine"})),
            put("/people/eve", json!({"access": "owner"})),
            put("/agents/coder", json!({"runner": "none"})),
            put("/agents/coder/grants/eve", json!({"mode": "own"})),
            put("/lead", json!({"agent": null})),
            put("/chains/x", json!({"text": "1. @coder: x"})),
            send("/chain-text", json!({"text": "1. @coder: x"})),
            send("/entries", json!({"text": "@coder do it"})),
            send("/chains/x/runs", json!({"request": "x"})),
            client.call("DELETE", &of("/people/bob")).status,
            client.call("DELETE", &of("/agents/coder")).status,
            client.call("DELETE", &of("/chains/x")).status,
            client.call("DELETE", &of("")).status,
        ];
        assert_eq!(answers, [expected; 13]);
    };
    everything(404);
    for path in ["", "/entries", "/calls", "/chains", "/runs", "/runs/1"] {
        assert_eq!(client.call("GET", &of(path)).status, 404, "{path}");
    }
    assert_eq!(team.of(&eve, &["list"]), json!([]));

    team.alice(&["add-person", &team.group, "eve", "--access", "reader"]);
    everything(403);
    for path in ["", "/entries", "/calls", "/chains", "/runs"] {
        assert_eq!(client.call("GET", &of(path)).status, 200, "{path}");
    }
    assert_eq!(team.calls().len(), 1);
}

#[test]
fn removing_a_person_ends_their_calls_and_agents() {
    let team =
        Team::new(
            |asked| {
                if handle(asked) == "writer" { Reply::Hang("one moment".to_owned()) } else { echo(asked) }
            },
        );
    let first = team.post(&team.bob, "@writer write")["calls"][0]["id"].clone();
    let second = team.post(&team.bob, "@writer and more")["calls"][0]["id"].clone();
    team.until_call(&first, "running");
    team.alice(&["remove-person", &team.group, "bob"]);
    team.until_call(&first, "stopped");
    team.until_call(&second, "stopped");
    assert!(team.said().is_empty());
    let agents = team.alice(&["show", &team.group])["agents"].as_array().unwrap().len();
    assert_eq!(agents, 1, "their agent was removed");
    assert_ne!(team.bob.run(&["group", "log", &team.group]).code, 0);
}

#[test]
fn a_chain_passes_outputs_between_steps_and_asks_at_its_gates() {
    let team = Team::new(|asked| {
        let text = asked.last_of_user();
        let part = text.lines().last().unwrap_or_default();
        Reply::Say(format!("<{part}> after {} outputs", text.matches("<output step=").count()))
    });
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    let run = team.begin("1. @writer: write it [gate]\n2. @coder: check it\n3. @writer: polish it\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    assert_eq!(gate["replies"], json!(["approve", "edit", "redo", "stop"]));
    team.answer(&team.bob, &gate, &["redo", "--text", "shorter"]);
    let second = eventually("the gate asks again", PATIENCE, || {
        Some(team.run(&run)["gate"].clone()).filter(|gate| gate["attempt"] == 2)
    });
    let twice = team.bob.run(&["group", "chain", "answer", &team.group, &gate["id"].to_string(), "approve"]);
    assert!(twice.code != 0 && twice.stderr.contains("bob answered it before"), "{twice:?}");
    team.answer(&team.bob, &second, &["edit", "--text", "written by hand"]);
    let done = team.until_run(&run, "done");
    let outputs: Vec<_> =
        done["steps"].as_array().unwrap().iter().map(|step| step["output"].as_str().unwrap()).collect();
    assert_eq!(
        outputs,
        ["written by hand", "<check it> after 1 outputs", "<polish it> after 2 outputs"],
        "{done}"
    );
    assert_eq!(done["steps"][0]["attempts"], 2);
    let asked = team.world.model.asked();
    assert!(asked.iter().any(|asked| asked.last_of_user().contains("<change>\nshorter\n</change>")));
    assert!(asked.iter().any(|asked| asked.last_of_user().contains("written by hand")));
    let last = team.entries().pop().unwrap();
    assert_eq!(last["text"], "The chain story is done.");
    let chinese = Client::login(&team.world.server, "alice");
    let path = format!("/groups/{}/entries?after={}", team.group, last["id"].as_i64().unwrap() - 1);
    let read = chinese.send_with("GET", &path, &[("accept-language", "zh-CN")], b"");
    assert_eq!(read.json()["entries"][0]["text"], "链 story 已完成。");
    let listed = team.alice(&["chain", "runs", &team.group]);
    assert!(listed[0]["steps"].as_array().unwrap().iter().all(|step| step["output"] == ""), "{listed}");
}

#[test]
fn a_chain_needs_the_right_to_ask_each_of_its_agents() {
    let team = Team::new(echo);
    let put = team.world.alice.with_stdin(
        &["group", "chain", "set", &team.group, "story", "-"],
        b"1. @coder: begin\n2. @writer: end\n",
    );
    assert_eq!(put.code, 0, "{put:?}");
    let refused = team.world.alice.run(&["group", "chain", "run", &team.group, "story", "x"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("step 2: @writer works on a machine of bob"),
        "{refused:?}"
    );
    // Revoking a grant during a run fails the step, with a question.
    team.of(&team.bob, &["grant", &team.group, "writer", "alice"]);
    let run = team.begin("1. @coder: begin [gate]\n2. @writer: end\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    team.of(&team.bob, &["revoke", &team.group, "writer", "alice"]);
    team.answer(&team.world.alice, &gate, &["approve"]);
    let gate = eventually("the failed step asks", PATIENCE, || {
        Some(team.run(&run)["gate"].clone()).filter(|gate| gate["kind"] == "failure")
    });
    assert_eq!(gate["replies"], json!(["redo", "edit", "stop"]));
    team.answer(&team.world.alice, &gate, &["stop"]);
    team.until_run(&run, "stopped");
}

#[test]
fn a_chain_is_replaced_only_by_who_says_so_and_one_that_is_being_written_is_shown_in_both_forms() {
    let team = Team::new(echo);
    let (alice, first, second) =
        (&team.world.alice, "1. @coder: begin\n", "1. @coder: begin\n2. @Coder: end\n");
    let set = |text: &str, more: &[&str]| {
        let set = [&["group", "chain", "set", &team.group, "story", "-"], more].concat();
        alice.with_stdin(&set, text.as_bytes())
    };
    assert_eq!(set(first, &[]).code, 0);
    assert_eq!(set(first, &[]).code, 0, "the same again replaces nothing");
    let refused = set(second, &[]);
    assert!(
        refused.code != 0
            && refused.stderr.contains("there is already a chain story in this group")
            && refused.stderr.contains("--replace"),
        "{refused:?}"
    );
    assert_eq!(set(second, &["--replace"]).code, 0);
    let client = Client::login(&team.world.server, "alice");
    let of = |what: &str| format!("/groups/{}{what}", team.group);
    let put = |body: Value| client.send("PUT", &of("/chains/story"), body.to_string().as_bytes());
    let read_at = client.call("GET", &of("/chains")).json()[0]["updated_at"].clone();
    let changed = put(json!({"text": first, "changed_at": read_at}));
    assert_eq!(changed.status, 200);
    assert!(changed.json()["updated_at"].as_i64() > read_at.as_i64());
    for (body, why) in [
        (json!({"text": second}), "there is already a chain story"),
        (json!({"text": second, "changed_at": read_at}), "was changed or removed meanwhile"),
    ] {
        let refused = put(body);
        assert_eq!((refused.status, refused.kind().as_str()), (409, "conflict"));
        assert!(refused.json()["error"]["message"].as_str().unwrap().contains(why));
    }
    assert_eq!(put(json!({"text": second, "dry_run": true})).status, 200, "it would be stored by nobody");
    let shown = client.call("GET", &of("/chains")).json();
    assert_eq!(shown[0]["text"], first);

    let text = |body: Value| client.send("POST", &of("/chain-text"), body.to_string().as_bytes()).json();
    let nothing = json!({"chain": {"steps": []}, "text": "", "agents": [], "strangers": []});
    for blank in [
        json!({"chain": {}}),
        json!({"text": " \n"}),
        json!({"chain": {"steps": [{"agent": "", "instruction": ""}]}}),
        json!({"chain": {"steps": [{"agent": "coder", "instruction": " "}]}}),
        json!({"text": "1. @coder:\n"}),
    ] {
        assert_eq!(text(blank), nothing);
    }
    let others = "1. @Coder: ask @nobody\n2. @poet: write\n3. @story-writer: end\n";
    let read = text(json!({"text": others}));
    assert_eq!(
        (&read["text"], &read["agents"], &read["strangers"]),
        (&json!(others), &json!(["Coder", "poet", "story-writer"]), &json!(["poet", "story-writer"]))
    );
    team.alice(&["add-agent", &team.group, "rust-poet", "--on", "laptop"]);
    let fitted = text(json!({"text": others, "fit": true}));
    assert_eq!(fitted["text"], "1. @coder: ask @nobody\n2. @rust-poet: write\n3. @story-writer: end\n");
    assert_eq!(fitted["strangers"], json!(["story-writer"]));
    let long = json!({"chain": {"steps": vec![json!({"agent": "", "instruction": ""}); 120_000]}});
    for refused in [json!({"text": "begin"}), long] {
        assert_eq!(text(refused)["error"]["kind"], "invalid");
    }
}

#[test]
fn a_budget_asks_before_the_next_answer() {
    let team = Team::new(echo);
    let run = team.begin("1. @coder: one\n2. @coder: two\n3. @coder: three\nbudget: 1 tokens\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    assert_eq!((gate["kind"].as_str(), gate["step"].as_i64()), (Some("budget"), Some(1)), "{gate}");
    assert_eq!(team.said().len(), 1, "one answer, and no more");
    team.answer(&team.world.alice, &gate, &["more"]);
    let gate = eventually("it asks again", PATIENCE, || {
        Some(team.run(&run)["gate"].clone()).filter(|gate| gate["step"] == 2)
    });
    team.answer(&team.world.alice, &gate, &["stop"]);
    team.until_run(&run, "stopped");
    assert_eq!(team.said().len(), 2);
}

#[test]
fn a_step_that_takes_too_long_fails() {
    let team = Team::new(|_| Reply::Hang("one moment".to_owned()));
    let run = team.begin("1. @coder: one [limit 10s]\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    assert!(gate["question"].as_str().unwrap().contains("longer than its limit of 10 s"), "{gate}");
    team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    team.until_run(&run, "stopped");
}
