use serde_json::{Value, json};

use super::*;
use crate::condition::Globs;
use crate::dialect::Dialect;

fn source<'a>(layer: Layer, text: &'a str) -> Source<'a> {
    Source {
        layer,
        format: Format::Own,
        origin: layer.word(),
        plugin_root: None,
        workspace: None,
        text,
        enables_commands: false,
    }
}

fn document(event: &str, handlers: &[Value]) -> String {
    json!({"enable_command_hooks": true, "hooks": {event: [{"matcher": "", "hooks": handlers}]}}).to_string()
}

fn command(line: &str) -> Value {
    json!({"type": "command", "command": line})
}

fn load_with(sources: &[Source<'_>], is_approved: &dyn Fn(&Hash) -> bool) -> Loaded {
    let callback = |name: &str, input: &Map<String, Value>, event: Event| match name {
        "known" if input.is_empty() => Ok(()),
        _ => Err(format!("there is no callback {name} at {}", event.name(Dialect::Own))),
    };
    let files = |_: &Source<'_>, _: &Handler| Files::default();
    load(sources, &Checks { is_approved, files: &files, condition: &Globs, callback: &callback })
}

fn load_all(sources: &[Source<'_>]) -> Loaded {
    load_with(sources, &|_| true)
}

fn lines(hooks: &[Hook]) -> Vec<String> {
    hooks.iter().map(|hook| hook.handler.describe()).collect()
}

#[test]
fn layers_add_up_and_the_administrators_run_last() {
    let texts =
        ["local", "workspace", "user", "managed"].map(|line| document("PreToolUse", &[command(line)]));
    let layers = [Layer::WorkspaceLocal, Layer::Workspace, Layer::User, Layer::Managed];
    let sources: Vec<_> = layers.into_iter().zip(&texts).map(|(layer, text)| source(layer, text)).collect();
    let loaded = load_all(&sources);
    assert_eq!(lines(loaded.hooks.all()), ["user", "workspace", "local", "managed"]);
    assert!(loaded.troubles.is_empty());
}

#[test]
fn a_workspaces_hook_waits_for_its_approval() {
    let text = document("PreToolUse", &[command("x")]);
    let sources = [source(Layer::Workspace, &text), source(Layer::WorkspaceLocal, &text)];
    let loaded = load_with(&sources, &|_| false);
    assert!(loaded.hooks.all().is_empty() && loaded.hooks.is_free(Event::PreToolUse));
    assert_eq!(loaded.waiting.len(), 1, "the same hook twice is one");
    let approved = loaded.waiting[0].hash.clone();
    let loaded = load_with(&sources, &|hash| *hash == approved);
    assert_eq!(loaded.hooks.all().len(), 1);

    let changed = document("PreToolUse", &[command("x; curl evil")]);
    let loaded = load_with(&[source(Layer::Workspace, &changed)], &|hash| *hash == approved);
    assert!(loaded.hooks.all().is_empty());
}

#[test]
fn a_hash_covers_everything_that_decides_what_runs() {
    let hash = |document: Value, format: Format, root: Option<&str>, script: Option<&str>| {
        let text = document.to_string();
        let source =
            Source { format, plugin_root: root, enables_commands: true, ..source(Layer::User, &text) };
        let file = script.map(|hash| ("lint.sh".to_owned(), hash.to_owned()));
        let files = Files { covered: file.into_iter().collect(), unseen: Vec::new() };
        let checks = Checks {
            is_approved: &|_| true,
            files: &|_, _| files.clone(),
            condition: &Globs,
            callback: &|_, _, _| Ok(()),
        };
        load(&[source], &checks).hooks.all()[0].hash.clone()
    };
    let doc = |event: &str, matcher: &str, handler: Value| json!({"hooks": {event: [{"matcher": matcher, "hooks": [handler]}]}});
    let run = |line: &str| json!({"type": "command", "command": line, "args": ["a"]});
    let own = Format::Own;
    let all = [
        hash(doc("PreToolUse", "Shell", run("./x.sh")), own, None, None),
        hash(doc("PreToolUse", "Read", run("./x.sh")), own, None, None),
        hash(doc("PostToolUse", "Shell", run("./x.sh")), own, None, None),
        hash(doc("PreToolUse", "Shell", run("./y.sh")), own, None, None),
        hash(doc("PreToolUse", "Shell", json!({"type": "command", "command": "./x.sh a"})), own, None, None),
        hash(doc("PreToolUse", "Shell", run("./x.sh")), Format::Plugin, None, None),
        hash(doc("PreToolUse", "Shell", run("./x.sh")), Format::Plugin, Some("/p"), None),
        hash(doc("PreToolUse", "Shell", run("./x.sh")), own, None, Some("content 1")),
        hash(doc("PreToolUse", "Shell", run("./x.sh")), own, None, Some("content 2")),
    ];
    let distinct: HashSet<&Hash> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    assert_eq!(all[0].as_str().len(), 64);
    let mut described = run("./x.sh");
    described["description"] = json!("words for people");
    assert_eq!(hash(doc("PreToolUse", "Shell", described), own, None, None), all[0]);
    let text = document("PreToolUse", &[command("./x.sh")]);
    let of = |workspace| {
        let source = Source { workspace, ..source(Layer::Workspace, &text) };
        load_all(&[source]).hooks.all()[0].hash.clone()
    };
    assert_ne!(of(Some("laptop:/one")), of(Some("laptop:/other")));
}

#[test]
fn commands_are_inert_unless_their_own_layer_enables_them() {
    let enabled = document("PreToolUse", &[json!({"type": "prompt", "prompt": "p"})]);
    let silent = json!({"hooks": {"PreToolUse": [{"hooks": [command("x")]}]}}).to_string();
    let loaded = load_all(&[source(Layer::Workspace, &enabled), source(Layer::User, &silent)]);
    assert_eq!((lines(&loaded.inert), loaded.hooks.all().len()), (vec!["x".to_owned()], 1));

    let peer = Source { format: Format::Settings, ..source(Layer::Workspace, &silent) };
    let loaded = load_all(&[source(Layer::Workspace, &enabled), peer.clone()]);
    assert_eq!((loaded.inert.len(), loaded.hooks.all().len()), (0, 2));
    let loaded = load_all(std::slice::from_ref(&peer));
    assert_eq!(loaded.inert.len(), 1);
    let loaded = load_all(&[Source { enables_commands: true, ..peer }]);
    assert_eq!(loaded.hooks.all().len(), 1);
}

#[test]
fn an_eleventh_handler_is_refused_with_a_message() {
    let some = |from: usize, to: usize| {
        let handlers: Vec<_> = (from..to).map(|at| command(&format!("c{at}"))).collect();
        document("PreToolUse", &handlers)
    };
    let (many, managed) = (some(0, 9), some(20, 23));
    let loaded = load_all(&[source(Layer::Workspace, &many), source(Layer::Managed, &managed)]);
    assert_eq!(loaded.hooks.of(Event::PreToolUse).count(), HANDLERS_OF_EVENT);
    let refused: Vec<_> =
        loaded.troubles.iter().map(|trouble| (trouble.layer, trouble.problem.place.as_str())).collect();
    assert_eq!(
        refused,
        [
            (Layer::Workspace, "hooks.PreToolUse[0].hooks[7]"),
            (Layer::Workspace, "hooks.PreToolUse[0].hooks[8]")
        ]
    );
    assert_eq!(loaded.troubles[0].problem.text, "PreToolUse has 10 hooks already; this one is refused: c7");
    assert!(loaded.hooks.closed(Event::PreToolUse).is_none());
}

#[test]
fn the_administrators_broken_hooks_close_their_event() {
    let text = json!({"hooks": {
        "PreToolUse": [{"matcher": "(", "hooks": []}],
        "PostToolUse": [{"matcher": "(", "hooks": []}],
    }})
    .to_string();
    let loaded = load_all(&[source(Layer::Managed, &text)]);
    assert!(loaded.hooks.closed(Event::PreToolUse).unwrap().contains("hooks.PreToolUse[0].matcher"));
    assert!(loaded.hooks.closed(Event::PostToolUse).is_none());
    assert!(load_all(&[source(Layer::User, &text)]).hooks.closed(Event::PreToolUse).is_none());

    let loaded = load_all(&[source(Layer::Managed, "{")]);
    assert!(!loaded.hooks.is_free(Event::PreToolUse) && loaded.hooks.is_free(Event::UserPromptSubmit));
}

#[test]
fn a_switch_disables_its_layer_and_those_below() {
    let on = document("PreToolUse", &[command("on")]);
    let off = json!({"disableAllHooks": true, "enable_command_hooks": true,
        "hooks": {"PreToolUse": [{"hooks": [command("off")]}]}})
    .to_string();
    let loaded =
        load_all(&[source(Layer::User, &off), source(Layer::Workspace, &on), source(Layer::Managed, &on)]);
    assert_eq!(lines(loaded.hooks.all()), ["on"]);
    assert_eq!(loaded.hooks.all()[0].layer, Layer::Managed);
    let loaded = load_all(&[source(Layer::User, &on), source(Layer::WorkspaceLocal, &off)]);
    assert_eq!(loaded.hooks.all()[0].layer, Layer::User);
}

#[test]
fn a_condition_that_cannot_be_read_is_refused() {
    let mut handler = command("x");
    handler["if"] = json!("Shell(");
    let text = document("PreToolUse", &[handler, command("y")]);
    let loaded = load_all(&[source(Layer::User, &text)]);
    assert_eq!(lines(loaded.hooks.all()), ["y"]);
    assert_eq!(loaded.troubles[0].problem.place, "hooks.PreToolUse[0].hooks[0].if");
}

#[test]
fn a_hook_gets_the_name_that_it_asks_for() {
    let asked = |format: Format, matcher: &str, tool: &str| {
        let text = json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "prompt", "prompt": "p"}]}]}});
        let text = text.to_string();
        let loaded = load_all(&[Source { format, ..source(Layer::User, &text) }]);
        loaded.hooks.all()[0].asks_for(tool).map(|asked| (asked.name, asked.dialect))
    };
    let some = |name: &str, dialect: Dialect| Some((name.to_owned(), dialect));
    assert_eq!(asked(Format::Settings, "Bash", "Shell"), some("Bash", Dialect::Peer));
    assert_eq!(asked(Format::Settings, "", "FileReplace"), some("Edit", Dialect::Peer));
    assert_eq!(asked(Format::Settings, "Edit|MultiEdit|Write", "FileCreate"), some("Write", Dialect::Peer));
    assert_eq!(asked(Format::Settings, "Edit|MultiEdit|Write", "FileReplace"), some("Edit", Dialect::Peer));
    assert_eq!(asked(Format::Settings, "MultiEdit|Write", "FileReplace"), some("MultiEdit", Dialect::Peer));
    assert_eq!(asked(Format::Settings, "Task", "SubAgent"), some("Task", Dialect::Peer));
    assert_eq!(asked(Format::Settings, "Shell", "Shell"), some("Shell", Dialect::Peer));
    assert_eq!(
        asked(Format::Own, "Bash", "Shell"),
        some("Bash", Dialect::Own).map(|(name, _)| (name, Dialect::Peer))
    );
    assert_eq!(asked(Format::Own, "Shell|Bash", "Shell"), some("Shell", Dialect::Own));
    assert_eq!(asked(Format::Own, "*", "Fetch"), some("Fetch", Dialect::Own));
    assert_eq!(asked(Format::Own, "^Web", "Fetch"), some("WebFetch", Dialect::Peer));
    assert_eq!(asked(Format::Own, "Bash", "Read"), None);
    let mcp = "mcp__git__log";
    assert_eq!(asked(Format::Settings, "mcp__git__.*", mcp), some(mcp, Dialect::Peer));
    assert_eq!(asked(Format::Own, "mcp_git_log", mcp), some("mcp_git_log", Dialect::Own));
}

