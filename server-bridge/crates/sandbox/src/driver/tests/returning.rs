//! A runner that announces that it will be back, as for an update: the requests that wait for it, and for how long.

use futures_util::SinkExt;
use proto::limits::{MAX_REQUESTS, MAX_RETURN_PROMISE};
use proto::request::Attach;
use proto::session::Close;

use super::resume::kind;
use super::*;
use crate::requirement::Requirement;

const PROMISED: Duration = Duration::from_secs(60);

impl World {
    /// The runner leaves for an update, and its process ends.
    async fn go_for_an_update(&mut self) {
        let goodbye = Close::back_within("the runner replaces its program", PROMISED);
        self.runner.link.send(LinkMessage::Binary(goodbye.to_frame())).await.unwrap();
        settle().await;
        assert!(self.router.runners("u1").is_empty(), "it is not shown as connected");
    }

    async fn fresh_sandbox(&self) -> Sandbox {
        self.router.for_user(&user(), &route_request()).await.unwrap()
    }
}

fn shell_line(request: &Request) -> &[u8] {
    match request {
        Request::Exec(exec) => match &exec.command {
            Command::Shell(line) => line,
            other => panic!("{other:?}"),
        },
        other => panic!("expected an exec, got {other:?}"),
    }
}

/// Lets the runner carry out one command and returns it.
async fn do_one(world: &mut World) -> Vec<u8> {
    let (stream, request) = world.runner.opened().await;
    world.runner.exit(stream, 0, 0);
    world.runner.flush().await;
    shell_line(&request).to_vec()
}

