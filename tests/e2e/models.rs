//! The list of a provider's models, requested by the server and through a runner that alone has the key.

use tests::{Machine, Reply, ScriptedModel, Server};

#[test]
fn a_missing_model_name_is_answered_with_the_providers_models() {
    let model = ScriptedModel::with(vec![Reply::Say("ready".to_owned())]);
    let server = Server::start_with(&["--docker", "off"]);
    let alice = server.person("alice");
    let _laptop = Machine::start_with(&server, &alice, "laptop", &["--llm-url", model.url()]);
    let add = |words: &[&str]| alice.run(&[&["model", "add", "mine"], words].concat());
    for provider in ["openai", "anthropic"] {
        for place in [["--base-url", model.url()], ["--runner", "laptop"]] {
            let unnamed = add(&[&["--provider", provider], &place[..]].concat());
            assert_eq!(unnamed.code, 2, "{unnamed:?}");
            assert!(unnamed.stderr.contains("--model"), "{unnamed:?}");
            assert!(unnamed.stderr.contains("this provider has scripted, scripted-swift"), "{unnamed:?}");
        }
    }
    let unreachable = add(&["--provider", "openai", "--base-url", "http://127.0.0.1:1"]);
    assert_eq!(unreachable.code, 2, "{unreachable:?}");
    assert!(
        unreachable.stderr.contains("cannot be listed: the provider cannot be reached"),
        "{unreachable:?}"
    );
    let listed = alice.run(&["model", "list"]);
    assert!(listed.stdout.contains("no model is set up"), "{listed:?}");
    let named = add(&["--provider", "openai", "--runner", "laptop", "--model", "scripted"]);
    assert_eq!(named.code, 0, "{named:?}");
    let tried = alice.run(&["model", "test", "mine"]);
    assert!(tried.code == 0 && tried.stdout.contains("ready"), "{tried:?}");
}