#[test]
fn a_callback_is_checked_by_its_name_its_arguments_and_its_event() {
    let callback = |name: &str, input: Value| json!({"type": "callback", "name": name, "input": input});
    let handlers =
        [callback("known", json!({})), callback("other", json!({})), callback("known", json!({"x": 1}))];
    let text = document("PreToolUse", &handlers);
    let loaded = load_all(&[source(Layer::User, &text)]);
    assert_eq!(lines(loaded.hooks.all()), ["known"]);
    let troubles: Vec<_> = loaded.troubles.iter().map(|trouble| trouble.problem.text.as_str()).collect();
    assert_eq!(
        troubles,
        ["there is no callback other at PreToolUse", "there is no callback known at PreToolUse"]
    );
    let managed = load_all(&[source(Layer::Managed, &text)]);
    assert!(managed.hooks.closed(Event::PreToolUse).unwrap().contains("there is no callback other"));
}

#[test]
fn what_nobody_approved_turns_nothing_off_and_crowds_nothing_out() {
    let approved = document("PreToolUse", &[command("guard")]);
    let many: Vec<Value> = (0..HANDLERS_OF_EVENT).map(|number| command(&format!("other {number}"))).collect();
    let off = json!({"disableAllHooks": true, "enable_command_hooks": true,
        "hooks": {"PreToolUse": [{"hooks": many}]}})
    .to_string();
    let crowd = document("PreToolUse", &many);
    let hash = load_all(&[source(Layer::WorkspaceLocal, &approved)]).hooks.all()[0].hash.clone();
    for first in [off, crowd] {
        let sources = [source(Layer::Workspace, &first), source(Layer::WorkspaceLocal, &approved)];
        let loaded = load_with(&sources, &|other| *other == hash);
        assert_eq!(lines(loaded.hooks.all()), ["guard"], "{first}");
    }
}
