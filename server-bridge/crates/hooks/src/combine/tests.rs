use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::tests::any_json;
use crate::happening::Happening;
use crate::outcome::Raw;
use crate::round::tests::{blocks, command, hooks_of, output, run, shell};

const USER: Layer = Layer::User;

fn decides(word: &str) -> Raw {
    output(&json!({"hookSpecificOutput": {"permissionDecision": word, "permissionDecisionReason": word}}))
}

/// The verdict if one handler runs for each of these layers and decisions, before a call.
fn verdict(words: &[(Layer, &str)]) -> Option<Verdict> {
    let handlers: Vec<_> = words.iter().map(|(layer, word)| (*layer, command(word))).collect();
    run(&hooks_of("PreToolUse", &handlers), &shell("ls"), |word, _| decides(word)).verdict
}

#[test]
fn deny_is_before_defer_before_ask_before_allow() {
    let of = |words: &[&str]| verdict(&words.iter().map(|word| (USER, *word)).collect::<Vec<_>>());
    assert_eq!(of(&["allow"]), Some(Verdict::Allow));
    assert_eq!(of(&["allow", "ask"]), Some(Verdict::Ask));
    assert_eq!(of(&["ask", "allow"]), Some(Verdict::Ask));
    assert_eq!(of(&["allow", "deny", "allow"]), Some(Verdict::Deny));
    assert_eq!(of(&["deny", "defer", "allow"]), Some(Verdict::Deny));
}

#[test]
fn defer_leaves_the_decision_to_the_next_and_else_to_the_user() {
    let of = |words: &[&str]| verdict(&words.iter().map(|word| (USER, *word)).collect::<Vec<_>>());
    assert_eq!(of(&["defer"]), Some(Verdict::Ask));
    assert_eq!(of(&["defer", "allow"]), Some(Verdict::Allow));
    assert_eq!(of(&["allow", "defer"]), Some(Verdict::Ask));
    assert_eq!(of(&["ask", "defer", "allow"]), Some(Verdict::Ask));
    assert_eq!(of(&["defer", "deny"]), Some(Verdict::Deny));
    assert_eq!(verdict(&[(USER, "defer"), (Layer::Workspace, "allow")]), Some(Verdict::Ask));
    assert_eq!(verdict(&[(USER, "defer"), (Layer::Managed, "allow")]), Some(Verdict::Allow));
}

#[test]
fn a_denial_of_a_lower_layer_holds_against_all_others() {
    for denies in Layer::ALL {
        let words: Vec<_> = Layer::ALL
            .into_iter()
            .map(|layer| (layer, if layer == denies { "deny" } else { "allow" }))
            .collect();
        assert_eq!(verdict(&words), Some(Verdict::Deny));
    }
}

#[test]
fn a_workspace_denies_and_asks_but_never_allows_or_rewrites() {
    for layer in [Layer::Workspace, Layer::WorkspaceLocal] {
        assert_eq!(verdict(&[(layer, "deny")]), Some(Verdict::Deny));
        assert_eq!(verdict(&[(layer, "ask")]), Some(Verdict::Ask));
        let hooks = hooks_of("PreToolUse", &[(layer, command("x"))]);
        let combined = run(&hooks, &shell("ls"), |_, _| {
            output(&json!({"systemMessage": "m", "hookSpecificOutput": {
                "permissionDecision": "allow", "updatedInput": {"command": "rm"}, "additionalContext": "c"}}))
        });
        assert_eq!((combined.verdict, combined.updated), (None, None));
        assert_eq!(combined.contexts[0].text, "c");
        let notes: Vec<_> = combined.notes.iter().map(|note| note.text.as_str()).collect();
        assert_eq!(
            notes,
            ["a workspace's hook cannot allow anything", "a workspace's hook cannot change a call"]
        );
    }
    let call = Call { tool: "Shell".to_owned(), input: Map::new(), id: String::new() };
    let after = Happening::PostToolUse { call, response: json!("r"), duration_ms: 1 };
    let changes = |layer: Layer| {
        let hooks = hooks_of("PostToolUse", &[(layer, command("x"))]);
        run(&hooks, &after, |_, _| output(&json!({"hookSpecificOutput": {"updatedToolOutput": "new"}})))
            .updated_output
    };
    assert_eq!((changes(Layer::Workspace), changes(USER)), (None, Some(json!("new"))));
}

