use serde_json::{Value, json};

use super::*;
use crate::combine::Verdict;
use crate::condition::Globs;
use crate::config::Format;
use crate::layers::{Checks, Source, load};

/// Hooks of several layers at one event, for all tools, each with its handler.
pub(crate) fn hooks_of(event: &str, handlers: &[(Layer, Value)]) -> Hooks {
    let texts: Vec<(Layer, String)> = handlers
        .iter()
        .enumerate()
        .map(|(at, (layer, handler))| {
            // Otherwise two equal hooks would count as one.
            let matcher = format!("^|x{at}");
            let text = json!({"hooks": {event: [{"matcher": matcher, "hooks": [handler]}]}}).to_string();
            (*layer, text)
        })
        .collect();
    let sources: Vec<Source<'_>> = texts
        .iter()
        .map(|(layer, text)| Source {
            layer: *layer,
            format: Format::Own,
            origin: layer.word(),
            plugin_root: None,
            workspace: None,
            text,
            enables_commands: true,
        })
        .collect();
    let loaded = load(
        &sources,
        &Checks {
            is_approved: &|_| true,
            files: &|_, _| crate::layers::Files::default(),
            condition: &Globs,
            callback: &|_, _, _| Ok(()),
        },
    );
    assert_eq!(loaded.hooks.all().len(), handlers.len(), "{:?}", loaded.troubles);
    loaded.hooks
}

pub(crate) fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

pub(crate) fn shell(line: &str) -> Happening {
    let input = json!({"command": line}).as_object().unwrap().clone();
    Happening::PreToolUse(Call { tool: "Shell".to_owned(), input, id: "c".to_owned() })
}

pub(crate) fn output(value: &Value) -> Raw {
    Raw::Exit { status: 0, stdout: value.to_string().into_bytes(), stderr: Vec::new(), is_cut: false }
}

pub(crate) fn blocks(why: &str) -> Raw {
    Raw::Exit { status: 2, stdout: Vec::new(), stderr: why.as_bytes().to_vec(), is_cut: false }
}

/// Runs a round; the result of each handler is derived from its command line and its payload.
pub(crate) fn run(
    hooks: &Hooks,
    happening: &Happening,
    mut raw: impl FnMut(&str, &Value) -> Raw,
) -> Combined {
    let (session, redactor) = (Session::default(), Redactor::default());
    let setting =
        Setting { hooks, session: &session, redactor: &redactor, condition: &Globs, has_run: &|_| false };
    let mut round = Round::begin(setting, happening);
    while let Some(step) = round.next(Duration::ZERO) {
        assert!(!step.is_background);
        let raw = raw(&step.hook.handler.describe(), &step.payload.value);
        round.answer(step, raw);
    }
    round.end()
}

fn timeouts(hooks: &Hooks, spent: &[u64]) -> (Vec<(String, u64)>, Combined) {
    let (session, redactor) = (Session::default(), Redactor::default());
    let setting =
        Setting { hooks, session: &session, redactor: &redactor, condition: &Globs, has_run: &|_| false };
    let happening = shell("ls");
    let mut round = Round::begin(setting, &happening);
    let mut found = Vec::new();
    for spent in spent {
        let Some(step) = round.next(Duration::from_secs(*spent)) else { break };
        found.push((step.hook.handler.describe(), step.timeout.as_secs()));
        if !step.is_background {
            round.answer(step, output(&json!({})));
        }
    }
    assert!(round.next(Duration::from_secs(*spent.last().unwrap())).is_none());
    (found, round.end())
}

#[test]
fn a_round_can_wait_in_any_thread() {
    fn sent<T: Send>() {}
    sent::<Round<'_>>();
    sent::<Step<'_>>();
}

#[test]
fn without_hooks_nobody_decides() {
    let combined = run(&Hooks::default(), &shell("ls"), |_, _| unreachable!());
    assert_eq!((combined.verdict, combined.for_model()), (None, None));
}

