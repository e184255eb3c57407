//! Published plugins of Claude Code, unchanged, on a real server: installed as people do it, and their hooks, commands, skills and roles
//! in a chat.
//!
//! They are npm tarballs, which `published.txt` pins and `scripts/test` keeps in the user's cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Asked, Reply, eventually};

use crate::agent::{ended, messages, new_chat, say};
use crate::mcp_servers::results_since;
use crate::workspace_trust::system;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

const PUBLISHED: &str = include_str!("../../server-bridge/crates/plugins/tests/published.txt");

/// A line of `published.txt`.
struct Published {
    package: &'static str,
    /// The directory of the plugin in the package.
    directory: &'static str,
    /// The numbers of its skills, commands, roles, handlers of hooks and servers.
    counts: Vec<usize>,
    /// Part of the text that names unused parts, without blanks; `-` if there are none.
    unused: &'static str,
    tarball: PathBuf,
}

fn published() -> Vec<Published> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
    let lines = PUBLISHED.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [package, version, _integrity, directory, counts, unused] = fields[..] else {
                panic!("{line}")
            };
            let file = format!("{}-{version}.tgz", package.trim_start_matches('@').replace('/', "-"));
            let tarball = cache.join("sandbridge-tests/plugins").join(file);
            assert!(tarball.exists(), "{}: `scripts/test` downloads it once", tarball.display());
            let counts = counts.split('/').map(|count| count.parse().unwrap()).collect();
            Published { package, directory, counts, unused, tarball }
        })
        .collect()
}

fn tarball(package: &str) -> PathBuf {
    published().into_iter().find(|plugin| plugin.package == package).unwrap().tarball
}

/// Unpacks a directory of a package.
fn unpack(tarball: &Path, directory: &str, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let tar = Command::new("tar").arg("-xzf").arg(tarball).arg("-C").arg(to).arg(directory).status().unwrap();
    assert!(tar.success(), "{}", tarball.display());
}

impl World {
    /// Installs a plugin as its user does; returns its description.
    fn install_published(&self, source: &str) -> Value {
        // It is inspected first, and not installed unless its user agrees.
        let looked = self.alice.run(&["plugin", "install", source]);
        assert!(looked.code == 1 && !looked.stderr.is_empty(), "{source}: {looked:?}");
        self.alice.json(&["plugin", "install", source, "--yes", "--json"])
    }

    /// Installs a published plugin by the way that fits: its tarball, a directory of it, or the marketplace in it.
    fn install_from(&self, plugin: &Published) -> Value {
        let Published { directory, tarball, .. } = plugin;
        if *directory == "." {
            return self.install_published(tarball.to_str().unwrap());
        }
        let name = tarball.file_stem().unwrap().to_str().unwrap();
        let unpacked = self.path(name);
        unpack(tarball, "package", &unpacked);
        if !unpacked.join("package/.claude-plugin/marketplace.json").exists() {
            return self.install_published(unpacked.join("package").join(directory).to_str().unwrap());
        }
        let source = format!("runner:laptop:{name}/package");
        let market = self.alice.json(&["plugin", "marketplace", "add", &source, "--json"]);
        let offered = &market["plugins"][0]["source"];
        self.install_published(offered.as_str().unwrap_or_else(|| panic!("{market}")))
    }
}