#[test]
fn failures_deny_for_the_administrator_and_else_as_the_hook_says() {
    let fails = |layer: Layer, on_failure: Option<&str>, event: &str| {
        let mut handler = command("x");
        if let Some(word) = on_failure {
            handler["onFailure"] = json!(word);
        }
        let happening = match event {
            "PreToolUse" => shell("ls"),
            "UserPromptSubmit" => Happening::UserPromptSubmit { prompt: "p".to_owned() },
            _ => Happening::AgentStop { last_message: String::new(), stop_hook_active: false },
        };
        let combined = run(&hooks_of(event, &[(layer, handler)]), &happening, |_, _| Raw::Signal(11));
        assert_eq!(combined.failures.len(), 1);
        combined.verdict
    };
    let before = "PreToolUse";
    assert_eq!(fails(Layer::Managed, None, before), Some(Verdict::Deny));
    assert_eq!(fails(Layer::Managed, Some("allow"), before), None);
    for layer in [USER, Layer::Workspace] {
        assert_eq!(fails(layer, None, before), None);
        assert_eq!(fails(layer, Some("allow"), before), None, "a failure allows nothing");
        assert_eq!(fails(layer, Some("deny"), before), Some(Verdict::Deny));
        assert_eq!(fails(layer, Some("ask"), before), Some(Verdict::Ask));
    }
    assert_eq!(fails(USER, Some("ask"), "UserPromptSubmit"), Some(Verdict::Deny));
    assert_eq!(fails(Layer::Managed, None, "AgentStop"), None, "a broken hook sends no agent back to work");
}

#[test]
fn a_mistake_in_an_answer_takes_what_it_allows_with_it() {
    let hooks = hooks_of("PreToolUse", &[(USER, command("x"))]);
    let combined = run(&hooks, &shell("ls"), |_, _| {
        output(&json!({"continue": "no", "decision": "allow", "updatedInput": {"command": "x"}}))
    });
    assert_eq!((combined.verdict, combined.updated, combined.failures.len()), (None, None, 1));
}

#[test]
fn a_block_means_what_its_event_makes_of_it() {
    let block = |event: &str, happening: &Happening| {
        run(&hooks_of(event, &[(USER, command("x"))]), happening, |_, _| blocks("why"))
    };
    let stop = Happening::AgentStop { last_message: String::new(), stop_hook_active: false };
    assert_eq!(block("AgentStop", &stop).verdict, Some(Verdict::Deny));
    let call = Call { tool: "Shell".to_owned(), input: Map::new(), id: String::new() };
    let after = Happening::PostToolUse { call, response: json!("r"), duration_ms: 1 };
    let combined = block("PostToolUse", &after);
    assert_eq!((combined.verdict, combined.contexts[0].text.as_str()), (None, "why"));
    let combined = block("SessionEnd", &Happening::SessionEnd { reason: "r".to_owned() });
    assert_eq!((combined.verdict, combined.messages[0].text.as_str()), (None, "why"));
    let prompt = Happening::UserPromptSubmit { prompt: "p".to_owned() };
    assert_eq!(block("UserPromptSubmit", &prompt).verdict, Some(Verdict::Deny));
    let asks = |word: &str| {
        let hooks = hooks_of("UserPromptSubmit", &[(USER, command("x"))]);
        run(&hooks, &prompt, |_, _| decides(word)).verdict
    };
    assert_eq!((asks("ask"), asks("defer"), asks("allow")), (Some(Verdict::Deny), None, None));
}

#[test]
fn a_stop_denies_the_action_as_well() {
    let hooks = hooks_of("PreToolUse", &[(Layer::Workspace, command("x")), (USER, command("allow"))]);
    let combined = run(&hooks, &shell("ls"), |line, _| match line {
        "allow" => decides("allow"),
        _ => output(&json!({"continue": false, "stopReason": "enough"})),
    });
    assert_eq!((combined.verdict, combined.stop.as_deref()), (Some(Verdict::Deny), Some("enough")));
    assert_eq!(combined.for_model().as_deref(), Some("enough"));
}

#[test]
fn contexts_are_bounded_together() {
    let many: Vec<_> = (0..10).map(|at| (USER, command(&format!("c{at}")))).collect();
    let combined = run(&hooks_of("PreToolUse", &many), &shell("ls"), |_, _| {
        output(&json!({"context": "é".repeat(CONTEXT_BYTES)}))
    });
    let bytes: usize = combined.contexts.iter().map(|context| context.text.len()).sum();
    assert!(bytes <= CONTEXTS_BYTES && combined.contexts.len() == 4, "{bytes}");
    assert!(combined.notes.iter().any(|note| note.text.contains("was cut to")));
}

#[test]
fn new_arguments_that_cannot_be_used_ask_the_user() {
    let hooks = hooks_of("PreToolUse", &[(USER, command("x"))]);
    let happening = shell("deploy sk-abcdefghijklmnop1234");
    let combined = run(&hooks, &happening, |_, payload| {
        let command = format!("{} --dry-run", payload["tool_input"]["command"].as_str().unwrap());
        output(&json!({"decision": "allow", "updatedInput": {"command": command}}))
    });
    assert_eq!((combined.verdict, &combined.updated), (Some(Verdict::Ask), &None));
    assert!(combined.for_model().unwrap().contains("secret"));
}

