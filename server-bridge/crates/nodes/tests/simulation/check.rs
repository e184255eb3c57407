//! Checks the invariants once nothing is in progress any more.

use std::collections::HashSet;

use execs::follow::sandbox_id;
use store::{ChatId, ExecId, UserId};

use crate::client::{Known, Posted};
use crate::database::Database;
use crate::job::{Script, totals};
use crate::machine::Hand;
use crate::schedule::Happened;

/// A command of the schedule.
pub(crate) struct Command {
    pub(crate) id: ExecId,
    pub(crate) place: String,
    pub(crate) script: Script,
}

/// Checks that the record of a command agrees with its machine and with what its client received.
pub(crate) async fn command(
    database: &mut Database,
    hands: &[Hand],
    command: &Command,
    known: &Known,
    happened: &mut Happened,
) {
    let Command { id, place, script } = command;
    let exec_id = sandbox_id(id);
    for hand in hands {
        let machine = hand.lock();
        assert!(
            machine.number() == script.machine || !machine.jobs.contains_key(&exec_id),
            "{id} ran elsewhere"
        );
    }
    let job = hands.iter().find_map(|hand| hand.lock().jobs.get(&exec_id).cloned());
    let Some(recorded) = database.recorded(id.as_str()).await else {
        assert!(job.is_none(), "{id} ran and is not on record");
        assert!(matches!(known, Known::Failed(_)), "{id} is not on record: {known:?}");
        happened.refused += 1;
        return;
    };
    let told = format!("{id}: {recorded:?}, on its machine {job:?}, its client knows {known:?}");
    assert_eq!(recorded.runner.as_ref(), Some(place), "{told}");
    let word = match (recorded.status.as_str(), &job) {
        ("exited", Some(job)) => {
            assert!(!job.is_cancelled && job.has_ended(), "{told}");
            assert_eq!(recorded.exit_code, Some(script.code), "{told}");
            assert_eq!(recorded.bytes, <[u64; 2]>::from(totals(script.length)), "{told}");
            happened.exited += 1;
            if script.code == 0 { "ok".to_owned() } else { format!("exit {}", script.code) }
        }
        ("cancelled", Some(job)) => {
            assert!(job.is_cancelled, "{told}");
            assert_eq!(recorded.bytes, <[u64; 2]>::from(totals(job.produced)), "{told}");
            happened.cancelled += 1;
            "cancelled".to_owned()
        }
        // The command was cancelled before it reached its machine.
        ("cancelled", None) => {
            assert_eq!(recorded.bytes, [0, 0], "{told}");
            happened.cancelled += 1;
            "cancelled".to_owned()
        }
        // The command never began, or the runner's process ended and took its state with it.
        ("lost", None) => {
            happened.never_began += 1;
            "lost".to_owned()
        }
        ("lost", Some(job)) => {
            assert!(job.is_forgotten && !job.is_acknowledged, "{told}");
            happened.lost += 1;
            "lost".to_owned()
        }
        ("failed", None) => {
            happened.refused += 1;
            "offline".to_owned()
        }
        _ => panic!("{told}"),
    };
    let entries = recorded.entries.iter().filter(|entry| **entry == word).count();
    let is_once = if word == "offline" { entries >= 1 } else { entries == 1 };
    assert!(is_once, "{word} is in the audit trail {entries} times. {told}");
    if let Some(job) = &job {
        let is_final = !["lost", "failed"].contains(&recorded.status.as_str());
        assert!(!job.is_acknowledged || is_final, "acknowledged and not on record: {told}");
    }
    match known {
        Known::Exit { code, is_cancelled, has_bytes, gap_bytes } => {
            assert_eq!(*is_cancelled, recorded.status == "cancelled", "{told}");
            assert_eq!(*code, recorded.exit_code, "{told}");
            happened.gap_bytes += gap_bytes;
            assert!(*has_bytes <= recorded.bytes.iter().sum(), "{told}");
        }
        Known::Detached => {}
        Known::Failed(kind) => {
            // A client whose output was lost with the runner gets the error `lost`, even if the end is on record.
            let is_forgotten = kind == "lost" && job.as_ref().is_some_and(|job| job.is_forgotten);
            let is_recorded =
                ["lost", "failed"].contains(&recorded.status.as_str()) || *kind == recorded.status;
            let is_known = is_forgotten || is_recorded;
            assert!(is_known, "its client was told {kind}. {told}");
        }
    }
}

/// Checks that every acknowledged message is stored once and in order, and that no refused message is stored.
pub(crate) async fn messages(
    database: &Database,
    user: UserId,
    chat: &ChatId,
    posted: &Posted,
    happened: &mut Happened,
) {
    let (messages, _) = database.store.messages(user, chat, None, 1_000).await.unwrap();
    let texts: Vec<String> = messages.into_iter().map(|message| message.text).collect();
    let once: HashSet<&String> = texts.iter().collect();
    assert_eq!(once.len(), texts.len(), "a message is stored twice: {texts:?}");
    let known: Vec<&String> = texts.iter().filter(|text| posted.acknowledged.contains(text)).collect();
    assert_eq!(known, posted.acknowledged.iter().collect::<Vec<_>>(), "of {texts:?}");
    let refused: Vec<_> = posted.refused.iter().filter(|text| texts.contains(text)).collect();
    assert!(refused.is_empty(), "{refused:?} were refused and are stored");
    happened.messages += posted.acknowledged.len() as u64;
}
