//! Where a command runs, for every row of the routing table.

use tests::{Machine, Person, Server, docker};

fn pwd(person: &Person) -> String {
    let output = person.run(&["exec", "--", "sh", "-c", "hostname >/dev/null; pwd"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    output.stdout.trim_end().to_owned()
}

/// Runs an exec that must be refused with exit code 125; returns the error.
fn refused(person: &Person) -> String {
    let output = person.run(&["exec", "--", "pwd"]);
    assert_eq!((output.code, output.stdout.as_str()), (125, ""), "{}", output.stderr);
    output.stderr
}

#[test]
fn each_user_reaches_their_own_runners_and_use_switches_between_them() {
    let server = Server::start();
    let (alice, bob) = (server.person("alice"), server.person("bob"));
    let laptop = Machine::start(&server, &alice, "laptop");
    let desktop = Machine::start(&server, &alice, "desktop");
    let other = Machine::start(&server, &bob, "laptop");
    for machine in [&laptop, &desktop, &laptop] {
        let name = if std::ptr::eq(machine, &desktop) { "desktop" } else { "laptop" };
        assert_eq!(alice.run(&["use", name]).code, 0);
        assert_eq!(pwd(&alice), machine.workspace().to_str().unwrap());
        let output = alice.run(&["chat", "--new", "!pwd"]);
        assert!(output.stdout.contains(machine.workspace().to_str().unwrap()), "{output:?}");
    }
    assert_eq!(pwd(&bob), other.workspace().to_str().unwrap());
    let names = |person: &Person| -> Vec<String> {
        let list = person.json(&["runner", "list", "--json"]);
        let mut names: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|runner| runner["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        (names(&alice), names(&bob)),
        (vec!["desktop".into(), "laptop".into()], vec!["laptop".into()])
    );
    let output = bob.run(&["exec", "--on", "desktop", "--", "pwd"]);
    assert_eq!((output.code, output.stdout.as_str()), (125, ""), "another user's runner: {}", output.stderr);
}

#[test]
fn named_runner_that_is_offline_is_an_error_and_never_another_machine() {
    let server = Server::start();
    let alice = server.person("alice");
    let _laptop = Machine::start(&server, &alice, "laptop");
    alice.add_runner("desktop");
    let chosen = alice.run(&["use", "desktop"]);
    assert_eq!(chosen.code, 0, "a valid choice is stored: {}", chosen.stderr);
    assert!(chosen.stderr.contains("offline"), "with a warning: {}", chosen.stderr);
    assert!(refused(&alice).contains("runner desktop is offline"));
}

#[test]
fn unset_means_the_only_registered_runner() {
    let server = Server::start();
    let alice = server.person("alice");
    let denial = refused(&alice);
    assert!(denial.contains("runner add"), "says how to connect a runner: {denial}");
    let mut laptop = Machine::start(&server, &alice, "laptop");
    assert_eq!(pwd(&alice), laptop.workspace().to_str().unwrap());
    laptop.stop();
    assert!(refused(&alice).contains("runner laptop is offline"));
}

#[test]
fn unset_with_several_runners_lists_them() {
    let server = Server::start();
    let alice = server.person("alice");
    let _laptop = Machine::start(&server, &alice, "laptop");
    alice.add_runner("desktop");
    let error = refused(&alice);
    assert!(error.contains("laptop") && error.contains("desktop"), "{error}");
    alice.run(&["use", "laptop"]);
    pwd(&alice);
    alice.run(&["use", "auto"]);
    assert!(refused(&alice).contains("desktop"));
}

#[test]
fn docker_is_used_when_chosen_or_when_no_runner_is_registered() {
    docker::ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", docker::IMAGE]);
    let alice = server.person("alice");
    let _cleanup = super::docker::Cleanup::of(&server);
    assert_eq!(pwd(&alice), "/workspace", "no runner registered: Docker");
    let laptop = Machine::start(&server, &alice, "laptop");
    assert_eq!(pwd(&alice), laptop.workspace().to_str().unwrap(), "a registered runner comes first");
    assert_eq!(alice.run(&["use", "__docker__"]).code, 0);
    assert_eq!(pwd(&alice), "/workspace");
}

#[test]
fn docker_that_is_not_enabled_is_a_clear_error() {
    let server = Server::start();
    let alice = server.person("alice");
    let _laptop = Machine::start(&server, &alice, "laptop");
    alice.run(&["use", "__docker__"]);
    let error = refused(&alice);
    assert!(error.contains("Docker"), "{error}");
}

#[test]
fn the_choice_none_must_be_explicit_and_allowed_by_policy() {
    let server = Server::start();
    let alice = server.person("alice");
    alice.run(&["use", "none"]);
    let error = refused(&alice);
    assert!(error.contains("does not allow"), "the policy is off by default: {error}");

    let server = Server::start_with(&["--docker", "off", "--local", "bob"]);
    let (root, bob) = (server.person("root"), server.person("bob"));
    refused(&bob);
    for person in [&root, &bob] {
        person.run(&["use", "none"]);
    }
    refused(&root);
    assert!(pwd(&bob).starts_with(server.home().to_str().unwrap()), "a folder of the server's home");
}

#[test]
fn the_binding_of_a_chat_overrides_the_setting() {
    let server = Server::start();
    let alice = server.person("alice");
    let laptop = Machine::start(&server, &alice, "laptop");
    let desktop = Machine::start(&server, &alice, "desktop");
    alice.run(&["use", "laptop"]);
    let say = |arguments: &[&str]| alice.run(&[&["chat"], arguments].concat()).stdout;
    say(&["--new", "/runner desktop"]);
    assert!(say(&["!pwd"]).contains(desktop.workspace().to_str().unwrap()));
    assert!(say(&["--new", "!pwd"]).contains(laptop.workspace().to_str().unwrap()));
}
