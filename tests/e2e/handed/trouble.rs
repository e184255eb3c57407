//! Obstacles to a hand-over of files: offline machines, rules, files that change or are in the way, a stopped run.

use super::*;

#[test]
fn files_wait_for_both_machines_and_are_sent_nowhere_else() {
    let team = team();
    let token = team.world.alice.add_runner("box");
    team.alice(&["add-agent", &team.group, "builder", "--on", "box"]);
    put(team.world.machine.workspace(), "out/a", b"x");
    let steps = "1. @coder: make it [outputs out/] [gate]\n2. @builder: build it\n";
    let run = team.begin(steps);
    let gate = team.until_run(&run, "asking")["gate"].clone();
    team.answer(&team.world.alice, &gate, &["approve"]);
    waits(&team, &run, "runner box is offline");
    let mut machine = Machine::start_with_token(&team.world.server, "box", &token, &[]);
    let done = team.until_run(&run, "done");
    assert_eq!(done["steps"][1]["received"]["to_runner"], "box");
    assert!(machine.workspace().join(format!("handed/{run}/1/out/a")).exists());
    assert!(!team.desk.workspace().join("handed").exists());

    // The machine that has the files is offline.
    let run = team.begin("1. @builder: make it [outputs handed/]\n2. @coder: read it\n");
    team.until_run(&run, "done");
    let run = team.begin("1. @builder: make it [outputs handed/] [gate]\n2. @coder: read it\n");
    let gate = team.until_run(&run, "asking")["gate"].clone();
    machine.stop();
    eventually("the machine is offline", PATIENCE, || (!team.world.alice.is_online("box")).then_some(()));
    team.answer(&team.world.alice, &gate, &["approve"]);
    waits(&team, &run, "the files of step 1 are on box, which is offline");
    // The machine is revoked during the wait.
    team.world.run(&["runner", "revoke", "box"]);
    let gate = failure(&team, &run, 1);
    let question = gate["question"].as_str().unwrap();
    assert!(question.contains("could not be passed on: the runner box was revoked"), "{question}");
    team.answer(&team.world.alice, &gate, &["stop"]);
    team.until_run(&run, "stopped");

    // The machine that should receive the files is revoked.
    let run = team.begin(steps);
    let gate = team.until_run(&run, "asking")["gate"].clone();
    team.answer(&team.world.alice, &gate, &["approve"]);
    let gate = failure(&team, &run, 1);
    assert_eq!(gate["replies"], json!(["redo", "edit", "stop"]));
    assert!(gate["question"].as_str().unwrap().contains("box was revoked"), "{gate}");
}