#[test]
fn only_hooks_that_ask_for_a_call_run() {
    let text = json!({"enable_command_hooks": true, "hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [command("bash")]},
        {"matcher": "FileCreate", "hooks": [command("write")]},
        {"matcher": "Shell", "hooks": [
            {"type": "command", "command": "commit", "if": "Shell(*git commit*)"},
            {"type": "command", "command": "push", "if": "Bash(git push*)"},
        ]},
    ]}});
    let text = text.to_string();
    let source = Source {
        layer: Layer::User,
        format: Format::Own,
        origin: "o",
        plugin_root: None,
        workspace: None,
        text: &text,
        enables_commands: false,
    };
    let checks = Checks {
        is_approved: &|_| true,
        files: &|_, _| crate::layers::Files::default(),
        condition: &Globs,
        callback: &|_, _, _| Ok(()),
    };
    let hooks = load(&[source], &checks).hooks;
    let mut ran = Vec::new();
    run(&hooks, &shell("git push origin"), |line, payload| {
        ran.push((line.to_owned(), payload["tool_name"].as_str().unwrap().to_owned()));
        output(&json!({}))
    });
    let ran: Vec<_> = ran.iter().map(|(line, name)| (line.as_str(), name.as_str())).collect();
    assert_eq!(ran, [("bash", "Bash"), ("push", "Shell")]);
}

#[test]
fn matchers_of_other_events_are_compared_with_their_field() {
    let text = json!({"hooks": {"SessionStart": [{"matcher": "resume|clear", "hooks": [{"type": "prompt", "prompt": "p"}]}]}});
    let text = text.to_string();
    let source = Source {
        layer: Layer::User,
        format: Format::Settings,
        origin: "o",
        plugin_root: None,
        workspace: None,
        text: &text,
        enables_commands: false,
    };
    let checks = Checks {
        is_approved: &|_| true,
        files: &|_, _| crate::layers::Files::default(),
        condition: &Globs,
        callback: &|_, _, _| Ok(()),
    };
    let hooks = load(&[source], &checks).hooks;
    let count = |source: &str| {
        let mut count = 0;
        let happening = Happening::SessionStart { source: source.to_owned(), model: None };
        run(&hooks, &happening, |_, _| {
            count += 1;
            output(&json!({}))
        });
        count
    };
    assert_eq!((count("startup"), count("resume")), (0, 1));
}

#[test]
fn a_later_handler_sees_the_new_arguments_of_an_earlier_one() {
    let hooks = hooks_of(
        "PreToolUse",
        &[
            (Layer::Managed, command("managed")),
            (Layer::User, command("a")),
            (Layer::User, command("b")),
            (Layer::Workspace, command("guard")),
        ],
    );
    let mut seen = Vec::new();
    let combined = run(&hooks, &shell("ls"), |line, payload| {
        let now = payload["tool_input"]["command"].as_str().unwrap().to_owned();
        seen.push(now.clone());
        match line {
            "guard" => output(&json!({})),
            _ => output(
                &json!({"hookSpecificOutput": {"updatedInput": {"command": format!("{now} -{line}")}}}),
            ),
        }
    });
    assert_eq!(seen, ["ls", "ls -a", "ls -a -b", "ls -a -b"]);
    assert_eq!(combined.updated.unwrap().input["command"], "ls -a -b -managed");
    assert_eq!(combined.verdict, None, "new arguments allow nothing");
}

#[test]
fn a_condition_is_checked_against_the_new_arguments() {
    let guard = json!({"type": "command", "command": "guard", "if": "Shell(rm *)"});
    let hooks = hooks_of("PreToolUse", &[(Layer::User, command("rewrite")), (Layer::Managed, guard)]);
    let combined = run(&hooks, &shell("ls"), |line, _| match line {
        "rewrite" => output(&json!({"updatedInput": {"command": "rm -rf /"}})),
        _ => blocks("no rm"),
    });
    assert_eq!((combined.verdict, combined.for_model().as_deref()), (Some(Verdict::Deny), Some("no rm")));
}