fn names(plugin: &Value, part: &str) -> Vec<String> {
    let parts = plugin[part].as_array().unwrap_or_else(|| panic!("{plugin}"));
    parts.iter().map(|part| part["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn published_plugins_are_installed_as_they_are_and_their_parts_are_offered() {
    let world = World::new(|_: &Asked| Reply::Say("that is all".to_owned()));
    let all = published();
    assert!(all.len() >= 10);
    let mut installed = BTreeMap::new();
    for plugin in &all {
        let shown = world.install_from(plugin);
        let parts = ["skills", "commands", "roles", "hooks", "servers"].map(|part| names(&shown, part));
        let counts: Vec<usize> = parts.iter().map(Vec::len).collect();
        assert_eq!(counts, plugin.counts, "{}: {shown}", plugin.package);
        let unused = names(&shown, "unused").concat().replace(' ', "");
        let is_named = if plugin.unused == "-" { unused.is_empty() } else { unused.contains(plugin.unused) };
        assert!(is_named, "{}: {unused}", plugin.package);
        installed.insert(shown["name"].as_str().unwrap().to_owned(), parts);
    }
    assert_eq!(installed.len(), all.len(), "each has a name of its own");
    let list = world.alice.json(&["plugin", "list", "--json"]);
    assert_eq!(list["plugins"].as_array().unwrap().len(), all.len());
    // A person reads what is not used, with the reason.
    let shown = world.run(&["plugin", "show", "agent-reviews"]).stdout;
    assert!(shown.contains("bin") && shown.contains("not on the PATH"), "{shown}");

    let commands = Client::login(&world.server, "alice").call("GET", "/commands").json();
    let usages: Vec<&str> =
        commands.as_array().unwrap().iter().filter_map(|command| command["usage"].as_str()).collect();
    for command in installed.values().flat_map(|parts| &parts[1]) {
        let is_listed = |usage: &&str| usage.split(' ').next() == Some(command.as_str());
        assert!(usages.iter().any(is_listed), "{command} is no slash command");
    }
    let servers = world.alice.json(&["mcp-server", "list", "--json"]);
    let known = names(&servers, "servers");
    for (name, server) in
        installed.iter().flat_map(|(name, parts)| parts[4].iter().map(move |server| (name, server)))
    {
        let wanted = format!("plugin_{name}_{server}");
        assert!(known.contains(&wanted), "{wanted}: {known:?}");
    }
    // An event has at most 10 handlers: the hooks beyond these are named.
    let hooks = world.alice.json(&["hook", "list", "--json"]);
    let handlers: usize = installed.values().map(|parts| parts[3].len()).sum();
    let used = hooks["hooks"].as_array().unwrap().len();
    let problems = hooks["problems"].to_string();
    assert!(
        used >= 40 && used < handlers && problems.contains("has 10 hooks already; this one is refused"),
        "{used} of {handlers}: {problems}"
    );
}

/// The pipeline of `selfish`, whose hooks judge and record calls while a feature is in progress.
const FEATURE: &str = "login";

/// Calls what the pipeline's hooks guard and record, twice each: once with success, and once with a failure.
fn works(asked: &Asked) -> Reply {
    // The plugin's own agent judges whether the model may stop.
    if asked.raw.contains("Check if it is safe to stop") {
        return Reply::Say(json!({"ok": true}).to_string());
    }
    if asked.last_of_user().contains("judge the design") {
        return Reply::Say("the design is sound".to_owned());
    }
    let edit =
        |old: &str| ("FileReplace", json!({"path": "new.txt", "old_string": old, "new_string": "after"}));
    let calls = [
        ("Shell", json!({"command": "git reset --hard"})),
        ("Shell", json!({"command": "echo built"})),
        ("Shell", json!({"command": "cat missing.txt"})),
        ("FileCreate", json!({"path": "new.txt", "content": "before"})),
        ("FileCreate", json!({"path": "../outside.txt", "content": "x"})),
        edit("before"),
        edit("not in it"),
        ("Skill", json!({"name": "claudelint:validate-hooks"})),
        ("SubAgent", json!({"task": "judge the design", "role": "selfish:selfish-architect"})),
    ];
    match calls.get(results_since(asked)) {
        Some(call) if asked.last_of_user() == "go" => Reply::Call(vec![call.clone()]),
        _ => Reply::Say("that is all".to_owned()),
    }
}

#[test]
fn hooks_of_a_published_plugin_run_with_the_tool_names_that_they_ask_for() {
    let world = World::new(works);
    world.put(".claude/.selfish-active", FEATURE);
    // Before its last phases, the pipeline does not require a passed test run.
    world.put(".claude/.selfish-phase", "spec");
    let selfish = world.install_published(tarball("selfish-pipeline").to_str().unwrap());
    world.install_published(tarball("claude-code-lint").to_str().unwrap());
    let hooks = names(&selfish, "hooks");
    for hook in [
        "PreToolUse Bash",
        "PostToolUse Edit|MultiEdit|Write",
        "PostToolUseFailure Bash|Edit|MultiEdit|Write",
    ] {
        assert!(hooks.iter().any(|name| name == hook), "{hook}: {hooks:?}");
    }
    world.chat("full");
    let asked = world.model.asked();
    let own: Vec<&Asked> = asked.iter().filter(|asked| asked.last_of_user() == "go").collect();
    let results = own.last().unwrap().results();
    assert!(results[0].contains("SELFISH GUARD: git reset --hard is blocked during pipeline"), "{results:?}");
    assert!(results[1].contains("built"), "{results:?}");
    assert!(results[7].contains("hooks") && results[8].contains("the design is sound"), "{results:?}");
    let sub_agent = asked.iter().find(|asked| asked.last_of_user().contains("judge the design")).unwrap();
    assert!(system(sub_agent).contains("You are an architecture analysis agent"), "{}", sub_agent.raw);
    let changes = fs::read_to_string(world.path(".claude/.selfish-changes.log")).unwrap();
    assert_eq!(changes.lines().collect::<Vec<_>>(), [world.path("new.txt").to_str().unwrap()]);
    let failures = fs::read_to_string(world.path(".claude/.selfish-failures.log")).unwrap();
    let failed: Vec<&str> = failures.lines().map(|line| line.split([' ', ':']).nth(1).unwrap()).collect();
    assert_eq!(failed, ["Bash", "Write", "Edit"], "{failures}");
    assert!(own[0].raw.contains(&format!("[SELFISH PIPELINE ACTIVE] Feature: {FEATURE}")), "{}", own[0].raw);
    let prompt = system(own[0]);
    for offered in
        ["claudelint:validate-hooks: ", "selfish:selfish-architect: ", "selfish:selfish-security: "]
    {
        assert!(prompt.contains(offered), "{offered}: {prompt}");
    }

    // A command of the plugin becomes its user's message.
    let client = Client::login(&world.server, "alice");
    let chat = new_chat(&client, "full");
    say(&client, &chat, "/selfish:spec sign in with a passkey");
    ended(&client, &chat, 1);
    let said = messages(&client, &chat)[0]["text"].as_str().unwrap().to_owned();
    assert!(
        said.contains("Generate Feature Specification") && said.contains("sign in with a passkey"),
        "{said}"
    );
    let told = world.model.asked();
    assert!(told.iter().any(|asked| asked.last_of_user().contains("Generate Feature Specification")));

    world.run(&["plugin", "disable", "selfish"]);
    world.chat("full");
    eventually("nothing guards the calls", PATIENCE, || {
        let all = world.model.asked();
        let own = all.iter().rev().find(|asked| asked.last_of_user() == "go")?;
        own.results().first().is_some_and(|result| !result.contains("SELFISH GUARD")).then_some(())
    });
}
