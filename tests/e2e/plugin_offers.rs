//! Marketplaces, and plugins that users of the server share: plugins are listed there, inspected, and installed by name.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tests::http::Client;
use tests::{Page, Pages, Reply};

use crate::workspace_trust::system;
use crate::world::{World, put};

/// Writes a marketplace with one plugin that it contains, and others that are elsewhere.
fn marketplace(root: &Path, text: &str) {
    let document = json!({"name": "tools", "owner": {"name": "Ada"}, "description": "Tools", "plugins": [
        {"name": "style", "source": "./plugins/style", "description": "How we write", "version": "1.0", "category": "docs"},
        {"name": "away", "source": {"source": "npm", "package": "away"}, "version": "3.0"},
        {"name": "git", "source": {"source": "url", "url": "https://git.example/x/y.git"}},
        {"name": "bad"},
    ]});
    put(&root.join(".claude-plugin/marketplace.json"), &document.to_string());
    put(&root.join("plugins/style/skills/write/SKILL.md"), text);
}

const FIRST: &str = "---\nname: write\ndescription: How to write\n---\nWrite short sentences.";

fn update_of(world: &World, name: &str) -> bool {
    let list = world.alice.json(&["plugin", "list", "--json"]);
    let plugin = list["plugins"].as_array().unwrap().iter().find(|plugin| plugin["name"] == name).unwrap();
    plugin["has_update"].as_bool().unwrap()
}

#[test]
fn a_directory_of_a_runner_is_a_marketplace_and_changes_are_detected_by_hash() {
    let world = World::new(|_| Reply::Say("done".to_owned()));
    marketplace(&world.path("market"), FIRST);
    let add = |source: &str| world.alice.run(&["plugin", "marketplace", "add", source, "--json"]);
    for (source, reason) in [
        ("runner:laptop:nothing", "cannot be read"),
        ("runner:laptop:../x", "not a source of a marketplace"),
        ("runner:elsewhere:market", "elsewhere"),
        ("https://git.example/x.git", "not a source of a marketplace"),
    ] {
        let refused = add(source);
        assert!(refused.code != 0 && refused.stdout.contains(reason), "{source}: {refused:?}");
    }
    let added: Value = serde_json::from_str(&add("runner:laptop:market").stdout).unwrap();
    let names: Vec<&str> =
        added["plugins"].as_array().unwrap().iter().map(|plugin| plugin["name"].as_str().unwrap()).collect();
    assert_eq!((names, &added["owner"]), (vec!["style", "away", "git"], &json!("Ada")), "{added}");
    assert_eq!(added["problems"][0]["place"], "plugins[3]", "{added}");
    let shown = world.run(&["plugin", "marketplace", "list"]).stdout;
    assert!(shown.contains("style@tools") && shown.contains("How we write"), "{shown}");
    let elsewhere = world.alice.run(&["plugin", "install", "git@tools", "--yes"]);
    assert!(
        elsewhere.code != 0 && elsewhere.stderr.contains("outside of GitHub, GitLab and Codeberg"),
        "{elsewhere:?}"
    );
    let unknown = world.alice.run(&["plugin", "install", "style@others", "--yes"]);
    assert!(unknown.code != 0 && unknown.stderr.contains("no marketplace"), "{unknown:?}");
    world.run(&["plugin", "install", "style@tools", "--yes"]);
    assert!(!update_of(&world, "style"));
    // Nothing changes before the marketplace is read again, and then only the update notice appears.
    put(&world.path("market/plugins/style/skills/write/SKILL.md"), &FIRST.replace("short", "very short"));
    assert!(!update_of(&world, "style"));
    let read = world.alice.json(&["plugin", "marketplace", "update", "--json"]);
    assert_eq!(read["marketplaces"][0]["plugins"][0]["has_update"], true, "{read}");
    assert!(update_of(&world, "style"));
    assert!(world.run(&["plugin", "list"]).stdout.contains("sandbridge plugin install style@tools"));
    world.run(&["plugin", "install", "style@tools", "--yes"]);
    assert!(!update_of(&world, "style"));
    // A link in a plugin could lead anywhere.
    std::os::unix::fs::symlink("/etc/passwd", world.path("market/plugins/style/link")).unwrap();
    let linked = world.alice.run(&["plugin", "install", "style@tools", "--yes"]);
    assert!(linked.code != 0 && linked.stderr.contains("link"), "{linked:?}");
    world.run(&["plugin", "marketplace", "remove", "tools"]);
    assert_eq!(world.alice.json(&["plugin", "marketplace", "list", "--json"])["marketplaces"], json!([]));
    assert_eq!(world.alice.json(&["plugin", "list", "--json"])["plugins"].as_array().unwrap().len(), 1);
}

