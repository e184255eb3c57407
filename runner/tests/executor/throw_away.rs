//! Read-only commands leave nothing behind that a later command with more rights would run.

use proto::request::{Exec, Profile as WireProfile, Pty};
use runner::layers::Profile;

use crate::world::{Outcome, World, shell};

/// Files that other programs obey or run if they find them.
const TRAPS: &[&str] = &[
    "$HOME/.bashrc",
    "$HOME/.profile",
    "$HOME/.ssh/config",
    "$HOME/.local/bin/make",
    "$HOME/.sandbridge/bin/tool",
    "$HOME/.config/autostart/x.desktop",
    "$HOME/.config/git/hooks/post-checkout",
    "$HOME/.cargo/config.toml",
    "$HOME/.npm/trap",
    "${XDG_CONFIG_HOME:-$HOME/.config}/trap",
    "${XDG_CACHE_HOME:-$HOME/.cache}/trap",
    "/tmp/trap",
    "/var/tmp/trap",
    "/dev/shm/trap",
];

fn plant() -> String {
    let each =
        TRAPS.iter().map(|trap| format!("p=\"{trap}\"; mkdir -p \"${{p%/*}}\" && echo planted > \"$p\" && "));
    let git = "git config --global core.fsmonitor planted && git config --global --get core.fsmonitor";
    each.collect::<String>() + git
}

fn look() -> String {
    let each = TRAPS.iter().map(|trap| format!("if [ -e \"{trap}\" ]; then echo \"{trap}\"; fi; "));
    each.collect::<String>() + "git config --global --get core.fsmonitor; test -w \"$HOME\" && echo home"
}

async fn run(world: &mut World, profile: Option<WireProfile>, script: &str) -> Outcome {
    world.peer.exec(Exec { profile, ..shell(script) }).await
}

#[test]
fn what_a_read_only_command_plants_is_there_for_no_later_one() {
    World::run(async |world| {
        let planted = run(world, Some(WireProfile::ReadOnly), &plant()).await;
        assert_eq!(planted.text(), "planted\n", "it may write while it runs");
        for later in [None, Some(WireProfile::Workspace), Some(WireProfile::ReadOnly)] {
            assert_eq!(run(world, later, &look()).await.text(), "home\n", "{later:?}");
        }
    });
}

#[test]
fn what_a_read_only_terminal_plants_is_gone_as_well() {
    World::run(async |world| {
        let pty = Some(Pty { rows: 24, columns: 80, term: "xterm".to_owned() });
        let request = Exec { profile: Some(WireProfile::ReadOnly), pty, ..shell(&plant()) };
        assert!(world.peer.exec(request).await.text().contains("planted"));
        assert_eq!(run(world, None, &look()).await.text(), "home\n");
    });
}

#[test]
fn a_read_only_runner_forgets_between_its_commands() {
    World::run_under(Profile::ReadOnly, async |world| {
        assert_eq!(run(world, None, &plant()).await.text(), "planted\n");
        assert_eq!(run(world, None, &look()).await.text(), "home\n");
    });
}

#[test]
fn a_read_only_command_finds_nothing_of_what_others_left_in_their_home() {
    World::run(async |world| {
        assert_eq!(run(world, None, &plant()).await.text(), "planted\n");
        let seen = run(world, Some(WireProfile::ReadOnly), &look()).await;
        assert_eq!(seen.text(), "home\n");
        // The initial files of every home are there.
        assert_eq!(run(world, Some(WireProfile::ReadOnly), "ls ~/.gitconfig | wc -l").await.text(), "1\n");
        let kept = run(world, None, "cat ~/.bashrc").await;
        assert_eq!(kept.text(), "planted\n", "and theirs is as it was");
    });
}

#[test]
fn what_a_read_only_command_leaves_running_reaches_no_later_one() {
    World::run(async |world| {
        let script = "(sleep 600 </dev/null >/dev/null 2>&1 &) ; echo x > ~/mark; echo started";
        assert_eq!(run(world, Some(WireProfile::ReadOnly), script).await.text(), "started\n");
        let later = "test -e ~/mark || echo none";
        assert_eq!(run(world, Some(WireProfile::ReadOnly), later).await.text(), "none\n");
        assert_eq!(run(world, None, later).await.text(), "none\n");
    });
}
