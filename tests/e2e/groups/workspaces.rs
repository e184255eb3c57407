//! Workspaces of agents: folders on their owners' machines, with documents that define each agent's role.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Machine, Reply, eventually};

use super::{PATIENCE, Team, echo, handle};

const FILES: [&str; 4] = ["IDENTITY.md", "SOUL.md", "USER.md", "TOOLS.md"];

fn text(answer: &tests::http::Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// The names of the documents in this state.
fn names(workspace: &Value, state: &str) -> Vec<String> {
    let files = workspace["files"].as_array().unwrap_or_else(|| panic!("{workspace}")).iter();
    let files =
        files.filter(|file| file["state"] == state).map(|file| file["name"].as_str().unwrap().to_owned());
    files.collect()
}

fn made(workspace: &Value) -> Vec<String> {
    let files = workspace["files"].as_array().unwrap_or_else(|| panic!("{workspace}")).iter();
    files.filter(|file| file["made"] == true).map(|file| file["name"].as_str().unwrap().to_owned()).collect()
}

/// Adds an agent of alice's with this folder.
fn add(team: &Team, handle: &str, on: &str, folder: &str) {
    team.alice(&["add-agent", &team.group, handle, "--on", on, "--approval", "full", "--folder", folder]);
}

fn make(team: &Team, handle: &str) -> Value {
    team.alice(&["workspace", "make", &team.group, handle, "--template", "coder"])
}

/// The error of a group command that alice runs.
fn refused(team: &Team, arguments: &[&str]) -> String {
    let output = team.world.alice.run(&[&["group"], arguments].concat());
    assert_ne!(output.code, 0, "{arguments:?}: {output:?}");
    output.stderr
}

fn not_made(team: &Team, handle: &str) -> String {
    refused(team, &["workspace", "make", &team.group, handle, "--template", "coder"])
}

#[test]
fn an_agent_works_in_its_folder_and_reads_its_documents_there() {
    let team = Team::new(|asked: &Asked| {
        let messages = asked.body["messages"].as_array().unwrap();
        match messages.last().unwrap()["role"] == "tool" {
            true => Reply::Say("It is done.".to_owned()),
            false => Reply::Call(vec![("Shell", json!({"command": "touch here"}))]),
        }
    });
    let own = tempfile::tempdir().unwrap();
    let soul = own.path().join("SOUL.md");
    fs::write(&soul, "# Soul\n\nYou love blue umbrellas.\n").unwrap();
    fs::write(team.world.path("SOUL.md"), "You are the soul of the whole machine.").unwrap();
    let soul = soul.to_str().unwrap();
    let add = ["add-agent", &team.group, "helper", "--on", "laptop", "--approval", "full"];
    team.alice(&[&add[..], &["--template", "coder", "--language", "zh", "--file", soul]].concat());
    let folder = team.world.path("agents/helper");
    for name in FILES {
        assert!(folder.join(name).is_file(), "{name}");
    }
    assert_eq!(fs::read_to_string(folder.join("SOUL.md")).unwrap(), "# Soul\n\nYou love blue umbrellas.\n");
    assert!(fs::read_to_string(folder.join("IDENTITY.md")).unwrap().contains("程序员"));
    let shown = team.alice(&["workspace", "show", &team.group, "helper"]);
    assert_eq!((names(&shown, "present").len(), &shown["folder"]), (4, &json!("agents/helper")), "{shown}");
    assert_eq!(made(&shown), [""; 0]);

    let asks = team.post(&team.world.alice, "@helper where are you?");
    team.until_call(&asks["calls"][0]["id"], "done");
    assert!(folder.join("here").exists(), "the agent works in its folder");
    let asked = team.world.model.asked();
    let of_helper = asked.iter().find(|asked| handle(asked) == "helper").unwrap();
    let system = of_helper.system();
    assert!(system.contains("> You love blue umbrellas.") && system.contains("程序员"), "{system}");
    assert!(!system.contains("soul of the whole machine"), "{system}");
    assert!(system.contains("Your folder on that machine is agents/helper"), "{system}");
    let body = of_helper.body.to_string();
    assert!(body.contains("The current directory is agents/helper, relative to the workspace"), "{body}");

    // After a change of the folder, the agent works in the new folder from the next question on; the folder is created then.
    let other =
        ["add-agent", &team.group, "helper", "--on", "laptop", "--approval", "full", "--folder", "other/one"];
    team.alice(&other);
    let asks = team.post(&team.world.alice, "@helper and now?");
    team.until_call(&asks["calls"][0]["id"], "done");
    assert!(team.world.path("other/one/here").exists());
    let shown = team.alice(&["workspace", "show", &team.group, "helper"]);
    assert_eq!((names(&shown, "missing").len(), &shown["exists"]), (4, &json!(true)), "{shown}");
    // Without the option an agent keeps its folder.
    team.alice(&["add-agent", &team.group, "helper", "--on", "laptop", "--approval", "plan"]);
    assert_eq!(team.alice(&["workspace", "show", &team.group, "helper"])["folder"], "other/one");
    let audit = text(&Client::login(&team.world.server, "alice").call("GET", "/audit"));
    assert!(audit.contains("group.workspace") && audit.contains("agents/helper/SOUL.md"), "{audit}");
}

#[test]
fn templates_are_listed_in_both_languages_and_each_can_be_used() {
    let team = Team::new(echo);
    let english = team.alice(&["templates", "--language", "en"]);
    let chinese = team.alice(&["templates", "--language", "zh"]);
    let (english, chinese) = (english.as_array().unwrap(), chinese.as_array().unwrap());
    assert_eq!(english.len(), chinese.len());
    for wanted in ["coder", "reviewer", "writer", "editor", "translator", "researcher"] {
        assert!(english.iter().any(|template| template["name"] == wanted), "{wanted}");
    }
    for (number, template) in (1..).zip(english) {
        let (name, handle) = (template["name"].as_str().unwrap(), format!("agent{number}"));
        let add =
            ["add-agent", &team.group, &handle, "--on", "laptop", "--template", name, "--language", "en"];
        team.alice(&add);
        for file in template["files"].as_array().unwrap() {
            let path = team.world.path(&format!("agents/{handle}/{}", file["name"].as_str().unwrap()));
            assert_eq!(fs::read_to_string(path).unwrap(), file["text"].as_str().unwrap(), "{name}");
        }
    }
    let printed = team.world.alice.run(&["group", "templates", "reviewer", "--language", "en"]);
    assert!(printed.stdout.contains("SOUL.md\n\n# How you work"), "{printed:?}");
    // An unknown template adds no agent.
    let add = ["add-agent", &team.group, "pirate", "--on", "laptop", "--template", "pirate"];
    assert!(refused(&team, &add).contains("there is no template pirate; the templates are coder, reviewer"));
    assert!(refused(&team, &["workspace", "show", &team.group, "pirate"]).contains("no agent @pirate"));
}

#[test]
fn existing_documents_are_kept_and_named() {
    let team = Team::new(echo);
    add(&team, "helper", "laptop", "agents/helper");
    let folder = team.world.path("agents/helper");
    fs::create_dir_all(folder.join("TOOLS.md")).unwrap();
    fs::write(folder.join("SOUL.md"), "mine").unwrap();
    symlink("nowhere", folder.join("USER.md")).unwrap();
    let workspace = make(&team, "helper");
    assert_eq!(made(&workspace), ["IDENTITY.md"], "{workspace}");
    assert_eq!(names(&workspace, "present"), ["IDENTITY.md", "SOUL.md"], "{workspace}");
    assert_eq!(names(&workspace, "blocked"), ["USER.md", "TOOLS.md"], "{workspace}");
    assert_eq!(fs::read_to_string(folder.join("SOUL.md")).unwrap(), "mine");
    assert!(folder.join("TOOLS.md").is_dir() && !folder.join("nowhere").exists());
    let again = make(&team, "helper");
    assert_eq!((made(&again), names(&again, "missing")), (vec![], vec![]), "{again}");

    // A link to a document within the workspace counts as a document.
    fs::remove_file(folder.join("USER.md")).unwrap();
    fs::write(team.world.path("shared.md"), "all of us").unwrap();
    symlink("../../shared.md", folder.join("USER.md")).unwrap();
    let shown = make(&team, "helper");
    assert_eq!(names(&shown, "present"), ["IDENTITY.md", "SOUL.md", "USER.md"], "{shown}");
    assert_eq!(fs::read_to_string(team.world.path("shared.md")).unwrap(), "all of us");
    // A link that leads out of the workspace does not count as a document.
    let outside = tempfile::tempdir().unwrap();
    fs::remove_file(folder.join("USER.md")).unwrap();
    symlink(outside.path().join("USER.md"), folder.join("USER.md")).unwrap();
    assert_eq!(names(&make(&team, "helper"), "blocked"), ["USER.md", "TOOLS.md"]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_leads_out_of_the_workspace_or_is_a_file_is_refused() {
    let team = Team::new(echo);
    for folder in ["..", "../x", "a/../../x", "/etc", "~/x", "a//b", "a*", "a\nb"] {
        let add = ["add-agent", &team.group, "helper", "--on", "laptop", "--folder", folder];
        let why = refused(&team, &add);
        assert!(why.contains("cannot be the folder of an agent"), "{folder}: {why}");
    }
    assert!(refused(&team, &["workspace", "show", &team.group, "helper"]).contains("no agent @helper"));
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), team.world.path("out")).unwrap();
    symlink("nowhere", team.world.path("dangling")).unwrap();
    fs::write(team.world.path("file"), "a file").unwrap();
    for (folder, part) in [
        ("out", "escapes the workspace"),
        ("out/deep", "escapes the workspace"),
        ("file", "a file has this name"),
        ("file/deep", "not a directory"),
        ("dangling/deep", "it already exists"),
    ] {
        add(&team, "helper", "laptop", folder);
        let why = not_made(&team, "helper");
        assert!(
            why.contains(folder) && why.contains("on laptop cannot be") && why.contains(part),
            "{folder}: {why}"
        );
        let shown = refused(&team, &["workspace", "show", &team.group, "helper"]);
        assert!(shown.contains(part), "{folder}: {shown}");
        // Questions to the agent fail with the same reason.
        let asks = team.post(&team.world.alice, "@helper hello");
        let failed = team.until_call(&asks["calls"][0]["id"], "failed");
        assert!(failed["reason"].as_str().unwrap().contains(part), "{folder}: {failed}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(team.world.path("file")).unwrap(), "a file");
    // A link to another place within the workspace is a folder like any other.
    fs::create_dir(team.world.path("real")).unwrap();
    symlink("real", team.world.path("link")).unwrap();
    add(&team, "helper", "laptop", "link");
    assert_eq!(made(&make(&team, "helper")), FILES);
    assert!(team.world.path("real/SOUL.md").is_file());
}

#[test]
fn an_agent_on_an_offline_machine_is_added_and_its_workspace_made_later() {
    let team = Team::new(echo);
    let token = team.world.alice.add_runner("box");
    let add = ["add-agent", &team.group, "builder", "--on", "box", "--template", "coder"];
    let why = refused(&team, &add);
    for part in ["@builder was added", "runner box is offline", "workspace make"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let shown = team.alice(&["show", &team.group]);
    let agents = shown["agents"].as_array().unwrap();
    let builder = agents.iter().find(|agent| agent["handle"] == "builder").unwrap();
    assert_eq!((&builder["folder"], &builder["online"]), (&json!("agents/builder"), &json!(false)));
    let shown = refused(&team, &["workspace", "show", &team.group, "builder"]);
    assert!(shown.contains("runner box is offline"), "{shown}");

    let machine = Machine::start_with_token(&team.world.server, "box", &token, &[]);
    machine.wait_online(&team.world.alice, "box");
    assert_eq!(
        fs::read_dir(machine.workspace())
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name() == "agents")
            .count(),
        0
    );
    assert_eq!(made(&make(&team, "builder")), FILES);
    assert!(machine.workspace().join("agents/builder/SOUL.md").is_file());
    assert!(!team.world.path("agents").exists(), "no other machine got the folder");

    team.world.run(&["runner", "revoke", "box"]);
    let why = not_made(&team, "builder");
    assert!(why.contains("the runner box was revoked; choose another machine"), "{why}");
}

#[test]
fn a_read_only_machine_is_reported_and_its_documents_are_kept() {
    let team = Team::new(echo);
    let workspace = tempfile::TempDir::with_prefix("sandbridge-fixed-").unwrap();
    fs::create_dir_all(workspace.path().join("there")).unwrap();
    fs::write(workspace.path().join("there/SOUL.md"), "mine").unwrap();
    let options = ["--profile", "read-only"];
    let machine =
        Machine::start_with_workspace(workspace, &team.world.server, &team.world.alice, "fixed", &options);
    add(&team, "helper", "fixed", "agents/helper");
    let why = not_made(&team, "helper");
    assert!(
        why.contains("the folder agents/helper on fixed cannot be made") && why.contains("read-only"),
        "{why}"
    );
    assert!(!machine.workspace().join("agents").exists());
    add(&team, "helper", "fixed", "there");
    let why = not_made(&team, "helper");
    assert!(
        why.contains("there/IDENTITY.md on fixed cannot be written") && why.contains("read-only"),
        "{why}"
    );
    // Existing documents are still shown, and an agent uses them.
    let shown = team.alice(&["workspace", "show", &team.group, "helper"]);
    assert_eq!(names(&shown, "present"), ["SOUL.md"], "{shown}");
    let asks = team.post(&team.world.alice, "@helper hello");
    team.until_call(&asks["calls"][0]["id"], "done");
}

#[test]
fn a_full_disk_leaves_whole_documents_and_the_rest_is_made_later() {
    let team = Team::new(echo);
    let disk = tempfile::tempdir().unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(disk.path()).status();
    assert!(mounted.unwrap().success());
    let small = Machine::start_in(&team.world.server, &team.world.alice, "small", disk.path());
    add(&team, "helper", "small", "agents/helper");
    let folder = disk.path().join("agents/helper");
    fs::create_dir_all(&folder).unwrap();
    let filler = disk.path().join("filler");
    fill(&filler, 2);
    let why = not_made(&team, "helper");
    assert!(why.contains("on small cannot be written: no space left"), "{why}");
    let count = fs::read_dir(&folder).unwrap().count();
    assert!(count < FILES.len(), "{why}");
    assert_eq!(why.contains("created before that: IDENTITY.md"), count > 0, "{why}");
    for entry in fs::read_dir(&folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(text.starts_with("# ") && text.ends_with('\n'), "each document is whole: {text:?}");
    }
    fs::remove_file(filler).unwrap();
    let rest = make(&team, "helper");
    assert_eq!(
        (made(&rest).len(), names(&rest, "present").len()),
        (FILES.len() - count, FILES.len()),
        "{rest}"
    );
    drop(small);
    assert!(Command::new("umount").arg("--lazy").arg(disk.path()).status().unwrap().success());
}

/// Fills a disk up to this number of pages of 4 KiB.
fn fill(path: &Path, pages: usize) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    while file.write_all(&[7; 4096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length - 4096 * pages as u64).unwrap();
}

#[test]
fn two_simultaneous_requests_make_each_document_once() {
    const ROUNDS: usize = 10;
    const AT_ONCE: usize = 4;
    let team = Team::new(echo);
    let clients: Vec<_> = (0..AT_ONCE).map(|_| Client::login(&team.world.server, "alice")).collect();
    for round in 0..ROUNDS {
        let folder = format!("agents/round{round}");
        add(&team, "helper", "laptop", &folder);
        let path = format!("/groups/{}/agents/helper/workspace", team.group);
        let answers: Vec<Value> = thread::scope(|scope| {
            let one = |(number, client): (usize, &Client)| {
                let text = format!("by {number}\n").repeat(500);
                let files: Vec<_> = FILES.iter().map(|name| json!({"name": name, "text": text})).collect();
                let answer = client.send("POST", &path, json!({"files": files}).to_string().as_bytes());
                assert_eq!(answer.status, 200, "{answer:?}");
                answer.json()
            };
            let threads: Vec<_> =
                clients.iter().enumerate().map(|client| scope.spawn(move || one(client))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for name in FILES {
            let makers: Vec<_> = (0..AT_ONCE)
                .filter(|number| made(&answers[*number]).iter().any(|made| made == name))
                .collect();
            assert_eq!(makers.len(), 1, "{name} was made by {makers:?}");
            let text = fs::read_to_string(team.world.path(&folder).join(name)).unwrap();
            assert_eq!(text, format!("by {}\n", makers[0]).repeat(500), "{name}");
        }
    }
}

#[test]
fn a_server_that_dies_halfway_leaves_whole_documents_and_the_rest_is_made_later() {
    const KILLS: u64 = 6;
    let mut team = Team::new(echo);
    let text = |name: &str| format!("# {name}\n").repeat(500);
    let files: Vec<_> = FILES.iter().map(|name| json!({"name": name, "text": text(name)})).collect();
    let body = json!({"files": files}).to_string();
    let path = format!("/groups/{}/agents/helper/workspace", team.group);
    for kill in 0..KILLS {
        let folder = format!("agents/round{kill}");
        add(&team, "helper", "laptop", &folder);
        let client = Client::login(&team.world.server, "alice");
        let (to, asked) = (path.clone(), body.clone());
        let request = thread::spawn(move || client.try_send("POST", &to, asked.as_bytes()).is_ok());
        // The server is killed before, during and after the work.
        thread::sleep(Duration::from_millis(kill * 3));
        team.world.kill_and_restart(&[]);
        request.join().unwrap();
        team.world.machine.wait_online(&team.world.alice, "laptop");
        let folder = team.world.path(&folder);
        for name in FILES.iter().filter(|name| folder.join(name).exists()) {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text(name));
        }
        let client = Client::login(&team.world.server, "alice");
        let again = client.send("POST", &path, body.as_bytes());
        assert_eq!((again.status, names(&again.json(), "present").len()), (200, FILES.len()), "{again:?}");
        let found = fs::read_dir(&folder).unwrap().count();
        assert_eq!(found, FILES.len(), "no half-written file remains");
        for name in FILES {
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text(name));
        }
    }
}

#[test]
fn only_an_agents_owner_sees_and_makes_its_workspace() {
    let team = Team::new(echo);
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    let bob = Client::login(&team.world.server, "bob");
    let path = format!("/groups/{}/agents/coder/workspace", team.group);
    let body = json!({"template": "coder"}).to_string();
    for answer in [bob.call("GET", &path), bob.send("POST", &path, body.as_bytes())] {
        assert_eq!(answer.status, 403, "{answer:?}");
        let why = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(why.contains("a machine of alice: only they can see and create its workspace"), "{why}");
    }
    // Another person's machine cannot be used.
    let put = json!({"runner": "laptop", "folder": "agents/thief"}).to_string();
    let thief = bob.send("PUT", &format!("/groups/{}/agents/thief", team.group), put.as_bytes());
    assert_eq!(thief.status, 404, "{thief:?}");
    assert!(thief.json()["error"]["message"].as_str().unwrap().contains("you have no runner named laptop"));
    team.world.server.person("eve");
    let eve = Client::login(&team.world.server, "eve");
    assert_eq!(eve.call("GET", &path).status, 404);
    assert_eq!(eve.send("POST", &path, body.as_bytes()).status, 404);
    assert_eq!(Client::anonymous(&team.world.server).call("GET", "/agent-templates").status, 401);
    // A reader can no longer create documents for the group, but can still see the existing ones.
    team.alice(&["add-person", &team.group, "bob", "--access", "reader"]);
    let own = format!("/groups/{}/agents/writer/workspace", team.group);
    assert_eq!(bob.call("GET", &own).status, 200);
    assert_eq!(bob.send("POST", &own, body.as_bytes()).status, 403);
    assert!(
        fs::read_dir(team.desk.workspace()).unwrap().all(|entry| entry.unwrap().file_name() != "SOUL.md")
    );
    assert!(!team.world.path("SOUL.md").exists());
    // The error is also available in Chinese.
    let answer = bob.send_with("POST", &own, &[("accept-language", "zh")], body.as_bytes());
    assert!(!text(&answer).contains("you are a reader"), "{}", text(&answer));
}

#[test]
fn texts_that_cannot_be_documents_are_refused() {
    let team = Team::new(echo);
    let alice = Client::login(&team.world.server, "alice");
    let path = format!("/groups/{}/agents/coder/workspace", team.group);
    let file = |name: &str, text: &str| json!({"files": [{"name": name, "text": text}]});
    for (body, part) in [
        (json!({}), "choose a template"),
        (json!({"template": "pirate"}), "there is no template"),
        (file("../SOUL.md", "x"), "not a document of a workspace"),
        (file("SOUL.md", &"x".repeat(8193)), "an agent reads at most 8192 bytes"),
        (file("SOUL.md", "a\0b"), "not text"),
        (json!({"files": [{"name": "SOUL.md"}]}), "text"),
    ] {
        let answer = alice.send("POST", &path, body.to_string().as_bytes());
        assert!(matches!(answer.status, 400 | 422) && text(&answer).contains(part), "{body}: {answer:?}");
    }
    let huge = file("SOUL.md", &"x".repeat(4 << 20)).to_string();
    // The server may close the connection before it has read the whole body.
    assert!(
        alice.try_send("POST", &path, huge.as_bytes()).is_ok_and(|answer| answer.status >= 400)
            || alice.call("GET", &path).status == 200
    );
    assert!(!team.world.path("SOUL.md").exists());
}

#[test]
fn files_are_handed_over_from_folder_to_folder() {
    let team = Team::new(echo);
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    add(&team, "maker", "laptop", "agents/maker");
    add(&team, "reader", "laptop", "agents/reader");
    make(&team, "maker");
    let out = team.world.path("agents/maker");
    fs::create_dir_all(out.join("report")).unwrap();
    fs::write(out.join("report/rain.txt"), "12 mm").unwrap();
    fs::write(out.join("a.csv"), "1,2").unwrap();
    // Files are handed over first on the same machine, to another folder, and then to another machine, to its whole workspace.
    let run = team.begin("1. @maker: make it [outputs report/, *.csv]\n2. @reader: read it [outputs handed/]\n3. @writer: read it\n");
    let done = team.until_run(&run, "done");
    let received = |step: usize| done["steps"][step]["received"]["directory"].as_str().unwrap().to_owned();
    assert_eq!(received(1), format!("agents/reader/handed/{run}/1"));
    let reader = team.world.path(&received(1));
    assert_eq!(fs::read_to_string(reader.join("report/rain.txt")).unwrap(), "12 mm");
    assert_eq!(fs::read_to_string(reader.join("a.csv")).unwrap(), "1,2");
    assert_eq!(received(2), format!("handed/{run}/2"));
    let desk = team.desk.workspace().join(received(2)).join(format!("handed/{run}/1/a.csv"));
    assert_eq!(fs::read_to_string(desk).unwrap(), "1,2");
    let asked = team.world.model.asked();
    let of_reader = asked.iter().find(|asked| handle(asked) == "reader").unwrap().last_of_user();
    assert!(
        of_reader.contains(&format!("in handed/{run}/1/.")),
        "the agent gets the path relative to its folder: {of_reader}"
    );
    // An output that is on the machine but not in the folder is not found.
    fs::write(team.world.path("root.txt"), "x").unwrap();
    let run = team.begin("1. @maker: make it [outputs root.txt]\n2. @reader: read it\n");
    let gate = eventually("the failed step asks", PATIENCE, || {
        Some(team.run(&run)["gate"].clone()).filter(|gate| gate["kind"] == "failure")
    });
    assert!(gate["question"].as_str().unwrap().contains("root.txt"), "{gate}");
    // A chain's file is read from its agent's folder.
    fs::write(out.join("chain.md"), "1. @maker: begin\n").unwrap();
    team.alice(&["chain", "set", &team.group, "other", "chain.md", "--from", "maker"]);
}
