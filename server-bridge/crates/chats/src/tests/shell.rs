//! Tests of `!command`, from its start to its record.

use super::runner::fill;
use super::*;
use crate::limits::{
    OUTPUT_DIRECTORY, OUTPUT_HEAD_CHARS, OUTPUT_IGNORE_PATH, OUTPUT_TAIL_CHARS, OUTPUTS_KEPT,
    RUNNING_PER_CHAT,
};

#[tokio::test]
async fn a_command_streams_and_ends_with_its_code_its_time_and_its_place() {
    let mut bench = Bench::new().await;
    let _runner = bench.connect("laptop").await;
    let posted = bench.post("!out:hello err:oops exit:3").await;
    let shown = &posted.messages[1];
    assert_eq!((shown.role, shown.text.as_str()), (MessageRole::Exec, ""));
    let running = document(shown);
    assert_eq!((running.status.as_str(), running.runner.as_deref()), ("running", Some("laptop")));
    let (message, document, told) = bench.ended(shown.id).await;
    assert_eq!((message.text.as_str(), told.as_str()), ("hellooops", "hellooops"));
    assert_eq!((document.status.as_str(), document.exit_code), ("exited", Some(3)));
    assert_eq!((document.stdout_bytes, document.stderr_bytes), (5, 4));
    assert!(document.duration_ms.is_some() && document.error.is_none() && document.output_path.is_none());
    let record = bench.record(&document).await;
    assert_eq!((record.status, record.exit_code), (ExecStatus::Exited, Some(3)));
    assert_eq!(
        (record.runner.as_deref(), record.command.as_str()),
        (Some("laptop"), "out:hello err:oops exit:3")
    );
    let audit = &bench.store.audit(1, None).await.unwrap()[0];
    assert_eq!((audit.action.as_str(), audit.outcome.as_str()), ("exec", "exit 3"));
    assert_eq!((audit.user.as_deref(), audit.location.as_deref()), (Some("ada"), Some("laptop")));
}

#[tokio::test]
async fn the_chats_binding_comes_before_the_active_runner() {
    let mut bench = Bench::new().await;
    let (mut laptop, mut work) = (bench.connect("laptop").await, bench.connect("work").await);
    bench.store.set_active_runner(bench.user.id, Some("laptop")).await.unwrap();
    let id = bench.post("!out:a").await.messages[1].id;
    assert_eq!(bench.ended(id).await.1.runner.as_deref(), Some("laptop"));
    bench.ask("/runner work").await;
    let id = bench.post("!out:b").await.messages[1].id;
    assert_eq!(bench.ended(id).await.1.runner.as_deref(), Some("work"));
    assert_eq!(laptop.started.try_recv().unwrap(), "out:a");
    assert_eq!(work.started.try_recv().unwrap(), "out:b");
    assert!(laptop.started.try_recv().is_err() && work.started.try_recv().is_err());
}

#[tokio::test]
async fn an_offline_runner_is_an_error_at_once_and_never_another_machine() {
    let bench = Bench::new().await;
    let mut laptop = bench.connect("laptop").await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("work").unwrap()).await.unwrap();
    bench.store.set_active_runner(bench.user.id, Some("work")).await.unwrap();
    let answer = bench.ask("!out:x").await;
    let document = document(&answer);
    assert_eq!(document.status, "failed");
    assert!(document.error.as_deref().unwrap().contains("runner work is offline"), "{document:?}");
    assert_eq!(bench.record(&document).await.status, ExecStatus::Failed);
    assert_eq!(bench.store.audit(1, None).await.unwrap()[0].outcome, "offline");
    assert!(laptop.started.try_recv().is_err());
}

#[tokio::test]
async fn characters_split_over_pieces_and_invalid_bytes_come_out_right() {
    let mut bench = Bench::new().await;
    let _runner = bench.connect("laptop").await;
    let id = bench.post("!bytes:e2 err:x bytes:82 bytes:acff").await.messages[1].id;
    let (message, _, told) = bench.ended(id).await;
    assert_eq!((message.text.as_str(), told.as_str()), ("x€\u{fffd}", "x€\u{fffd}"));
}