#[test]
fn no_output_or_link_leads_out_of_a_workspace() {
    let team = team();
    let (laptop, desk) = (team.world.machine.workspace(), team.desk.workspace());
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    for output in ["/etc", "../x", "a/../../b", "~/x", "a/./b", "{a}"] {
        let set = ["group", "chain", "set", &team.group, "story", "-"];
        let text = format!("1. @coder: x [outputs {output}]\n2. @writer: y\n");
        let refused = team.world.alice.with_stdin(&set, text.as_bytes());
        assert!(refused.code != 0 && refused.stderr.contains("cannot be an output"), "{output}: {refused:?}");
    }
    // One output leads out of the workspace, and another one contains a link that does.
    symlink(outside.path(), laptop.join("out")).unwrap();
    symlink(outside.path().join("secret"), laptop.join("file")).unwrap();
    put(laptop, "report/a", b"x");
    symlink(outside.path().join("secret"), laptop.join("report/secret")).unwrap();
    for (output, step, why) in [
        ("out/", 0, "escapes"),
        ("out", 0, "escapes"),
        ("file", 0, "escapes"),
        ("report/", 1, "the link points outside"),
    ] {
        let run = team.begin(&format!("1. @coder: make it [outputs {output}]\n2. @writer: read it\n"));
        let gate = failure(&team, &run, step);
        let question = gate["question"].as_str().unwrap();
        assert!(question.contains(why), "{output}: {question}");
        team.answer(&team.world.alice, &gate, &["stop"]);
        team.until_run(&run, "stopped");
        assert!(!is_half_written(desk), "{output}");
    }
    // The directory where files arrive leads out of the workspace.
    fs::remove_file(laptop.join("report/secret")).unwrap();
    let _ = fs::remove_dir_all(desk.join("handed"));
    symlink(outside.path(), desk.join("handed")).unwrap();
    let run = team.begin("1. @coder: make it [outputs report/]\n2. @writer: read it\n");
    let gate = failure(&team, &run, 1);
    assert!(gate["question"].as_str().unwrap().contains("escapes"), "{gate}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // Somebody corrects the directory and tries again.
    fs::remove_file(desk.join("handed")).unwrap();
    team.answer(&team.world.alice, &gate, &["redo"]);
    team.until_run(&run, "done");
    assert_eq!(tree(&desk.join(format!("handed/{run}/1/report"))), tree(&laptop.join("report")));
}

#[test]
fn existing_files_are_never_overwritten() {
    let team = team();
    let (laptop, desk) = (team.world.machine.workspace(), team.desk.workspace());
    put(laptop, "a", b"new");
    let first = team.begin("1. @coder: make it [outputs a]\n2. @writer: read it\n");
    team.until_run(&first, "done");
    let next = first.as_i64().unwrap() + 1;
    put(desk, &format!("handed/{next}/1/a"), b"old");
    put(desk, &format!("handed/{next}/1-2"), b"a file");
    let run = team.begin("1. @coder: make it [outputs a]\n2. @writer: read it\n");
    assert_eq!(run, json!(next));
    let done = team.until_run(&run, "done");
    let directory = format!("handed/{next}/1-3");
    assert_eq!(done["steps"][1]["received"]["directory"], json!(directory));
    assert_eq!(fs::read(desk.join(format!("handed/{next}/1/a"))).unwrap(), b"old");
    assert_eq!(fs::read(desk.join(directory).join("a")).unwrap(), b"new");
    assert!(!is_half_written(desk));
}

#[test]
fn a_revoked_grant_keeps_the_files_where_they_are() {
    let team = team();
    put(team.world.machine.workspace(), "a", b"x");
    let set = ["group", "chain", "set", &team.group, "story", "-"];
    let chain = b"1. @coder: make it [outputs a] [gate]\n2. @writer: read it\n";
    assert_eq!(team.world.alice.with_stdin(&set, chain).code, 0);
    let run = team.of(&team.bob, &["chain", "run", &team.group, "story", "x"])["id"].clone();
    let gate = team.until_run(&run, "asking")["gate"].clone();
    team.alice(&["revoke", &team.group, "coder", "bob"]);
    team.answer(&team.bob, &gate, &["approve"]);
    let gate = failure(&team, &run, 1);
    let question = gate["question"].as_str().unwrap();
    assert!(question.contains("could not be passed on: @coder works on a machine of alice"), "{question}");
    assert!(!team.desk.workspace().join("handed").exists());
    // A person outside of the group cannot see the run.
    team.world.server.person("eve");
    let eve = Client::login(&team.world.server, "eve");
    assert_eq!(eve.call("GET", &format!("/groups/{}/runs/{run}", team.group)).status, 404);
}

#[test]
fn files_that_change_while_they_are_read_are_not_passed_on() {
    let team = team();
    let path = team.world.path("log");
    fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let (stop, path) = (Arc::clone(&stop), path.clone());
        move || {
            let mut round = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                fs::write(&path, vec![b'x'; (1 << 20) + round % 1000]).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let run = team.begin("1. @coder: make it [outputs log]\n2. @writer: read it\n");
    let gate = failure(&team, &run, 1);
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(
        gate["question"].as_str().unwrap().contains("something on laptop keeps changing the files"),
        "{gate}"
    );
    assert!(!is_half_written(team.desk.workspace()));
    team.answer(&team.world.alice, &gate, &["redo"]);
    team.until_run(&run, "done");
    let there = team.desk.workspace().join(format!("handed/{run}/1/log"));
    assert_eq!(fs::read(there).unwrap(), fs::read(path).unwrap());
}

#[test]
fn a_full_disk_fails_the_step_and_leaves_nothing() {
    let team = team();
    let disk = tempfile::tempdir().unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(disk.path()).status();
    assert!(mounted.unwrap().success());
    let small = Machine::start_in(&team.world.server, &team.world.alice, "small", disk.path());
    team.alice(&["add-agent", &team.group, "builder", "--on", "small"]);
    put(team.world.machine.workspace(), "out/large", &vec![7; 8 << 20]);
    let run = team.begin("1. @coder: make it [outputs out/]\n2. @builder: build it\n");
    let gate = failure(&team, &run, 1);
    let question = gate["question"].as_str().unwrap();
    assert!(question.contains("on small") && question.contains("no space left"), "{question}");
    assert!(!is_half_written(disk.path()));
    let received = &team.run(&run)["steps"][1]["received"];
    assert_eq!(received["state"], "failed", "{received}");
    // With less to hand over, the run continues.
    put(team.world.machine.workspace(), "out/large", b"small");
    team.answer(&team.world.alice, &gate, &["redo"]);
    team.until_run(&run, "done");
    drop(small);
    assert!(Command::new("umount").arg("--lazy").arg(disk.path()).status().unwrap().success());
}

#[test]
fn a_stopped_run_leaves_no_partial_files() {
    let team = team();
    put_many(team.world.machine.workspace());
    let desk = team.desk.workspace();
    let run = team.begin("1. @coder: make it [outputs out/]\n2. @writer: read it\n");
    until_half_written(&team, desk, &run);
    team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    eventually("no partial file is left", PATIENCE, || (!is_half_written(desk)).then_some(()));
    let stopped = team.until_run(&run, "stopped");
    let received = eventually("the hand-over is stopped", PATIENCE, || {
        Some(team.run(&run)["steps"][1]["received"].clone()).filter(|received| received["state"] != "running")
    });
    assert_eq!(received["state"], "stopped", "{stopped}");
    assert!(!desk.join(format!("handed/{run}")).exists());
}

#[test]
fn a_machine_that_disconnects_during_a_hand_over_gets_its_files_later() {
    let team = team();
    put_many(team.world.machine.workspace());
    let token = team.world.alice.add_runner("box");
    team.alice(&["add-agent", &team.group, "builder", "--on", "box"]);
    let mut machine = Machine::start_with_token(&team.world.server, "box", &token, &[]);
    machine.wait_online(&team.world.alice, "box");
    let steps = "1. @coder: make it [outputs out/]\n2. @builder: build it\n";
    let run = team.begin(steps);
    until_half_written(&team, machine.workspace(), &run);
    process::signal(machine.runner_pid(), rustix::process::Signal::KILL);
    machine.stop();
    eventually("the step waits", PATIENCE, || {
        let step = team.run(&run)["steps"][1].clone();
        (step["state"] == "waiting" && step["error"].as_str().unwrap().contains("offline")).then_some(())
    });
    machine.restart(&team.world.server, "box", &token, &[]);
    team.until_run(&run, "done");
    let there = machine.workspace().join(format!("handed/{run}/1/out"));
    assert!(tree(&there) == tree(&team.world.path("out")), "the files differ");
    assert!(!is_half_written(machine.workspace()));

    // A run that is stopped meanwhile leaves its partial files, which the next hand-over removes.
    let run = team.begin(steps);
    until_half_written(&team, machine.workspace(), &run);
    process::signal(machine.runner_pid(), rustix::process::Signal::KILL);
    machine.stop();
    team.alice(&["chain", "stop", &team.group, &run.to_string()]);
    team.until_run(&run, "stopped");
    eventually("the machine is offline", PATIENCE, || (!team.world.alice.is_online("box")).then_some(()));
    assert!(is_half_written(machine.workspace()));
    machine.restart(&team.world.server, "box", &token, &[]);
    let run = team.begin(steps);
    team.until_run(&run, "done");
    assert!(!is_half_written(machine.workspace()));
}

#[test]
fn a_permission_rule_of_the_owner_applies_to_files_as_well() {
    let team = team();
    put(team.world.machine.workspace(), "out/page.html", b"x");
    put(team.world.machine.workspace(), "out/keys/private", b"secret");
    team.world.run(&["rule", "add", "deny", "Read(/out/keys/**)"]);
    let run = team.begin("1. @coder: make it [outputs out/]\n2. @writer: read it\n");
    let gate = failure(&team, &run, 0);
    let question = gate["question"].as_str().unwrap();
    assert!(question.contains("a permission rule of alice denies reading out/keys/private"), "{question}");
    assert!(!team.desk.workspace().join("handed").exists());
    fs::remove_dir_all(team.world.path("out/keys")).unwrap();
    team.answer(&team.world.alice, &gate, &["redo"]);
    team.until_run(&run, "done");
}

#[test]
fn too_many_or_too_large_files_are_refused_before_anything_is_sent() {
    let team = Team::with(echo, &["--handed-max-mib", "2"]);
    team.of(&team.bob, &["grant", &team.group, "writer", "alice", "--mode", "own"]);
    let laptop = team.world.machine.workspace();
    for number in 0..3 {
        put(laptop, &format!("out/{number}"), &vec![7; 1 << 20]);
    }
    let refused = |most: &str| {
        let run = team.begin("1. @coder: make it [outputs out/]\n2. @writer: read it\n");
        let gate = failure(&team, &run, 0);
        let question = gate["question"].as_str().unwrap();
        assert!(question.contains(most), "{question}");
        team.answer(&team.world.alice, &gate, &["stop"]);
        assert!(!team.desk.workspace().join("handed").exists());
    };
    refused("the limit is 10000 files, directories and links, and 2 MiB in total");
    fs::remove_dir_all(laptop.join("out")).unwrap();
    fs::create_dir(laptop.join("out")).unwrap();
    (0..10_001).for_each(|number| fs::write(laptop.join(format!("out/{number}")), "").unwrap());
    refused("the limit is 10000 files, directories and links");
}
