//! Chains that agents create, and a chain of three agents from a template, run to its end.

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Person, Reply};

use super::attempts::answering;
use super::private::{obedient, wish};
use super::{Team, handle};

/// The newest entries of the audit trail with this action: the user and the target of each.
fn audit(team: &Team, action: &str) -> Vec<(String, String)> {
    let client = Client::login(&team.world.server, "alice");
    let trail = client.call("GET", &format!("/audit?action={action}&limit=100")).json();
    let entries = trail["entries"].as_array().unwrap_or_else(|| panic!("{trail}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    entries.iter().map(|entry| (text(&entry["user"]), text(&entry["target"]))).collect()
}

fn did(user: &str, target: String) -> (String, String) {
    (user.to_owned(), target)
}

#[test]
fn an_agent_sets_a_chain_with_the_askers_rights_and_its_owners_approval() {
    let team = Team::new(obedient);
    let alice = Client::login(&team.world.server, "alice");
    let text = |name: &str| {
        let text = team.world.alice.run(&["group", "chain", "get", &team.group, name]).stdout;
        text.trim_end().to_owned()
    };
    // Makes the coder set a chain for this person; returns the result, and how many times the agent's owner was asked.
    let set = |person: &Person, name: &str, steps: &str, is_allowed: bool| {
        let replace = steps.contains("2. ");
        let call = ("Chain", json!({"action": "set", "name": name, "steps": steps, "replace": replace}));
        let posted = team.post(person, &format!("@coder go\n{}", wish(&[call])));
        let (asked, ended) = answering(&team, &alice, &posted["calls"][0]["id"], is_allowed);
        assert_eq!(ended["state"], "done", "{ended}");
        (asked, team.said().pop().unwrap().1)
    };
    let first = "1. @coder: begin [gate]\nbudget: 1000 tokens";
    let (asked, made) = set(&team.world.alice, "story", first, true);
    assert!(asked == 1 && made.contains("The chain story is stored:") && made.contains(first), "{made}");
    assert_eq!(text("story"), first);
    let second = "1. @coder: begin\n2. @coder: end";
    set(&team.world.alice, "story", second, false);
    assert_eq!(text("story"), first, "its owner did not allow it");
    set(&team.world.alice, "story", second, true);
    assert_eq!(text("story"), second);
    let story = did("alice", format!("{}: story", team.group));
    assert_eq!(audit(&team, "group.chain"), [story.clone(), story]);

    for (name, steps, why) in [
        ("story", "1. @nobody: begin", "step 1: there is no agent @nobody"),
        ("story", "begin", "Error"),
        ("story", "1. @coder: other", "there is already a chain story in this group"),
        ("", first, "Error"),
        ("a/b", first, "Error"),
    ] {
        let (_, refused) = set(&team.world.alice, name, steps, true);
        assert!(refused.contains("heard: Error") && refused.contains(why), "{refused} is not {why}");
    }
    // Bob may ask the agent, but is not an editor.
    team.alice(&["grant", &team.group, "coder", "bob", "--mode", "own"]);
    for name in ["story", "other"] {
        let (_, refused) = set(&team.bob, name, first, true);
        assert!(refused.contains("heard: Error"), "{refused}");
    }
    assert_eq!(text("story"), second, "nobody changed it");
    assert_eq!(team.alice(&["chain", "list", &team.group]).as_array().unwrap().len(), 1);
    team.alice(&["add-person", &team.group, "bob", "--access", "editor"]);
    let (asked, _) = set(&team.bob, "other", first, true);
    assert_eq!((asked, text("other").as_str()), (1, first));
    assert_eq!(audit(&team, "group.chain")[0], did("bob", format!("{}: other", team.group)));
}

#[test]
fn a_writer_an_editor_and_a_translator_make_an_article_that_a_person_approves() {
    let team = Team::new(|asked: &Asked| {
        let text = asked.last_of_user();
        Reply::Say(match handle(asked).as_str() {
            "writer" => "It rained and rained.".to_owned(),
            "editor" if text.contains("It rained and rained.") => "It rained.".to_owned(),
            "translator" if text.contains("It rained.") && text.contains("in French") => {
                "Il pleuvait.".to_owned()
            }
            who => format!("@{who} does not know what to do"),
        })
    });
    team.of(&team.bob, &["grant", &team.group, "writer", "alice"]);
    for agent in ["editor", "translator"] {
        team.alice(&["add-agent", &team.group, agent, "--on", "laptop"]);
    }
    let article = team.world.alice.run(&["group", "chain", "template", "article"]).stdout;
    let set = ["group", "chain", "set", &team.group, "article", "-"];
    assert_eq!(team.world.alice.with_stdin(&set, article.as_bytes()).code, 0);
    let run = team.alice(&["chain", "run", &team.group, "article", "rain, in French"])["id"].clone();
    let shown = team.until_run(&run, "asking");
    let gate = &shown["gate"];
    assert_eq!(
        (&gate["step"], gate["question"].as_str().unwrap()),
        (&json!(1), "Step 2 (@editor) is done. Does its output go to the next step?")
    );
    let states = |run: &Value| -> Vec<Value> {
        run["steps"].as_array().unwrap().iter().map(|step| step["state"].clone()).collect()
    };
    assert_eq!(states(&shown), ["done", "asking", "pending"]);
    assert_eq!(team.said().len(), 2, "the translator waits for a person");
    team.answer(&team.bob, gate, &["approve"]);

    let done = team.until_run(&run, "done");
    let steps = done["steps"].as_array().unwrap();
    let outputs: Vec<_> = steps.iter().map(|step| step["output"].as_str().unwrap()).collect();
    assert_eq!(outputs, ["It rained and rained.", "It rained.", "Il pleuvait."]);
    let runners: Vec<_> = steps.iter().map(|step| step["runner"].as_str().unwrap()).collect();
    assert_eq!(runners, ["desk", "laptop", "laptop"]);
    let said: Vec<_> = team.said().into_iter().map(|(who, _)| who).collect();
    assert_eq!(said, ["writer", "editor", "translator"], "each agent posted its output to the log once");
    assert!(steps.iter().all(|step| step["attempts"] == 1), "{done}");

    let group = &team.group;
    assert_eq!(audit(&team, "group.grant"), [did("bob", format!("{group}: @writer to alice (ask)"))]);
    assert_eq!(audit(&team, "group.gate"), [did("bob", format!("{group}: approve of run {run}"))]);
}
