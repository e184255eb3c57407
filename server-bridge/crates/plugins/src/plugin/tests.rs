use serde_json::json;

use super::*;
use crate::limits::{COMPONENTS, DOCUMENT_BYTES, TEXT_BYTES};
use crate::marketplace::Marketplace;

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of(files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec(), false))).unwrap()
}

fn read(files: &[(&str, &str)]) -> Plugin {
    Plugin::read(&tree(files), "directory-name").unwrap()
}

/// A plugin with a manifest, and one skill without problems.
fn with_manifest(manifest: &str) -> Plugin {
    read(&[
        (".claude-plugin/plugin.json", manifest),
        ("skills/good/SKILL.md", "---\ndescription: D\n---\nDo."),
    ])
}

fn unused(plugin: &Plugin) -> Vec<&str> {
    plugin.unused.iter().map(|unused| unused.what.as_str()).collect()
}

fn refused(plugin: &Plugin) -> Vec<&str> {
    plugin
        .problems
        .iter()
        .filter(|problem| problem.is_refused)
        .map(|problem| problem.place.as_str())
        .collect()
}

#[test]
fn a_plugin_with_every_part_is_read() {
    let plugin = read(&[
        (
            ".claude-plugin/plugin.json",
            r#"{"name": "whole", "version": "1.2", "description": "All of it", "author": {"name": "A", "email": "a@x.org"},
                "repository": {"type": "git", "url": "https://x.org/r"}, "keywords": ["a", "b"]}"#,
        ),
        (
            "skills/review/SKILL.md",
            "---\nname: review\ndescription: Reviews a change\nallowed-tools: Read, Bash(git diff:*)\n\
             disable-model-invocation: true\nalways: true\nrequires:\n  bins: [git, gh]\n  env: [GH_TOKEN]\n---\nLook.",
        ),
        ("skills/review/scripts/run.sh", "x"),
        (
            "commands/git/commit.md",
            "---\nargument-hint: \"[message]\"\nmodel: haiku\nallowed-tools:\n  - Bash(git add:*)\n---\n# Title\n\nCommits $1.",
        ),
        (
            "agents/looker.md",
            "---\nname: looker\ndescription: Looks\ntools: Bash, Write, mcp__a__b\nmodel: inherit\n---\nOnly look.",
        ),
        ("hooks/hooks.json", r#"{"hooks": {"PreToolUse": []}}"#),
        (".mcp.json", r#"{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db"}}}"#),
    ]);
    let manifest = &plugin.manifest;
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("whole", "1.2"));
    assert_eq!(
        (manifest.author.email.as_str(), manifest.repository.as_str()),
        ("a@x.org", "https://x.org/r")
    );
    let skill = &plugin.skills[0];
    assert_eq!(
        (skill.name.as_str(), skill.description.as_str(), skill.text.as_str()),
        ("review", "Reviews a change", "Look.")
    );
    assert_eq!((skill.is_for_models, skill.is_for_people, skill.always), (false, true, true));
    assert_eq!(
        (&skill.requires.programs[..], &skill.requires.variables[..]),
        (&["git".to_owned(), "gh".to_owned()][..], &["GH_TOKEN".to_owned()][..])
    );
    assert_eq!(skill.allowed_tools[1].name, "Shell");
    assert_eq!(skill.allowed_tools[1].specifier.as_deref(), Some("git diff:*"));
    let command = &plugin.commands[0];
    assert_eq!((command.name.as_str(), command.description.as_str()), ("git:commit", "Commits $1."));
    assert_eq!((command.argument_hint.as_str(), command.model.as_str()), ("[message]", "haiku"));
    let role = &plugin.roles[0];
    let tools: Vec<_> = role.tools.iter().flatten().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        (role.name.as_str(), tools, role.model.as_str()),
        ("looker", vec!["Shell", "FileCreate", "mcp__a__b"], "")
    );
    assert_eq!(plugin.hooks[0].text, r#"{"hooks": {"PreToolUse": []}}"#);
    assert_eq!(
        plugin.servers_document(),
        json!({"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db"}}})
    );
    assert!(plugin.problems.is_empty() && plugin.unused.is_empty(), "{plugin:#?}");
}

