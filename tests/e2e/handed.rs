//! Files that are handed over from the agent of one step of a chain to the agent of the next one, machine to machine.

mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Reply, eventually, process};

use crate::groups::{PATIENCE, Team, echo, handle};

/// The number of hand-overs, one after the other; the goal is 50. `SANDBRIDGE_HANDED_COUNT` sets it.
const COUNT: u64 = 5;

/// The number of kills of the server while files are in transit. `SANDBRIDGE_HANDED_KILLS` sets it.
const KILLS: u64 = 4;

/// The size of the large file, in MiB.
const LARGE_MIB: usize = 100;

/// The limit on the growth of the server's memory while the large file passes, in KiB.
const GROWTH_KIB: u64 = 40 * 1024;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(otherwise)
}

/// Everything below a directory: the kind, permission bits, and content or target, by path.
fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.permissions().mode() & 0o777;
            let described = if metadata.is_symlink() {
                format!("l {}", fs::read_link(&path).unwrap().display())
            } else if metadata.is_dir() {
                left.push(path.clone());
                format!("d {mode:o}")
            } else {
                format!("f {mode:o} {}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
            };
            all.insert(path.strip_prefix(root).unwrap().display().to_string(), described);
        }
    }
    all
}

fn put(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Alice's coder on her laptop and bob's writer on his desk; each of the two may ask the other's agent.
fn team() -> Team {
    team_of(echo)
}

fn team_of(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Team {
    let team = Team::new(script);
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    team
}

/// The gate of a failed step, as soon as it is open.
fn failure(team: &Team, run: &Value, step: u64) -> Value {
    eventually("the failed step asks", PATIENCE, || {
        Some(team.run(run)["gate"].clone()).filter(|gate| gate["kind"] == "failure" && gate["step"] == step)
    })
}

fn waits(team: &Team, run: &Value, why: &str) {
    eventually(why, PATIENCE, || {
        let shown = team.run(run);
        assert!(shown["ended_at"].is_null() && shown["gate"].is_null(), "{shown}");
        let steps = shown["steps"].as_array().unwrap();
        steps.iter().any(|step| step["error"] == why).then_some(())
    });
}

fn is_half_written(workspace: &Path) -> bool {
    let handed = fs::read_dir(workspace.join("handed"));
    handed.is_ok_and(|mut entries| {
        entries.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(".part-"))
    })
}

/// Writes files of 40 MiB in all: their transfer takes long enough to be interrupted.
fn put_many(root: &Path) {
    for number in 0..40 {
        put(root, &format!("out/{number}"), &vec![number; 1 << 20]);
    }
}

fn until_half_written(team: &Team, workspace: &Path, run: &Value) {
    eventually("files are half-written", PATIENCE, || {
        assert_ne!(team.run(run)["state"], "done", "too late");
        is_half_written(workspace).then_some(())
    });
}

#[test]
fn outputs_are_copied_to_the_next_machine_with_modes_links_and_empty_directories() {
    let team = team();
    let (laptop, desk) = (team.world.machine.workspace(), team.desk.workspace());
    put(laptop, "report/index.html", b"<h1>rain</h1>");
    put(laptop, "report/deep/run.sh", b"#!/bin/sh\n");
    put(laptop, "data/rain.csv", b"1,2\n");
    put(laptop, "logs/a/one.txt", b"one");
    put(laptop, "logs/a/one.bin", b"not wanted");
    put(laptop, "secret.txt", b"not named");
    put(laptop, &format!("report/{}/name", "long/".repeat(30)), b"a long path");
    fs::set_permissions(laptop.join("report/deep/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::create_dir(laptop.join("report/empty")).unwrap();
    symlink("deep/run.sh", laptop.join("report/latest")).unwrap();
    let run = team.begin(
        "1. @coder: measure the rain [outputs report/, data/rain.csv, logs/**/*.txt]\n2. @writer: describe it\n",
    );
    let done = team.until_run(&run, "done");
    let there = desk.join(format!("handed/{run}/1"));
    let arrived = tree(&there);
    assert_eq!(tree(&there.join("report")), tree(&laptop.join("report")), "{done}");
    assert!(arrived["data/rain.csv"].ends_with("1,2\n") && arrived["logs/a/one.txt"].ends_with("one"));
    assert!(arrived.keys().all(|path| !path.contains("secret") && !path.contains("one.bin")), "{arrived:?}");
    assert!(!is_half_written(desk));

    let received = &done["steps"][1]["received"];
    let directory = format!("handed/{run}/1");
    assert_eq!(
        (&received["state"], &received["directory"], &received["files"], &received["from_step"]),
        (&json!("done"), &json!(directory), &json!(5), &json!(0)),
        "{received}"
    );
    assert_eq!((&received["from_runner"], &received["to_runner"]), (&json!("laptop"), &json!("desk")));
    assert_eq!(received["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(done["steps"][0]["received"], Value::Null);
    let shown = team.world.run(&["group", "chain", "show", &team.group, &run.to_string()]).stdout;
    assert!(
        shown.contains(&format!("step 2: files of step 1 from laptop to desk: they are in {directory}")),
        "{shown}"
    );
    let asked = team.world.model.asked();
    let of = |wanted: &str| asked.iter().find(|asked| handle(asked) == wanted).unwrap().last_of_user();
    assert!(of("coder").contains("<outputs>\n- report/\n- data/rain.csv\n"), "{}", of("coder"));
    let told = of("writer");
    assert!(
        told.contains(&format!("<files step=\"1\" agent=\"@coder\">\n- {directory}/report/\n")),
        "{told}"
    );
    assert!(told.contains(&format!("They are in your workspace, in {directory}/.")), "{told}");

    let says = format!("Step 1 (@coder) handed files to @writer: they are on desk, in {directory}");
    let notes = team.entries().into_iter().filter(|entry| entry["text"].as_str().unwrap().starts_with(&says));
    assert_eq!(notes.count(), 1);
    let client = Client::login(&team.world.server, "alice");
    let path = format!("/groups/{}/entries", team.group);
    let read = client.send_with("GET", &path, &[("accept-language", "zh-CN")], b"").json();
    assert!(read.to_string().contains("第 1 步（@coder）已将文件交给 @writer"), "{read}");
    for (person, expected, other) in
        [("alice", "group.files.read", "group.files.write"), ("bob", "group.files.write", "group.files.read")]
    {
        let of_person = format!("/audit?user={person}&limit=500");
        let trail = Client::login(&team.world.server, "alice").call("GET", &of_person).json().to_string();
        assert!(trail.contains(expected) && !trail.contains(other), "{person}: {trail}");
    }
}

#[test]
fn on_one_machine_the_files_stay_where_they_are() {
    let team = team();
    team.alice(&["add-agent", &team.group, "tester", "--on", "laptop"]);
    put(team.world.machine.workspace(), "out/a", b"x");
    let run = team.begin("1. @coder: make it [outputs out/]\n2. @tester: test it\n");
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][1]["received"], Value::Null);
    assert!(!team.world.path("handed").exists());
    let asked = team.world.model.asked();
    let told = asked.iter().find(|asked| handle(asked) == "tester").unwrap().last_of_user();
    assert!(told.contains("- out/\n") && told.contains("The previous step made these files."), "{told}");
}

#[test]
fn a_step_without_its_outputs_fails_and_the_next_attempt_gets_the_reason() {
    let team = team();
    let run = team.begin("1. @coder: make it [outputs out/, *.csv, a.txt]\n2. @writer: read it\n");
    let gate = failure(&team, &run, 0);
    let question = gate["question"].as_str().unwrap();
    assert!(question.contains("the step ended without its outputs: out/, *.csv, a.txt"), "{question}");
    let laptop = team.world.machine.workspace();
    put(laptop, "a.txt", b"");
    put(laptop, "b.csv", b"1");
    fs::create_dir(laptop.join("out")).unwrap();
    team.answer(&team.world.alice, &gate, &["redo"]);
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][1]["received"]["files"], 2);
    let asked = team.world.model.asked();
    assert!(
        asked
            .iter()
            .any(|asked| asked.last_of_user().contains("<failed>\nthe step ended without its outputs: out/"))
    );

    // If a person writes the text of a failed step, no files are handed over.
    fs::remove_file(laptop.join("a.txt")).unwrap();
    let run = team.begin("1. @coder: make it [outputs a.txt]\n2. @writer: read it\n");
    let gate = failure(&team, &run, 0);
    team.answer(&team.world.alice, &gate, &["edit", "--text", "by hand"]);
    assert_eq!(team.until_run(&run, "done")["steps"][1]["received"], Value::Null);

    // An empty directory on its own is also an output.
    fs::remove_dir_all(laptop.join("out")).unwrap();
    fs::create_dir(laptop.join("out")).unwrap();
    let run = team.begin("1. @coder: make it [outputs out/]\n2. @writer: read it\n");
    assert_eq!(team.until_run(&run, "done")["steps"][1]["received"]["files"], 0);
    assert!(team.desk.workspace().join(format!("handed/{run}/1/out")).is_dir());
}

#[test]
fn large_files_are_handed_over_in_constant_memory() {
    let team = team();
    let content: Vec<u8> = (0..LARGE_MIB << 20).map(|at| (at * 31 + at / 251) as u8).collect();
    put(team.world.machine.workspace(), "out/large", &content);
    let server = team.world.server.pid();
    let before = process::anonymous_kib(server);
    let most = Arc::new(Mutex::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let watch = std::thread::spawn({
        let (stop, most) = (Arc::clone(&stop), Arc::clone(&most));
        move || {
            while !stop.load(Ordering::Relaxed) {
                let now = process::anonymous_kib(server);
                let mut most = most.lock().unwrap();
                *most = now.max(*most);
                drop(most);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
    let run = team.begin("1. @coder: make it [outputs out/]\n2. @writer: read it\n");
    team.until_run(&run, "done");
    stop.store(true, Ordering::Relaxed);
    watch.join().unwrap();
    let grown = most.lock().unwrap().saturating_sub(before);
    assert!(grown < GROWTH_KIB, "{grown} KiB more for {LARGE_MIB} MiB");
    let there = fs::read(team.desk.workspace().join(format!("handed/{run}/1/out/large"))).unwrap();
    assert!(there == content, "{} bytes arrived", there.len());
}

#[test]
fn kills_of_the_server_duplicate_and_lose_no_files() {
    let mut team = team();
    let laptop = team.world.machine.workspace().to_owned();
    put_many(&laptop);
    let options: Vec<String> = [&["--docker", "off"], &team.world.model.options("openai")[..]]
        .concat()
        .iter()
        .map(|one| (*one).to_owned())
        .collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let (mut directories, mut attempts) = (Vec::new(), 0);
    for kill in 0..from_environment("SANDBRIDGE_HANDED_KILLS", KILLS) {
        let run =
            team.begin("1. @coder: make it [outputs out/] [retries 5]\n2. @writer: read it [retries 5]\n");
        // Each kill happens at a different moment of the hand-over, which takes a few hundred milliseconds from here on.
        let begun = eventually("the files are in transit", PATIENCE, || {
            let shown = team.run(&run);
            (shown["steps"][1]["received"] != Value::Null || shown["state"] == "done").then_some(shown)
        });
        std::thread::sleep(Duration::from_millis(kill * 53 % 400));
        team.world.server.kill();
        team.world.server.restart(&options);
        let done = team.until_run(&run, "done");
        let received = &done["steps"][1]["received"];
        assert_eq!(received["directory"], json!(format!("handed/{run}/1")), "{received}, begun as {begun}");
        attempts += done["steps"][1]["attempts"].as_u64().unwrap();
        let there = team.desk.workspace().join(format!("handed/{run}/1/out"));
        assert!(tree(&there) == tree(&laptop.join("out")), "the files differ");
        directories.push(run.to_string());
        fs::remove_dir_all(there).unwrap();
    }
    let handed = fs::read_dir(team.desk.workspace().join("handed")).unwrap();
    let mut names: Vec<_> =
        handed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    directories.sort();
    assert_eq!(names, directories, "one directory for each run, and no partial file");
    let entries = team.all_entries();
    let said = entries.iter().filter(|entry| entry["text"].as_str().unwrap().contains("handed files to"));
    // An interrupted answer is requested again, and finds the files already handed over.
    let said = said.count() as u64;
    assert!((directories.len() as u64..=attempts).contains(&said), "{said} times in {attempts} attempts");
}

#[test]
fn every_hand_over_arrives_unchanged() {
    let team = Team::new(|_| Reply::Say("done".to_owned()));
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    let laptop = team.world.machine.workspace();
    let count = from_environment("SANDBRIDGE_HANDED_COUNT", COUNT);
    for number in 0..count {
        put(laptop, "ball/number", number.to_string().as_bytes());
        put(laptop, &format!("ball/{number}"), &vec![b'b'; (number * 997 % 5000) as usize]);
        let run = team.begin("1. @coder: throw [outputs ball/]\n2. @writer: catch\n");
        team.until_run(&run, "done");
        let there = team.desk.workspace().join(format!("handed/{run}/1/ball"));
        assert_eq!(tree(&there), tree(&laptop.join("ball")), "{number}");
    }
    assert!(!is_half_written(team.desk.workspace()));
}

#[test]
fn the_outputs_of_a_delegated_step_come_from_the_machine_of_the_agent_that_answered() {
    let team = team_of(|asked| {
        let is_new = asked.body["messages"].as_array().unwrap().last().unwrap()["role"] == "user";
        match handle(asked).as_str() {
            "coder" if is_new && asked.last_of_user().trim_end().ends_with("measure") => {
                Reply::Call(vec![("HandOff", json!({"to": "writer", "task": "count the drops"}))])
            }
            _ => echo(asked),
        }
    });
    let (laptop, desk) = (team.world.machine.workspace(), team.desk.workspace());
    let steps = "1. @coder: measure [outputs out/]\n2. @coder: read it\n";
    // A file with this name on the first agent's machine is not the other agent's output.
    put(laptop, "out/a", b"old");
    let run = team.begin(steps);
    let gate = failure(&team, &run, 0);
    assert!(gate["question"].as_str().unwrap().contains("out"), "{gate}");
    team.answer(&team.world.alice, &gate, &["stop"]);
    team.until_run(&run, "stopped");
    put(desk, "out/a", b"17 drops");
    let run = team.begin(steps);
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][0]["output"], "writer heard: count the drops", "{done}");
    assert_eq!(fs::read(laptop.join(format!("handed/{run}/1/out/a"))).unwrap(), b"17 drops");
}