#[test]
fn an_archive_is_a_marketplace_and_its_plugin_is_installed_by_name() {
    let archive = Arc::new(Mutex::new(Vec::new()));
    let pages = {
        let archive = Arc::clone(&archive);
        Pages::start(move |_| Page::Is("application/gzip", archive.lock().unwrap().clone()))
    };
    let world = World::with(|_| Reply::Say("done".to_owned()), &["--fetch-allow", "127.0.0.1"]);
    let root = world.alice.home().join("market-1.0");
    marketplace(&root, FIRST);
    *archive.lock().unwrap() = packed(&world.alice.home(), "market-1.0");
    let source = format!("http://127.0.0.1:{}/market.tar.gz", pages.port());
    world.run(&["plugin", "marketplace", "add", &source]);
    world.run(&["plugin", "install", "style@tools", "--yes"]);
    let list = world.alice.json(&["plugin", "list", "--json"]);
    assert_eq!(list["plugins"][0]["skills"][0]["name"], "style:write", "{list}");
    // Another marketplace with this name does not replace the known one without asking.
    marketplace(&world.path("market"), FIRST);
    let other = world.alice.run(&["plugin", "marketplace", "add", "runner:laptop:market"]);
    assert!(other.code != 0 && other.stderr.contains("marketplace remove tools"), "{other:?}");
    // Content that is no longer a valid archive is refused, and the known marketplace is kept.
    *archive.lock().unwrap() = b"nothing".to_vec();
    let broken = world.alice.run(&["plugin", "marketplace", "update", "tools"]);
    assert!(broken.code != 0 && broken.stderr.contains("cannot be read"), "{broken:?}");
    assert_eq!(
        world.alice.json(&["plugin", "marketplace", "list", "--json"])["marketplaces"][0]["name"],
        "tools"
    );
}

/// Packs a directory as git hosts do: all files are below one directory.
fn packed(above: &Path, name: &str) -> Vec<u8> {
    let tar = Command::new("tar").args(["-czf", "-", "-C"]).arg(above).arg(name).output().unwrap();
    assert!(tar.status.success(), "{tar:?}");
    tar.stdout
}