#[tokio::test]
async fn a_long_output_is_kept_whole_and_shown_as_head_and_tail() {
    let mut bench = Bench::new().await;
    let runner = bench.connect("laptop").await;
    let id = bench.post("!fill:700000").await.messages[1].id;
    let (message, document, _) = bench.ended(id).await;
    let whole = String::from_utf8(fill(700_000)).unwrap();
    let path = document.output_path.clone().unwrap();
    assert_eq!(path, format!(".sandbridge/output/{}.log", document.exec_id));
    assert!(runner.files.written.lock().unwrap()[&path] == whole.as_bytes());
    let line = format!("… 696,000 characters left out; the whole output is in {path} on laptop …");
    assert!(message.text.starts_with(&whole[..OUTPUT_HEAD_CHARS]) && message.text.contains(&line));
    assert!(message.text.ends_with(&whole[whole.len() - OUTPUT_TAIL_CHARS..]));
    assert_eq!(bench.record(&document).await.output_path, Some(path));
    assert!(!document.truncated);
}

#[tokio::test]
async fn kept_outputs_are_hidden_from_version_control_unless_their_user_decided() {
    let mut bench = Bench::new().await;
    let runner = bench.connect("laptop").await;
    let id = bench.post("!fill:5000").await.messages[1].id;
    bench.ended(id).await;
    let written = |path: &str| runner.files.written.lock().unwrap()[path].clone();
    assert_eq!(written(OUTPUT_IGNORE_PATH), b"*\n");
    runner.files.put(OUTPUT_IGNORE_PATH, 1);
    let id = bench.post("!fill:5000").await.messages[1].id;
    bench.ended(id).await;
    assert_eq!(written(OUTPUT_IGNORE_PATH), b"", "it was there already");
}

#[tokio::test]
async fn only_the_newest_outputs_are_kept_and_nothing_else_is_touched() {
    let mut bench = Bench::new().await;
    let runner = bench.connect("laptop").await;
    let old = |age: u8| format!("{OUTPUT_DIRECTORY}/{}.log", store::ExecId::from_bytes([age; 16]));
    let surplus = 3;
    let oldest = 1..=surplus;
    for age in 1..u8::try_from(OUTPUTS_KEPT).unwrap() + surplus {
        runner.files.put(&old(age), i64::from(age));
    }
    let of_the_user = format!("{OUTPUT_DIRECTORY}/notes.log");
    runner.files.put(&of_the_user, 0);
    let id = bench.post("!fill:5000").await.messages[1].id;
    let new = bench.ended(id).await.1.output_path.unwrap();
    // The removal runs after the command's end, and a shutdown waits for its task.
    let removed = async {
        while oldest.clone().any(|age| runner.files.written.lock().unwrap().contains_key(&old(age))) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, removed).await.expect("the oldest are removed in time");
    bench.service.shutdown().await;
    let files = runner.files.written.lock().unwrap();
    assert!(files.contains_key(&new) && files.contains_key(&of_the_user));
    assert!(files.contains_key(&old(surplus + 1)), "the oldest that is among the newest");
    assert_eq!(files.len(), OUTPUTS_KEPT + [&of_the_user, OUTPUT_IGNORE_PATH].len());
}

#[tokio::test]
async fn an_output_that_cannot_be_kept_is_said_to_be() {
    let mut bench = Bench::new().await;
    let runner = bench.connect("laptop").await;
    *runner.files.refuse.lock().unwrap() = true;
    let id = bench.post("!fill:5000").await.messages[1].id;
    let (message, document, _) = bench.ended(id).await;
    let line = "1,000 characters left out; the whole output could not be kept: the workspace is read-only";
    assert!(message.text.contains(line), "{}", message.text);
    assert!(document.output_path.is_none() && document.truncated && document.status == "exited");
}

