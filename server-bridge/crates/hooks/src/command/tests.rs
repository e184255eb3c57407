use serde_json::json;

use super::*;
use crate::condition::Globs;
use crate::config::Format;
use crate::handler::Action;
use crate::layers::{Checks, Layer, Source, load};

fn hook(handler: serde_json::Value, plugin_root: Option<&str>) -> Hook {
    let text = json!({"hooks": {"Stop": [{"hooks": [handler]}]}}).to_string();
    let source = Source {
        layer: Layer::User,
        format: Format::Plugin,
        origin: "o",
        plugin_root,
        workspace: None,
        text: &text,
        enables_commands: true,
    };
    let checks = Checks {
        is_approved: &|_| true,
        files: &|_, _| crate::layers::Files::default(),
        condition: &Globs,
        callback: &|_, _, _| Ok(()),
    };
    load(&[source], &checks).hooks.all()[0].clone()
}

fn line_of(hook: &Hook, session: &Session) -> Line {
    let Action::Command { command, args } = &hook.handler.action else { panic!("{hook:?}") };
    line(command, args.as_deref(), hook, session)
}

#[test]
fn words_get_their_directories_and_lines_are_left_alone() {
    let session = Session { id: "s".to_owned(), project_dir: "/w $(x)".to_owned(), ..Session::default() };
    let words = json!({"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["${CLAUDE_PROJECT_DIR}/a", "$HOME"]});
    let expected = ["/p/run", "/w $(x)/a", "$HOME"].map(str::to_owned).to_vec();
    assert_eq!(line_of(&hook(words, Some("/p")), &session), Line::Words(expected));
    let text = "\"${CLAUDE_PROJECT_DIR}\"/a";
    let shell = hook(json!({"type": "command", "command": text}), Some("/p"));
    assert_eq!(line_of(&shell, &session), Line::Shell(text.to_owned()));
}

#[test]
fn variables_have_our_names_the_peers_and_the_seeds() {
    let session = Session { id: "s".to_owned(), project_dir: "/w".to_owned(), ..Session::default() };
    let hook = hook(json!({"type": "command", "command": "x"}), Some("/p"));
    let mut found = variables(&hook, &session);
    found.sort();
    let expected = [
        ("CLAUDE_PLUGIN_ROOT", "/p"),
        ("CLAUDE_PROJECT_DIR", "/w"),
        ("SANDBRIDGE_HOOK_EVENT", "Stop"),
        ("SANDBRIDGE_PROJECT_DIR", "/w"),
        ("SANDBRIDGE_SESSION_ID", "s"),
        ("XBOT_PROJECT_DIR", "/w"),
        ("XBOT_SESSION_ID", "s"),
    ];
    assert_eq!(found, expected.map(|(name, value)| (name, value.to_owned())));
    let odd = Session { project_dir: "a\0b".to_owned(), ..session };
    assert!(variables(&hook, &odd).iter().all(|(_, value)| !value.contains('\0')));
}