#[tokio::test(start_paused = true)]
async fn command_that_comes_while_the_runner_is_away_for_an_update_runs_when_it_is_back() {
    let mut world = world().await;
    let mut events = world.router.subscribe();
    world.go_for_an_update().await;
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Offline { .. }));
    assert_eq!(world.router.check(&user(), &route_request()).unwrap(), Target::Runner("laptop".to_owned()));
    let mut early = world.sandbox.exec(ExecRequest::shell("early")).await.unwrap();
    assert_eq!(early.next().await, Some(ExecEvent::Interrupted), "its reader learns of it after 2 s");
    let mut late = world.fresh_sandbox().await.exec(ExecRequest::shell("late")).await.unwrap();
    assert_eq!(late.next().await, Some(ExecEvent::Interrupted), "a later reader learns of it at once");
    let sandbox = world.sandbox.clone();
    let question = tokio::spawn(async move { sandbox.mkdir_all(b"d", 0o755).await });
    // Longer than requests wait for a lost link.
    tokio::time::sleep(PROMISED - Duration::from_secs(5)).await;
    world.connect_again(2, 2).await;
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }), "there was no takeover");
    let (stream, request) = world.runner.opened().await;
    assert!(matches!(request, Request::MkdirAll(_)), "{request:?}");
    world.runner.send(stream, Done {}, true);
    assert_eq!(do_one(&mut world).await, b"early");
    assert_eq!(do_one(&mut world).await, b"late");
    assert_eq!(question.await.unwrap(), Ok(()));
    for mut exec in [early, late] {
        assert_eq!(exec.next().await, Some(ExecEvent::Resumed));
        assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
    }
    // The handle continues with the new process.
    let exec = world.sandbox.exec(ExecRequest::shell("more")).await.unwrap();
    assert!(matches!(world.runner.next().await, Some(Event::Acknowledged(_))));
    assert!(matches!(world.runner.next().await, Some(Event::Acknowledged(_))));
    assert_eq!(do_one(&mut world).await, b"more");
    assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn what_crosses_the_goodbye_is_begun_by_the_next_process_once_and_whole() {
    let mut world = world().await;
    let exec = world.sandbox.exec(ExecRequest { stdin: true, ..ExecRequest::shell("cat") }).await.unwrap();
    exec.control().write_stdin(b"hello").await.unwrap();
    exec.control().close_stdin();
    let mut writer = world.sandbox.write_file(b"f", WriteOptions::default()).await.unwrap();
    writer.write(b"content").await.unwrap();
    let written = tokio::spawn(writer.finish());
    let sandbox = world.sandbox.clone();
    let signal = tokio::spawn(async move { sandbox.remove(b"g").await });
    settle().await;
    // All of it is in the link and not yet read by the runner.
    world.go_for_an_update().await;
    world.connect_again(2, 2).await;
    let mut seen = Vec::new();
    while seen.len() < 8 {
        match world.runner.next().await.unwrap() {
            Event::Opened(stream, Request::WriteFile(_)) => seen.push((stream, "write")),
            Event::Opened(stream, Request::Remove(_)) => seen.push((stream, "remove")),
            Event::Opened(stream, Request::Exec(exec)) => {
                assert_eq!(exec.command, Command::Shell(b"cat".to_vec()));
                seen.push((stream, "exec"));
            }
            Event::Data(stream, _, bytes) if bytes == "hello" => seen.push((stream, "hello")),
            Event::Data(stream, _, bytes) if bytes == "content" => seen.push((stream, "content")),
            Event::End(stream, _) => seen.push((stream, "end")),
            other => panic!("{other:?}"),
        }
        if seen.len() == 7 {
            break;
        }
    }
    let stream_of = |what: &str| seen.iter().find(|(_, name)| *name == what).unwrap().0;
    assert_eq!((stream_of("hello"), stream_of("content")), (stream_of("exec"), stream_of("write")));
    assert_eq!(seen.iter().filter(|(_, name)| *name == "end").count(), 2);
    world.runner.send(stream_of("remove"), Done {}, true);
    world.runner.send(stream_of("write"), proto::message::FileWritten { bytes: 7 }, true);
    world.runner.exit(stream_of("exec"), 0, 0);
    world.runner.flush().await;
    assert_eq!(signal.await.unwrap(), Ok(()));
    assert_eq!(written.await.unwrap(), Ok(7));
    assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn runner_that_does_not_come_back_in_time_is_offline_for_all_that_waited() {
    let mut world = world().await;
    let mut crossing = world.sandbox.exec(ExecRequest::shell("crossing")).await.unwrap();
    settle().await;
    world.go_for_an_update().await;
    let before = tokio::time::Instant::now();
    let mut waiting = world.sandbox.exec(ExecRequest::shell("waiting")).await.unwrap();
    let error = world.sandbox.stat(b"f").await.unwrap_err();
    assert!(before.elapsed().abs_diff(PROMISED) < Duration::from_secs(1), "{:?}", before.elapsed());
    assert_eq!(error.kind(), "offline");
    for exec in [&mut crossing, &mut waiting] {
        assert_eq!(exec.next().await, Some(ExecEvent::Interrupted));
        assert_eq!(kind(exec.next().await), "offline");
    }
    settle().await;
    assert_eq!(world.router.check(&user(), &route_request()).unwrap_err().kind(), "offline");
    // A later request starts from the beginning.
    world.connect_again(2, 2).await;
    assert_eq!(world.sandbox.stat(b"f").await.unwrap_err().kind(), "offline");
    let exec = world.fresh_sandbox().await.exec(ExecRequest::shell("anew")).await.unwrap();
    assert_eq!(do_one(&mut world).await, b"anew");
    assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn promise_without_end_counts_as_90_s_and_none_ends_the_life() {
    let mut world = world().await;
    let endless = Close { pause: Duration::MAX, ..Close::back_within("for ever", PROMISED) };
    world.runner.link.send(LinkMessage::Binary(endless.to_frame())).await.unwrap();
    settle().await;
    let before = tokio::time::Instant::now();
    assert_eq!(world.sandbox.stat(b"f").await.unwrap_err().kind(), "offline");
    assert!(before.elapsed().abs_diff(MAX_RETURN_PROMISE) < Duration::from_secs(1), "{:?}", before.elapsed());

    world.connect_again(2, 2).await;
    world.sandbox = world.fresh_sandbox().await;
    let plain = Close::new(CloseCode::GoingAway, "the runner stops");
    world.runner.link.send(LinkMessage::Binary(plain.to_frame())).await.unwrap();
    settle().await;
    assert_eq!(world.sandbox.stat(b"f").await.unwrap_err().kind(), "offline");
    assert_eq!(world.router.check(&user(), &route_request()).unwrap_err().kind(), "offline");
}

#[tokio::test(start_paused = true)]
async fn what_the_runner_had_begun_against_its_word_is_lost_and_never_begun_twice() {
    let mut world = world().await;
    let mut exec = world.sandbox.exec(ExecRequest::shell("begun")).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, ExecStarted { pid: 7 }, false);
    world.runner.flush().await;
    assert_eq!(exec.next().await, Some(ExecEvent::Started { pid: 7 }));
    // This request may have begun over an earlier link.
    let mut earlier = world.sandbox.exec(ExecRequest::shell("earlier")).await.unwrap();
    world.runner.opened().await;
    world.cut_and_connect().await;
    let ids =
        [world.runner.attached().await.1, world.runner.attached().await.1].map(|attach: Attach| attach.id);
    assert_eq!(ids, [exec.exec_id(), earlier.exec_id()]);
    world.go_for_an_update().await;
    assert_eq!(kind(exec.next().await), "lost");
    assert_eq!(kind(earlier.next().await), "lost");
    world.connect_again(3, 2).await;
    let next = world.sandbox.exec(ExecRequest::shell("next")).await.unwrap();
    assert_eq!(do_one(&mut world).await, b"next");
    assert_eq!(next.collect(0).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn user_who_switches_meanwhile_works_elsewhere_and_what_waits_stays_where_it_was_sent() {
    let mut world = world().await;
    world.go_for_an_update().await;
    let waiting = world.sandbox.exec(ExecRequest::shell("for the laptop")).await.unwrap();
    let (server_end, runner_end) = memory_link();
    let serving = world.router.clone();
    let _served = tokio::spawn(async move { serving.serve_remote(server_end, admit).await });
    let mut desk = ScriptedRunner::connect(runner_end, "u1:desk:1", 5).await;
    settle().await;
    let registered = vec!["desk".to_owned(), "laptop".to_owned()];
    let route_request = RouteRequest { choice: Choice::parse(Some("desk")), registered };
    let sandbox = world.router.for_user(&user(), &route_request).await.unwrap();
    let switched = sandbox.exec(ExecRequest::shell("for the desk")).await.unwrap();
    let (stream, request) = desk.opened().await;
    assert_eq!(shell_line(&request), b"for the desk");
    desk.exit(stream, 3, 0);
    desk.flush().await;
    assert_eq!(switched.collect(0).await.unwrap().outcome.code, Some(3));
    world.connect_again(2, 2).await;
    assert_eq!(do_one(&mut world).await, b"for the laptop");
    assert_eq!(waiting.collect(0).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn revoked_runner_and_server_that_stops_end_the_waiting_at_once() {
    for is_revoked in [true, false] {
        let mut world = world().await;
        world.go_for_an_update().await;
        let mut waiting = world.sandbox.exec(ExecRequest::shell("x")).await.unwrap();
        let before = tokio::time::Instant::now();
        if is_revoked {
            world.router.disconnect("u1", "laptop", Disconnect::Revoked);
        } else {
            world.router.shutdown().await;
        }
        assert_eq!(kind(waiting.next().await), "offline");
        assert!(before.elapsed() < Duration::from_secs(1), "{:?}", before.elapsed());
        assert_eq!(world.sandbox.stat(b"f").await.unwrap_err().kind(), "offline");
        assert_eq!(world.router.check(&user(), &route_request()).unwrap_err().kind(), "offline");
    }
}

#[tokio::test(start_paused = true)]
async fn as_many_wait_as_may_be_under_way_and_all_of_them_run_once_in_their_order() {
    let mut world = world().await;
    world.go_for_an_update().await;
    let mut waiting = Vec::new();
    for number in 0..MAX_REQUESTS {
        waiting.push(world.sandbox.exec(ExecRequest::shell(format!("{number}"))).await.unwrap());
    }
    let error = world.sandbox.exec(ExecRequest::shell("one too many")).await.unwrap_err();
    assert_eq!(error.kind(), "busy");
    world.connect_again(2, 2).await;
    let runner = tokio::spawn(async move {
        let mut lines = Vec::new();
        while lines.len() < MAX_REQUESTS {
            match world.runner.next().await.unwrap() {
                Event::Opened(stream, request) => {
                    lines.push(String::from_utf8(shell_line(&request).to_vec()).unwrap());
                    world.runner.exit(stream, 0, 0);
                }
                Event::Acknowledged(_) => {}
                other => panic!("{other:?}"),
            }
        }
        world.runner.flush().await;
        (lines, world)
    });
    for exec in waiting {
        assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
    }
    let (lines, _world) = runner.await.unwrap();
    assert_eq!(lines, (0..MAX_REQUESTS).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn cancelled_waiter_never_reaches_the_runner() {
    let mut world = world().await;
    let crossing = world.sandbox.exec(ExecRequest::shell("crossing")).await.unwrap();
    crossing.control().cancel();
    settle().await;
    world.go_for_an_update().await;
    let mut cancelled = world.sandbox.exec(ExecRequest::shell("cancelled")).await.unwrap();
    cancelled.control().cancel();
    assert_eq!(kind(cancelled.next().await), "cancelled");
    drop(world.sandbox.exec(ExecRequest::shell("abandoned")).await.unwrap());
    let sandbox = world.sandbox.clone();
    let given_up = tokio::time::timeout(Duration::from_secs(1), async move { sandbox.stat(b"f").await });
    assert!(given_up.await.is_err());
    drop(crossing);
    let kept = world.sandbox.exec(ExecRequest::shell("kept")).await.unwrap();
    world.connect_again(2, 2).await;
    assert_eq!(do_one(&mut world).await, b"kept");
    assert_eq!(kept.collect(0).await.unwrap().outcome.code, Some(0));
    assert!(matches!(world.runner.next().await, Some(Event::Acknowledged(_))), "nothing else was sent");
}

#[tokio::test(start_paused = true)]
async fn process_that_lacks_what_is_required_gets_nothing_of_what_waited() {
    let layer = |holds| Layer { name: "landlock".to_owned(), holds, detail: String::new() };
    let require: Requirement = "landlock".parse().unwrap();
    let router = SandboxRouter::new(RouterConfig { require, ..RouterConfig::default() });
    let connect = async |epoch: u64, boot, holds| {
        let (server_end, runner_end) = memory_link();
        let serving = router.clone();
        tokio::spawn(async move { serving.serve_remote(server_end, admit).await });
        let facts = proto::handshake::Facts { layers: vec![layer(holds)], ..facts(boot) };
        let runner = ScriptedRunner::connect_with(runner_end, &format!("u1:laptop:{epoch}"), facts).await;
        settle().await;
        runner
    };
    let mut runner = connect(1, 1, true).await;
    let sandbox = router.for_user(&user(), &route_request()).await.unwrap();
    let goodbye = Close::back_within("the runner replaces its program", PROMISED);
    runner.link.send(LinkMessage::Binary(goodbye.to_frame())).await.unwrap();
    settle().await;
    let mut waiting = sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    let mut weaker = connect(2, 2, false).await;
    assert_eq!(kind(waiting.next().await), "offline");
    assert_eq!(router.for_user(&user(), &route_request()).await.unwrap_err().kind(), "denied");
    assert!(tokio::time::timeout(Duration::from_secs(1), weaker.next()).await.is_err(), "nothing was sent");
}