#[test]
fn repositories_of_other_git_hosts_are_marketplaces_and_plugins() {
    let archive = Arc::new(Mutex::new(Vec::new()));
    let pages = {
        let archive = Arc::clone(&archive);
        Pages::start(move |path| match path {
            "/api/v1/repos/ada/market" => {
                Page::Is("application/json", br#"{"default_branch": "trunk"}"#.to_vec())
            }
            "/api/v1/repos/ada/nameless" => Page::Is("application/json", b"{}".to_vec()),
            "/api/v4/projects/team%2Ftools%2Fmarket/repository/archive.tar.gz"
            | "/api/v4/projects/team%2Ftools%2Fmarket/repository/archive.tar.gz?sha=v1%2F2"
            | "/api/v1/repos/ada/market/archive/trunk.tar.gz"
            | "/api/v1/repos/ada/market/archive/v1.tar.gz" => {
                Page::Is("application/gzip", archive.lock().unwrap().clone())
            }
            _ => Page::Status(404),
        })
    };
    let world = World::with(|_| Reply::Say("done".to_owned()), &["--fetch-allow", "127.0.0.1"]);
    marketplace(&world.alice.home().join("market-abc"), FIRST);
    *archive.lock().unwrap() = packed(&world.alice.home(), "market-abc");
    let host = format!("http://127.0.0.1:{}", pages.port());
    let gitlab = format!("gitlab:{host}/team/tools/market");
    let forgejo = format!("forgejo:{host}/ada/market");
    for (source, directory) in [(&gitlab, "@v1/2#plugins/style"), (&forgejo, "@v1#plugins/style")] {
        world.run(&["plugin", "marketplace", "add", source]);
        world.run(&["plugin", "install", "style@tools", "--yes"]);
        assert!(!update_of(&world, "style"));
        // The next copy in the repository is detected by its hash.
        marketplace(&world.alice.home().join("market-abc"), &FIRST.replace("short", source));
        *archive.lock().unwrap() = packed(&world.alice.home(), "market-abc");
        world.run(&["plugin", "marketplace", "update"]);
        assert!(update_of(&world, "style"));
        world.run(&["plugin", "marketplace", "remove", "tools"]);
        world.run(&["plugin", "remove", "style"]);
        // A plugin is installed from a directory at a revision, and from a marketplace that was not added.
        for source in [format!("{source}{directory}"), format!("style@{source}")] {
            world.run(&["plugin", "install", &source, "--yes"]);
            let list = world.alice.json(&["plugin", "list", "--json"]);
            assert_eq!(
                (&list["plugins"][0]["source"], &list["plugins"][0]["skills"][0]["name"]),
                (&json!(source), &json!("style:write"))
            );
            world.run(&["plugin", "remove", "style"]);
        }
    }
    for (source, reason) in [
        (format!("forgejo:{host}/ada/nameless"), "does not name the main branch"),
        (format!("gitlab:{host}/ada/other"), "404"),
        ("gitlab:http://169.254.169.254/a/b".to_owned(), "address"),
        ("forgejo:ada/market".to_owned(), "not a source of a marketplace"),
    ] {
        let refused = world.alice.run(&["plugin", "marketplace", "add", &source]);
        assert!(refused.code != 0 && refused.stderr.contains(reason), "{source}: {refused:?}");
    }
}

#[test]
fn a_single_skill_or_role_is_private_until_it_is_shared() {
    let world = World::new(|_| Reply::Say("done".to_owned()));
    let bob = world.server.person("bob");
    put(&bob.home().join("release/SKILL.md"), "---\ndescription: How to release\n---\nTag it.");
    put(&bob.home().join("reviewer.md"), "---\ndescription: Only reviews\ntools: Read\n---\nYou review.");
    for (source, name, part) in [("release", "release", "skills"), ("reviewer.md", "reviewer", "roles")] {
        let path = bob.home().join(source);
        let installed = bob.run(&["plugin", "install", path.to_str().unwrap(), "--yes"]);
        assert_eq!(installed.code, 0, "{installed:?}");
        let shared = format!("shelf:bob/{name}");
        assert_ne!(world.alice.run(&["plugin", "install", &shared, "--yes"]).code, 0, "{name} is private");
        assert_eq!(bob.run(&["plugin", "share", name]).code, 0);
        let copy = world.alice.json(&["plugin", "install", &shared, "--yes", "--json"]);
        assert_eq!(copy[part][0]["name"], format!("{name}:{name}"), "{copy}");
    }
    world.chat("full");
    let prompt = system(&world.model.asked()[0]);
    assert!(prompt.contains("release:release: How to release"), "{prompt}");
    assert!(prompt.contains("reviewer:reviewer: Only reviews"), "{prompt}");
}

#[test]
fn a_shared_plugin_is_installed_by_others_as_a_copy_until_it_is_taken_off_the_shelf() {
    let world = World::new(|_| Reply::Say("done".to_owned()));
    let (bob, eve) = (world.server.person("bob"), world.server.person("eve"));
    let root = bob.home().join("style");
    put(&root.join("skills/write/SKILL.md"), FIRST);
    let run = |person: &tests::Person, words: &[&str]| {
        let output = person.run(words);
        assert_eq!(output.code, 0, "{words:?}: {output:?}");
        output.stdout
    };
    run(&bob, &["plugin", "install", root.to_str().unwrap(), "--yes"]);
    let hidden = eve.run(&["plugin", "install", "shelf:bob/style", "--yes"]);
    assert!(hidden.code != 0 && hidden.stderr.contains("shares no plugin"), "{hidden:?}");
    run(&bob, &["plugin", "share", "style"]);
    let shelf = eve.json(&["plugin", "shelf", "list", "--json"]);
    assert_eq!(
        (&shelf["plugins"][0]["source"], &shelf["plugins"][0]["own"]),
        (&json!("shelf:bob/style"), &json!(false))
    );
    run(&eve, &["plugin", "install", "shelf:bob/style", "--yes"]);
    // The owner's next copy is offered as an update, and replaces nothing by itself.
    fs::write(root.join("skills/write/SKILL.md"), FIRST.replace("short", "long")).unwrap();
    run(&bob, &["plugin", "install", root.to_str().unwrap(), "--yes"]);
    let list = eve.json(&["plugin", "list", "--json"]);
    assert_eq!(list["plugins"][0]["has_update"], true, "{list}");
    let denied = eve.run(&["plugin", "shelf", "remove", "bob/style"]);
    assert!(denied.code != 0 && denied.stderr.contains("administrators"), "{denied:?}");
    let key = Client::login(&world.server, "alice");
    assert_eq!(key.call("DELETE", "/shelf/bob/other").status, 404);
    world.run(&["plugin", "shelf", "remove", "bob/style"]);
    assert_eq!(eve.json(&["plugin", "shelf", "list", "--json"])["plugins"], json!([]));
    assert_eq!(bob.json(&["plugin", "list", "--json"])["plugins"][0]["shared"], false);
    assert_eq!(
        eve.json(&["plugin", "list", "--json"])["plugins"].as_array().unwrap().len(),
        1,
        "the installed copy is kept"
    );
    assert!(eve.run(&["plugin", "install", "shelf:bob/style", "--yes"]).code != 0);
}