#[test]
fn time_is_shared_and_some_is_kept_for_the_administrator() {
    let slow = json!({"type": "command", "command": "slow", "timeout": 50});
    let managed = json!({"type": "command", "command": "managed", "timeout": 60});
    let (found, combined) = timeouts(
        &hooks_of("PreToolUse", &[(Layer::User, slow.clone()), (Layer::Managed, managed)]),
        &[0, 30],
    );
    assert_eq!(found, [("slow".to_owned(), 30), ("managed".to_owned(), 30)]);
    assert_eq!(combined.verdict, None);
    let (found, _) = timeouts(&hooks_of("PreToolUse", &[(Layer::User, slow)]), &[0]);
    assert_eq!(found, [("slow".to_owned(), 50)]);
}

#[test]
fn a_handler_without_time_left_has_failed() {
    let hooks =
        [(Layer::User, command("a")), (Layer::User, command("b")), (Layer::Managed, command("managed"))];
    let (found, combined) = timeouts(&hooks_of("PreToolUse", &hooks), &[0, 60]);
    assert_eq!(found, [("a".to_owned(), 30)]);
    assert_eq!(combined.failures.len(), 2);
    assert!(combined.failures[0].text.contains("left no time"));
    assert_eq!(combined.verdict, Some(Verdict::Deny), "the administrator's fails closed");
}

#[test]
fn a_handler_in_the_background_is_not_waited_for() {
    let background = json!({"type": "command", "command": "log", "async": true, "timeout": 120});
    let (found, combined) = timeouts(&hooks_of("PreToolUse", &[(Layer::User, background)]), &[60, 60]);
    assert_eq!(found, [("log".to_owned(), 120)]);
    assert_eq!(combined.verdict, None);

    let hooks = hooks_of("PostToolUse", &[(Layer::User, command("x"))]);
    let hook = &hooks.all()[0];
    let found = later(hook, output(&json!({"decision": "block", "reason": "r", "context": "c"})));
    assert_eq!(found.context.unwrap().text, "c");
    assert_eq!(found.message.unwrap().text, "this came too late to decide anything: r");
    assert!(later(hook, Raw::Signal(9)).failure.is_some());
}

#[test]
fn a_handler_that_ran_once_does_not_run_again() {
    let once = json!({"type": "command", "command": "x", "once": true});
    let hooks = hooks_of("PreToolUse", &[(Layer::User, once)]);
    let (session, redactor, happening) = (Session::default(), Redactor::default(), shell("ls"));
    let id = hooks.all()[0].id.clone();
    let has_run = |known: &str| known == id;
    let setting = Setting {
        hooks: &hooks,
        session: &session,
        redactor: &redactor,
        condition: &Globs,
        has_run: &has_run,
    };
    assert!(Round::begin(setting, &happening).next(Duration::ZERO).is_none());
    let setting = Setting { has_run: &|_| false, ..setting };
    assert!(Round::begin(setting, &happening).next(Duration::ZERO).is_some());
}

#[test]
fn a_round_that_is_not_finished_fails_closed() {
    let hooks = hooks_of("PreToolUse", &[(Layer::Managed, command("a")), (Layer::Managed, command("b"))]);
    let (session, redactor, happening) = (Session::default(), Redactor::default(), shell("ls"));
    let setting = Setting {
        hooks: &hooks,
        session: &session,
        redactor: &redactor,
        condition: &Globs,
        has_run: &|_| false,
    };
    assert_eq!(Round::begin(setting, &happening).end().verdict, Some(Verdict::Deny));
    let mut round = Round::begin(setting, &happening);
    assert!(round.next(Duration::ZERO).is_some());
    let step = round.next(Duration::ZERO).unwrap();
    round.answer(step, output(&json!({})));
    let combined = round.end();
    assert_eq!(combined.verdict, Some(Verdict::Deny));
    assert_eq!(combined.failures[0].text, "a command hook from managed failed: it gave no result");
}