#[tokio::test]
async fn cancel_stops_what_runs_in_the_chat_and_keeps_what_it_wrote() {
    let mut bench = Bench::new().await;
    let mut runner = bench.connect("laptop").await;
    let first = bench.post("!out:a wait").await.messages[1].id;
    let second = bench.post("!wait").await.messages[1].id;
    for _ in 0..2 {
        runner.started.recv().await.unwrap();
    }
    assert!(bench.ask("/cancel").await.text.contains("The 2 running"));
    for id in [first, second] {
        let stored = loop {
            let message = bench.store.message(bench.user.id, id).await.unwrap();
            if document(&message).status != "running" {
                break message;
            }
            bench.next_event().await;
        };
        assert_eq!(document(&stored).status, "cancelled");
        assert_eq!(stored.text, if id == first { "a" } else { "" });
    }
    assert_eq!(bench.service.cancel(bench.user.id, &bench.chat.id).await.unwrap(), 0);
}

#[tokio::test]
async fn every_end_has_its_state() {
    let mut bench = Bench::new().await;
    let _runner = bench.connect("laptop").await;
    for (command, status, told) in [
        ("!signal:9", "signaled", ""),
        ("!out:part timeout", "timed_out", "120 s"),
        ("!missing", "failed", "no such program"),
    ] {
        let id = bench.post(command).await.messages[1].id;
        let (_, document, _) = bench.ended(id).await;
        assert_eq!(document.status, status, "{command}");
        assert!(document.error.unwrap_or_default().contains(told), "{command}");
    }
}

#[tokio::test]
async fn a_runner_that_is_started_anew_makes_a_command_lost() {
    let mut bench = Bench::new().await;
    let mut runner = bench.connect("laptop").await;
    let id = bench.post("!out:part wait").await.messages[1].id;
    runner.started.recv().await.unwrap();
    drop(runner);
    let key = execs::sandbox_user(&bench.user).key;
    let _anew = ScriptedRunner::begin(2, &bench.router, &key, "laptop").await;
    let (_, document, _) = bench.ended(id).await;
    assert_eq!(document.status, "lost");
    assert!(document.error.unwrap().contains("laptop"));
}

#[tokio::test]
async fn a_running_commands_output_so_far_is_in_its_message() {
    let mut bench = Bench::new().await;
    let runner = bench.connect("laptop").await;
    let id = bench.post("!out:sofar wait exit:0").await.messages[1].id;
    while !matches!(bench.next_event().await, ChatEvent::Output { .. }) {}
    let mut page = bench.store.messages(bench.user.id, &bench.chat.id, None, 10).await.unwrap().0;
    assert_eq!(page[1].text, "");
    bench.service.fill_live(bench.user.id, &mut page);
    assert_eq!(page[1].text, "sofar");
    runner.release();
    assert_eq!(bench.ended(id).await.0.text, "sofar");
}

#[tokio::test]
async fn a_chat_runs_only_so_many_commands_at_once() {
    let bench = Bench::new().await;
    let _runner = bench.connect("laptop").await;
    for _ in 0..RUNNING_PER_CHAT {
        assert_eq!(bench.post("!wait").await.messages[1].role, MessageRole::Exec);
    }
    let answer = bench.ask("!wait").await;
    assert_eq!(answer.role, MessageRole::Notice);
    assert!(answer.text.contains("32 commands are") && answer.text.contains("/cancel"), "{}", answer.text);
    assert_eq!(bench.service.cancel(bench.user.id, &bench.chat.id).await.unwrap(), RUNNING_PER_CHAT);
}

#[tokio::test]
async fn a_shutdown_waits_for_what_is_being_posted() {
    let bench = Bench::new().await;
    let _runner = bench.connect("laptop").await;
    let shutdown = async {
        bench.service.shutdown().await;
        bench.store.messages(bench.user.id, &bench.chat.id, None, 10).await.unwrap().0
    };
    let (_, messages) = tokio::join!(bench.post("!wait"), shutdown);
    assert_eq!(messages.len(), 2);
    assert_eq!(document(&messages[1]).status, "cancelled");
}