#[test]
fn a_plugin_needs_no_manifest() {
    let plugin = read(&[("commands/a.md", "Do it.")]);
    assert_eq!((plugin.manifest.name.as_str(), plugin.commands.len()), ("directory-name", 1));
    let changed = read(&[("commands/a.md", "Do it!")]);
    assert_ne!(plugin.hash, changed.hash, "the version is no identity");
    let plugin = read(&[("SKILL.md", "---\nname: My Skill\n---\nDo it.")]);
    assert_eq!((plugin.skills[0].name.as_str(), plugin.skills[0].title.as_str()), ("My-Skill", "My Skill"));
    assert_eq!(Plugin::read(&tree(&[("README.md", "x")]), "x"), Err(PluginError::NoPlugin));
    assert_eq!(Plugin::read(&tree(&[("commands/a.md", "x")]), "../"), Err(PluginError::NoName));
}

#[test]
fn a_manifest_declares_parts_in_every_form() {
    let plugin = read(&[
        (
            ".claude-plugin/plugin.json",
            r#"{"name": "p", "skills": ["./more/", "./single"], "agents": "./roles/a.md",
                "commands": {"about": {"source": "./README.md", "description": "Says \"what\": it is", "allowedTools": ["Read"]},
                             "hi": {"content": "Say hi to $1."}},
                "hooks": [{"PreToolUse": []}, "./h.json"],
                "mcpServers": {"one": {"command": "x"}}}"#,
        ),
        ("README.md", "---\nmodel: opus\n---\nRead me."),
        ("skills/own/SKILL.md", "Own."),
        ("more/x/SKILL.md", "X."),
        ("more/x/deeper/SKILL.md", "Not a skill."),
        ("single/SKILL.md", "Single."),
        ("roles/a.md", "---\ndescription: A\n---\nA."),
        ("roles/b.md", "---\ndescription: B\n---\nB."),
        ("agents/c.md", "---\ndescription: C\n---\nC."),
        ("h.json", r#"{"hooks": {}}"#),
        (".mcp.json", r#"{"flat": {"url": "https://x.org"}, "$schema": "x"}"#),
    ]);
    let skills: Vec<_> = plugin.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(skills, ["own", "x", "single"]);
    let commands: Vec<_> = plugin.commands.iter().map(|command| command.name.as_str()).collect();
    assert_eq!(commands, ["about", "hi"]);
    let about = &plugin.commands[0];
    assert_eq!(
        (about.description.as_str(), about.model.as_str(), about.text.as_str()),
        ("Says \"what\": it is", "opus", "Read me.")
    );
    assert_eq!(about.allowed_tools[0].name, "Read");
    assert_eq!(plugin.roles.iter().map(|role| role.name.as_str()).collect::<Vec<_>>(), ["a"]);
    let hooks: Vec<_> = plugin.hooks.iter().map(|hooks| hooks.text.as_str()).collect();
    assert_eq!(hooks, [r#"{"hooks":{"PreToolUse":[]}}"#, r#"{"hooks": {}}"#]);
    let servers: Vec<_> = plugin.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(servers, ["flat", "one"]);
    assert_eq!(unused(&plugin), ["agents/"]);
    assert!(plugin.problems.is_empty(), "{:?}", plugin.problems);
}

#[test]
fn what_is_not_used_is_named() {
    let plugin = read(&[
        (
            ".claude-plugin/plugin.json",
            r#"{"name": "p", "lspServers": {}, "outputStyles": "./styles", "monitors": [], "statusLine": {}, "themes": [],
                "mcpServers": "./x.mcpb", "somethingNew": 1}"#,
        ),
        ("x.mcpb", "PK"),
        (".lsp.json", "{}"),
        ("output-styles/a.md", "x"),
        ("agents/a.md", "---\ndescription: D\nmemory: user\ntools: Read, NotebookEdit\ncolor: red\n---\nA."),
        ("agents/README.md", "About."),
        ("skills/a/SKILL.md", "---\ndescription: D\ncontext: fork\n---\nA."),
    ]);
    assert_eq!(
        unused(&plugin),
        [
            ".lsp.json",
            "agents/README.md",
            "agents/a.md: NotebookEdit",
            "agents/a.md: memory",
            "lspServers",
            "monitors",
            "output-styles",
            "outputStyles",
            "skills/a/SKILL.md: context",
            "somethingNew",
            "statusLine",
            "themes",
            "x.mcpb",
        ]
    );
    assert!(plugin.problems.is_empty(), "{:?}", plugin.problems);
}

#[test]
fn a_broken_part_is_named_and_leaves_the_others() {
    let long = "x".repeat(TEXT_BYTES + 1);
    let mut files: Vec<(&str, Vec<u8>)> = [
        ("skills/good/SKILL.md", "---\ndescription: D\n---\nDo."),
        ("skills/open/SKILL.md", "---\nname: open\nDo."),
        ("skills/Good2/SKILL.md", "---\ndescription: D\n---\nDo."),
        ("skills/bad name/SKILL.md", "Do."),
        ("skills/long/SKILL.md", &long),
        ("commands/empty.md", "---\ndescription: D\n---\n"),
        ("commands/good.md", "Do."),
        ("commands/bad name.md", "Do."),
        ("agents/a.md", "---\nname: same\ndescription: D\n---\nA."),
        ("agents/b.md", "---\nname: Same\ndescription: D\n---\nB."),
        ("agents/c.md", "---\nname: ..\ndescription: D\n---\nC."),
        ("hooks/hooks.json", "{"),
        (
            ".mcp.json",
            r#"{"mcpServers": {"good": {"command": "x"}, "bad\u202e": {"command": "x"}, "": {}, "no": 7}}"#,
        ),
    ]
    .map(|(path, text)| (path, text.as_bytes().to_vec()))
    .into();
    files.push(("skills/binary/SKILL.md", b"---\nname: \xff\n---\n".to_vec()));
    files.push(("skills/nul/SKILL.md", b"a\0b".to_vec()));
    let tree = Tree::of(files.into_iter().map(|(path, content)| (path, content, false))).unwrap();
    let plugin = Plugin::read(&tree, "p").unwrap();
    assert_eq!(plugin.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["Good2", "good"]);
    assert_eq!(
        (plugin.commands.len(), plugin.roles.len(), plugin.hooks.len(), plugin.servers.len()),
        (1, 1, 0, 1)
    );
    assert_eq!(
        refused(&plugin),
        [
            "skills/bad name/SKILL.md",
            "skills/binary/SKILL.md",
            "skills/long/SKILL.md",
            "skills/nul/SKILL.md",
            "skills/open/SKILL.md",
            "commands/bad name.md",
            "commands/empty.md",
            "agents/b.md",
            "agents/c.md",
            "hooks/hooks.json",
            ".mcp.json: ``",
            ".mcp.json: `bad\\u{202e}`",
            ".mcp.json: `no`",
        ]
    );
    let open = plugin.problems.iter().find(|problem| problem.place.contains("open")).unwrap();
    assert!(open.text.contains("does not end"), "{open:?}");
}

#[test]
fn two_skills_of_one_name_are_one_skill_and_a_problem() {
    let plugin = read(&[
        (".claude-plugin/plugin.json", r#"{"name": "p", "skills": ["./a", "./b"]}"#),
        ("a/x/SKILL.md", "---\ndescription: first\n---\nA."),
        ("b/X/SKILL.md", "---\ndescription: second\n---\nB."),
    ]);
    assert_eq!(plugin.skills.len(), 1);
    assert_eq!(plugin.skills[0].description, "first");
    assert_eq!(refused(&plugin), ["b/X/SKILL.md"]);
}

#[test]
fn paths_that_lead_out_of_the_plugin_are_named_and_not_followed() {
    for field in ["commands", "agents", "skills", "hooks", "mcpServers"] {
        for path in ["../../x", "/etc/passwd", "./a/../../x", "C:\\\\x", "./missing"] {
            let plugin = with_manifest(&format!(r#"{{"name": "p", "{field}": "{path}"}}"#));
            assert_eq!(refused(&plugin), [format!(".claude-plugin/plugin.json: {field}")], "{field} {path}");
            assert_eq!(plugin.skills.len(), 1, "{field} {path}");
        }
    }
    let plugin = with_manifest(
        r#"{"name": "p", "commands": {"x": {"source": "../../x"}, "y": 1, "z": {}}, "agents": [{}, 7, "../x"]}"#,
    );
    assert_eq!(refused(&plugin).len(), 6, "{:?}", plugin.problems);
}

#[test]
fn names_are_cleaned_and_said() {
    for (written, name) in [
        ("@scope/My Plugin", "scope-My-Plugin"),
        ("../../etc", "etc"),
        ("a\\u202eb", "a-b"),
        ("..", "directory-name"),
        ("", "directory-name"),
    ] {
        let plugin = with_manifest(&format!(r#"{{"name": "{written}", "description": "a\u202eb\nc"}}"#));
        assert_eq!(plugin.manifest.name, name, "{written}");
        assert_eq!(plugin.manifest.description, "ab c");
        assert_eq!(plugin.problems.len(), 1, "{written}: {:?}", plugin.problems);
    }
    let plugin = with_manifest(
        r#"{"name": 7, "version": {}, "author": [], "keywords": {"a": 1}, "repository": false}"#,
    );
    assert_eq!((plugin.manifest.name.as_str(), plugin.problems.len()), ("directory-name", 1));
}

#[test]
fn hidden_text_is_taken_out_and_said() {
    let plugin = read(&[(
        "skills/a/SKILL.md",
        "---\ndescription: a\u{202e}b\n---\nDo \u{202e}this\u{e0041}. 👩\u{200d}💻",
    )]);
    assert_eq!(
        (plugin.skills[0].description.as_str(), plugin.skills[0].text.as_str()),
        ("ab", "Do this. 👩\u{200d}💻")
    );
    assert_eq!(plugin.problems.len(), 1);
    assert!(!plugin.problems[0].is_refused);
}

#[test]
fn manifests_that_are_no_documents_are_refused() {
    let huge = format!(r#"{{"name": "{}"}}"#, "x".repeat(10 * 1024 * 1024));
    let deep = format!(r#"{{"name": "p", "x": {}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for manifest in ["", "[]", "null", "{", "{\"name\": \"p\"} x", &huge, &deep] {
        for place in [".claude-plugin/plugin.json", "plugin.json"] {
            let error = Plugin::read(&tree(&[(place, manifest), ("skills/a/SKILL.md", "x")]), "p");
            // Another program's `plugin.json` does not have this format; a broken one is still read.
            let is_other = place == "plugin.json"
                && serde_json::from_str::<serde_json::Value>(manifest).is_ok_and(|value| value.is_object());
            assert!(
                matches!(error, Err(PluginError::Manifest { .. })) || is_other,
                "{place} {:?}",
                manifest.get(..20)
            );
        }
    }
    assert!(huge.len() > DOCUMENT_BYTES);
    let binary = Tree::of([(".claude-plugin/plugin.json", b"{\"name\": \"\xff\"}".to_vec(), false)]).unwrap();
    assert!(matches!(Plugin::read(&binary, "p"), Err(PluginError::Manifest { .. })));
}

#[test]
fn a_plugin_has_a_limited_number_of_parts() {
    let tree = Tree::of(
        (0..COMPONENTS + 3).map(|number| (format!("commands/c{number}.md"), b"Do.".to_vec(), false)),
    )
    .unwrap();
    let plugin = Plugin::read(&tree, "p").unwrap();
    assert_eq!((plugin.commands.len(), refused(&plugin).len()), (COMPONENTS, 3));
}

const SCHEMA: &str = r#""$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json""#;
const MCP_SCHEMA: &str = r#""$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json""#;

#[test]
fn an_agent_plugin_is_read_by_its_specification() {
    let plugin = read(&[
        (
            "plugin.json",
            &format!(
                r#"{{{SCHEMA}, "name": "acme.tools", "commands": "./x", "extensions": {{"com.example.client": {{}}}}}}"#
            ),
        ),
        ("skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys\n---\nDo."),
        ("skills/other/SKILL.md", "---\nname: another\ndescription: D\n---\nDo."),
        ("skills/none/SKILL.md", "Do."),
        ("commands/a.md", "Not a part of this format."),
        ("com.example.client/hooks/hooks.json", "{}"),
        (
            "mcp.json",
            &format!(
                r#"{{{MCP_SCHEMA}, "mcpServers": {{
                    "good": {{"type": "stdio", "command": "./bin/x", "args": ["${{PLUGIN_DATA}}"], "cwd": "${{PLUGIN_ROOT}}/a"}},
                    "near": {{"type": "streamable-http", "url": "http://127.0.0.1:8/mcp"}},
                    "far": {{"type": "sse", "url": "http://x.org"}},
                    "out": {{"type": "stdio", "command": "../x"}},
                    "cwd": {{"type": "stdio", "command": "x", "cwd": "${{PLUGIN_ROOT}}/../.."}},
                    "env": {{"type": "stdio", "command": "x", "env": {{"PLUGIN_ROOT": "/"}}}},
                    "user": {{"type": "streamable-http", "url": "https://a:b@x.org/"}},
                    "twice": {{"type": "streamable-http", "url": "https://x.org/", "headers": {{"A": "", "a": ""}}}},
                    "field": {{"type": "stdio", "command": "x", "url": "https://x.org"}},
                    "type": {{"command": "x"}}
                }}}}"#
            ),
        ),
    ]);
    assert_eq!((plugin.manifest.format, plugin.manifest.name.as_str()), (Format::AgentPlugins, "acme.tools"));
    assert_eq!(plugin.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["deploy"]);
    assert!(plugin.commands.is_empty());
    assert_eq!(
        plugin.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(),
        ["good", "near"]
    );
    assert_eq!(unused(&plugin), ["com.example.client/", "commands", "extensions.com.example.client"]);
    assert_eq!(refused(&plugin).len(), 2 + 8, "{:#?}", plugin.problems);
}

#[test]
fn an_agent_plugin_with_a_wrong_manifest_is_refused_as_a_whole() {
    for fields in [
        r#""name": "Upper""#,
        r#""name": "a--b""#,
        r#""name": "a..b""#,
        r#""name": "-a""#,
        r#""name": 7"#,
        r#""version": "1""#,
        r#""name": "a", "author": {"nick": "x"}"#,
        r#""name": "a", "author": "x""#,
        r#""name": "a", "keywords": "x""#,
        r#""name": "a", "version": 1"#,
    ] {
        let error = Plugin::read(&tree(&[("plugin.json", &format!("{{{SCHEMA}, {fields}}}"))]), "p");
        assert!(matches!(error, Err(PluginError::Manifest { .. })), "{fields}: {error:?}");
    }
    let newer = SCHEMA.replace("1.0.0", "9.0.0");
    let error = Plugin::read(&tree(&[("plugin.json", &format!(r#"{{{newer}, "name": "a"}}"#))]), "p");
    assert!(error.unwrap_err().to_string().contains("9.0.0"));
    // Problems of the servers do not affect the skills, nor does a wrong `extensions`.
    let plugin = read(&[
        ("plugin.json", &format!(r#"{{{SCHEMA}, "name": "a", "extensions": "x", "version": "banana"}}"#)),
        ("skills/deploy/SKILL.md", "---\nname: deploy\ndescription: Deploys\n---\nDo."),
        ("mcp.json", r#"{"mcpServers": {}}"#),
    ]);
    assert_eq!((plugin.skills.len(), plugin.problems.len()), (1, 2));
    // If there are manifests of both formats, the format with more parts is used.
    let both = read(&[("plugin.json", r#"{"name": "other program"}"#), ("commands/a.md", "Do.")]);
    assert_eq!((both.manifest.format, both.commands.len()), (Format::ClaudeCode, 1));
}

#[test]
fn an_entry_of_a_marketplace_may_declare_the_parts() {
    let market = Marketplace::read(
        br#"{"name": "m", "plugins": [
            {"name": "docs", "source": "./", "strict": false, "description": "D", "skills": ["./skills/pdf"], "category": "x"},
            {"name": "all", "source": "./", "version": "3", "lspServers": {}, "mcpServers": {"s": {"command": "x"}}}]}"#,
    )
    .unwrap();
    let files = [
        ("skills/pdf/SKILL.md", "---\ndescription: P\n---\nP."),
        ("skills/xls/SKILL.md", "---\ndescription: X\n---\nX."),
    ];
    let docs = Plugin::read_entry(&tree(&files), market.plugin("docs").unwrap()).unwrap();
    assert_eq!(
        (docs.manifest.name.as_str(), docs.manifest.description.as_str(), docs.skills.len()),
        ("docs", "D", 1)
    );
    assert!(docs.unused.is_empty() && docs.problems.is_empty(), "{docs:?}");
    let mut files = files.to_vec();
    files.push((".claude-plugin/plugin.json", r#"{"name": "other", "version": "1", "agents": []}"#));
    let all = Plugin::read_entry(&tree(&files), market.plugin("all").unwrap()).unwrap();
    assert_eq!((all.manifest.name.as_str(), all.manifest.version.as_str()), ("all", "1"));
    assert_eq!((all.skills.len(), all.servers.len(), unused(&all)), (2, 1, vec!["lspServers"]));
    assert_eq!(all.problems.len(), 1, "{:?}", all.problems);
    files[2].1 = r#"{"name": "docs", "commands": "./skills"}"#;
    let conflict = Plugin::read_entry(&tree(&files), market.plugin("docs").unwrap()).unwrap();
    assert_eq!((conflict.skills.len(), conflict.commands.len(), conflict.problems.len()), (1, 0, 1));
}

#[test]
fn the_seeds_requirements_are_read_in_their_forms() {
    for head in [
        "metadata: '{\"nanobot\":{\"always\":true,\"requires\":{\"bins\":[\"git\"],\"env\":[\"A\"]}}}'",
        "metadata: {\"openclaw\": {\"always\": true, \"requires\": {\"bins\": [\"git\"], \"env\": [\"A\"]}}}",
        "metadata:\n  always: true\n  requires:\n    bins: [git]\n    env: [A]",
        "always: true\nrequires_bins: git\nrequires_env: A",
        "always: true\nrequires:\n  bins:\n  - git\n  env:\n  - A",
    ] {
        let text = format!("---\ndescription: D\n{head}\n---\nDo.");
        let plugin = read(&[("skills/a/SKILL.md", &text)]);
        let skill = &plugin.skills[0];
        assert!(skill.always, "{head}");
        assert_eq!(
            (skill.requires.programs.as_slice(), skill.requires.variables.as_slice()),
            (&["git".to_owned()][..], &["A".to_owned()][..]),
            "{head}"
        );
    }
}
