//! The exec attack corpus: attacks of a command on its machine, tried with every layer, and with some layers left out.
//!
//! | module | contents |
//! |---|---|
//! | `corpus` | the attacks, each with the layers that stop it |
//! | `probe.c` | the attacks that need direct system calls |
//! | `world` | the machine that is attacked: secrets, sockets, neighbours, a terminal |
//! | `essential` | some of the attacks on the other backends |
//! | `runs` | running the whole corpus through one runner, or without one |
//!
//! One rule gives the expected result of each attack in each run: it gets through if, according to the runner's own report, all layers of one of its
//! ways are missing, and not otherwise. So a test fails if a layer is reported but not enforced, or if an attack cannot succeed at all. If the kernel
//! lacks the attacked feature, the summary reports that (`--no-capture` shows the summary).

mod corpus;
mod essential;
mod runs;
mod world;

use std::collections::BTreeSet;
use std::sync::Mutex;

use corpus::layer::{CAPABILITIES, CLOSED, HOME, IPC, LANDLOCK, MOUNTS, NO_NEW_PRIVS, PIDS, SCOPE, SECCOMP};
use corpus::{ATTACKS, SURVIVORS};
use runs::{Guard, Outcome, Runner, attack_unguarded, is_open};
use world::World;

const LAYERS: &[&str] =
    &[MOUNTS, PIDS, IPC, LANDLOCK, SCOPE, SECCOMP, CAPABILITIES, NO_NEW_PRIVS, HOME, CLOSED];

/// Layers that depend on `no-new-privs`.
const ON_NO_NEW_PRIVS: &[&str] = &[LANDLOCK, SCOPE, SECCOMP];

/// The number of simultaneous runs, which is small because starting runners takes processor time.
const WORKERS: usize = 2;

/// Returns the sets of layers to leave out: none, each single layer, all layers but one, and all layers.
fn guards(is_root: bool) -> Vec<Guard> {
    let mut sets: Vec<BTreeSet<&'static str>> = vec![BTreeSet::new(), LAYERS.iter().copied().collect()];
    for layer in LAYERS.iter().copied() {
        if layer != NO_NEW_PRIVS {
            sets.push([layer].into());
        }
        // An ordinary user's mounts need a namespace that is created together with the PID namespace, so testing a single layer shows little.
        if is_root {
            let stays =
                |other: &&str| *other == layer || *other == NO_NEW_PRIVS && ON_NO_NEW_PRIVS.contains(&layer);
            sets.push(LAYERS.iter().copied().filter(|other| !stays(other)).collect());
        }
    }
    sets.into_iter().map(Guard::Without).chain([Guard::FullControl]).collect()
}

/// Runs the attacks under all guards, some at a time; checks the survivors of commands under a few of them.
fn attack_all(world: &World) -> Vec<Outcome> {
    let waiting = Mutex::new(guards(world.is_root).into_iter().enumerate().collect::<Vec<_>>());
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some((index, guard)) = waiting.lock().unwrap().pop() else { return };
            let mut runner = Runner::start(world, &format!("r{index}"), &guard);
            let outcome = runner.attack(&guard);
            if matches!(&guard, Guard::Without(set) if set.is_empty() || set.iter().eq([&SECCOMP])) {
                check_survivors(&outcome, world.is_root, &runner.survivors());
            }
            outcomes.lock().unwrap().push(outcome);
        }
    };
    std::thread::scope(|scope| (0..WORKERS).for_each(|_| drop(scope.spawn(work))));
    let (unguarded, survivors) = attack_unguarded(world);
    check_survivors(&unguarded, world.is_root, &survivors);
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.push(unguarded);
    outcomes
}

fn check_survivors(outcome: &Outcome, is_root: bool, survivors: &BTreeSet<String>) {
    let kinds = SURVIVORS.iter().filter(|(kind, _)| is_root || *kind != "other");
    let expected: BTreeSet<String> =
        kinds.filter(|(_, ways)| is_open(&outcome.gone, ways)).map(|(kind, _)| (*kind).to_owned()).collect();
    assert_eq!(
        *survivors, expected,
        "{:?}: the processes that survived their stopped command",
        outcome.guard
    );
}

fn check(is_root: bool) {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("only root can build the machine that is attacked");
    }
    let world = World::new(is_root);
    let outcomes = attack_all(&world);
    let surprises: Vec<_> = outcomes.iter().flat_map(|outcome| outcome.surprises(is_root)).collect();
    summarize(&outcomes, is_root);
    assert!(surprises.is_empty(), "{} surprises:\n{}", surprises.len(), surprises.join("\n"));
}

/// Prints what each guard let through, and what could not be tested.
fn summarize(outcomes: &[Outcome], is_root: bool) {
    for outcome in outcomes {
        let through = ATTACKS.iter().zip(&outcome.codes).filter(|(_, code)| **code == 0);
        let names: Vec<_> = through.map(|(attack, _)| attack.name).collect();
        let what = match &outcome.guard {
            Guard::Without(set) if set.len() < 2 => format!(": {}", names.join(", ")),
            Guard::Without(_) | Guard::FullControl | Guard::Nothing => String::new(),
        };
        eprintln!("{:?}: {} of {} got through{what}", outcome.guard, names.len(), ATTACKS.len());
    }
    for (index, attack) in ATTACKS.iter().enumerate() {
        if attack.ways(is_root).is_empty() {
            eprintln!("the account lacks the rights, with or without a sandbox: {}", attack.name);
        } else if outcomes.iter().all(|outcome| outcome.codes[index] != 0) {
            eprintln!("not provable here: {}", attack.name);
        }
    }
}

#[test]
fn each_reported_layer_holds_for_commands_of_roots_runner() {
    check(true);
}

#[test]
fn each_reported_layer_holds_for_commands_of_an_ordinary_users_runner() {
    check(false);
}

#[test]
fn the_corpus_is_large_and_its_names_are_unique() {
    let names: BTreeSet<_> = ATTACKS.iter().map(|attack| attack.name).collect();
    assert_eq!(names.len(), ATTACKS.len());
    assert!(names.len() >= 40);
}