#[test]
fn what_a_hook_did_not_see_it_cannot_allow() {
    let hooks = hooks_of("PreToolUse", &[(USER, command("x"))]);
    let verdict = |line: &str, word: &str| run(&hooks, &shell(line), |_, _| decides(word)).verdict;
    assert_eq!(verdict("rm sk-abcdefghijklmnop1234", "allow"), None);
    assert_eq!(verdict("rm sk-abcdefghijklmnop1234", "deny"), Some(Verdict::Deny));
    assert_eq!(verdict("rm x", "allow"), Some(Verdict::Allow));
}

#[test]
fn people_see_who_decided() {
    let hooks = hooks_of("PreToolUse", &[(Layer::Workspace, command("x"))]);
    let combined = run(&hooks, &shell("ls"), |_, _| blocks("no"));
    assert_eq!(combined.for_people(), ["workspace (workspace): no"]);
    assert!(combined.reasons[0].speaker.hook.starts_with("PreToolUse-"));
}

fn any_layer() -> impl Strategy<Value = Layer> {
    prop::sample::select(Layer::ALL.to_vec())
}

fn any_raw() -> impl Strategy<Value = Raw> {
    let word = prop::sample::select(vec!["allow", "ask", "defer", "deny", "other"]);
    prop_oneof![
        word.prop_map(decides),
        any_json().prop_map(|value| output(&value)),
        any_json().prop_map(|value| output(&json!({"hookSpecificOutput": value}))),
        any_json()
            .prop_map(|value| output(&json!({"decision": "allow", "updatedInput": {"command": value}}))),
        (0..4, ".{0,20}").prop_map(|(status, text)| Raw::Exit {
            status,
            stdout: text.clone().into_bytes(),
            stderr: text.into_bytes(),
            is_cut: false,
        }),
        Just(Raw::Signal(9)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_denial_is_never_lost_by_adding_handlers(
        others in prop::collection::vec((any_layer(), any_raw()), 0..6),
        layer in any_layer(),
        at in any::<prop::sample::Index>(),
    ) {
        let mut all = others;
        all.insert(at.index(all.len() + 1), (layer, blocks("no")));
        let handlers: Vec<_> =
            all.iter().enumerate().map(|(at, (layer, _))| (*layer, command(&at.to_string()))).collect();
        let combined = run(&hooks_of("PreToolUse", &handlers), &shell("ls"), |line, _| {
            all[line.parse::<usize>().unwrap()].1.clone()
        });
        prop_assert_eq!(combined.verdict, Some(Verdict::Deny));
        prop_assert!(combined.for_model().unwrap().contains("no"));
    }

    #[test]
    fn a_workspaces_output_never_allows_or_rewrites(
        raws in prop::collection::vec((prop::sample::select(vec![Layer::Workspace, Layer::WorkspaceLocal]), any_raw()), 1..6),
    ) {
        let handlers: Vec<_> =
            raws.iter().enumerate().map(|(at, (layer, _))| (*layer, command(&at.to_string()))).collect();
        for event in ["PreToolUse", "PermissionRequest"] {
            let Happening::PreToolUse(call) = shell("ls") else { unreachable!() };
            let happening = if event == "PreToolUse" { shell("ls") } else { Happening::PermissionRequest(call) };
            let combined = run(&hooks_of(event, &handlers), &happening, |line, _| {
                raws[line.parse::<usize>().unwrap()].1.clone()
            });
            prop_assert_ne!(combined.verdict, Some(Verdict::Allow));
            prop_assert!(combined.updated.is_none() && combined.updated_output.is_none());
        }
    }

    #[test]
    fn a_workspace_never_loosens_what_others_decide(
        others in prop::collection::vec((any_layer(), any_raw()), 0..5),
        raw in any_raw(),
    ) {
        let strictness = |verdict: Option<Verdict>| match verdict {
            Some(Verdict::Allow) => 0,
            None => 1,
            Some(Verdict::Ask) => 2,
            Some(Verdict::Deny) => 3,
        };
        let verdict = |all: &[(Layer, Raw)]| {
            let handlers: Vec<_> =
                all.iter().enumerate().map(|(at, (layer, _))| (*layer, command(&at.to_string()))).collect();
            run(&hooks_of("PreToolUse", &handlers), &shell("ls"), |line, _| {
                all[line.parse::<usize>().unwrap()].1.clone()
            }).verdict
        };
        let before = verdict(&others);
        let mut all = others;
        all.push((Layer::Workspace, raw));
        prop_assert!(strictness(verdict(&all)) >= strictness(before));
    }
}