#[test]
fn new_arguments_never_name_another_tool() {
    let hooks = hooks_of("PreToolUse", &[(Layer::User, command("x"))]);
    let input = json!({"path": "a"}).as_object().unwrap().clone();
    let read = Happening::PreToolUse(Call { tool: "Read".to_owned(), input, id: "c".to_owned() });
    let combined = run(&hooks, &read, |_, _| {
        output(&json!({"decision": "allow", "tool_name": "FileCreate",
            "updatedInput": {"path": "/etc/passwd", "content": "x", "tool_name": "FileCreate"}}))
    });
    // The caller parses the arguments again: Read has no argument for content.
    let updated = combined.updated.unwrap();
    assert_eq!((updated.tool.as_str(), &updated.input["content"]), ("Read", &json!("x")));
}

/// A published guard is used unchanged: it looks for the peers' names.
#[test]
fn a_published_guard_finds_the_names_that_it_looks_for() {
    let text = json!({"description": "A guard", "hooks": {
        "PreToolUse": [{"matcher": "Bash|Edit|Write", "hooks": [
            {"type": "command", "command": "python3 ${CLAUDE_PLUGIN_ROOT}/guard.py", "timeout": 10}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/stop.sh"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send x"}]}],
    }})
    .to_string();
    let source = Source {
        layer: Layer::User,
        format: Format::Plugin,
        origin: "guard@1.0.0",
        plugin_root: Some("/plugins/guard"),
        workspace: None,
        text: &text,
        enables_commands: true,
    };
    let loaded = load(
        &[source],
        &Checks {
            is_approved: &|_| false,
            files: &|_, _| crate::layers::Files::default(),
            condition: &Globs,
            callback: &|_, _, _| Ok(()),
        },
    );
    assert_eq!((loaded.hooks.all().len(), loaded.troubles.len()), (2, 1));
    let guard = |payload: &Value| {
        let input = &payload["tool_input"];
        let is_bad = match payload["tool_name"].as_str().unwrap() {
            "Bash" => input["command"].as_str().unwrap().contains("rm -rf"),
            "Edit" | "Write" => input["file_path"].as_str().unwrap().ends_with("/.env"),
            other => panic!("{other}"),
        };
        let denies = json!({"hookSpecificOutput": {"hookEventName": payload["hook_event_name"],
            "permissionDecision": "deny", "permissionDecisionReason": "guarded"}});
        output(&if is_bad { denies } else { json!({}) })
    };
    let before = |tool: &str, input: Value| {
        let input = input.as_object().unwrap().clone();
        Happening::PreToolUse(Call { tool: tool.to_owned(), input, id: "c".to_owned() })
    };
    let verdict = |happening: &Happening| run(&loaded.hooks, happening, |_, payload| guard(payload)).verdict;
    assert_eq!(verdict(&shell("rm -rf /")), Some(Verdict::Deny));
    assert_eq!(verdict(&shell("ls")), None);
    assert_eq!(verdict(&before("FileCreate", json!({"path": "x/.env", "content": ""}))), Some(Verdict::Deny));
    assert_eq!(
        verdict(&before("FileReplace", json!({"path": "a", "old_string": "", "new_string": ""}))),
        None
    );
    assert_eq!(verdict(&before("exec", json!({"argv": ["sh", "-c", "rm -rf /"]}))), Some(Verdict::Deny));
    assert_eq!(verdict(&before("Read", json!({"path": "x/.env"}))), None);
}

#[test]
fn a_lost_runner_ends_the_round_with_a_failure() {
    let hooks = hooks_of("PreToolUse", &[(Layer::User, command("a")), (Layer::User, command("b"))]);
    let combined = run(&hooks, &shell("ls"), |_, _| Raw::Failed("the runner was lost".to_owned()));
    assert_eq!((combined.verdict, combined.failures.len()), (None, 2));
}
