//! Runners of an earlier run of the server: requests to them before they dial in again.

use tokio::time::{Instant, sleep};

use super::*;
use crate::limits::EXPECTED_WITHIN;

fn router() -> SandboxRouter {
    let router = SandboxRouter::new(RouterConfig::default());
    router.expect([("u1".to_owned(), "laptop".to_owned())]);
    router
}

fn asks(router: &SandboxRouter) -> JoinHandle<Result<Sandbox, RouteError>> {
    let router = router.clone();
    tokio::spawn(async move { router.for_user(&user(), &route_request()).await })
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_after_a_servers_start_waits_for_the_runner_of_its_last_life() {
    let router = router();
    assert_eq!(router.check(&user(), &route_request()), Ok(Target::Runner("laptop".to_owned())));
    assert!(router.runners("u1").is_empty(), "it is not shown as connected");
    assert_eq!(router.for_user_at_once(&user(), &route_request()).await.unwrap_err().kind(), "offline");
    let waiting = [asks(&router), asks(&router)];
    sleep(EXPECTED_WITHIN / 2).await;
    assert!(waiting.iter().all(|asked| !asked.is_finished()));
    let (mut runner, _served) = connect(&router, 1, 1).await;
    for asked in waiting {
        let exec = asked.await.unwrap().unwrap().exec(ExecRequest::shell("x")).await.unwrap();
        let (stream, _) = runner.opened().await;
        runner.exit(stream, 0, 0);
        runner.flush().await;
        assert_eq!(exec.collect(0).await.unwrap().outcome.code, Some(0));
        assert!(matches!(runner.next().await, Some(Event::Acknowledged(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_does_not_come_back_in_time_is_offline_and_the_next_one_hears_so_at_once() {
    let router = router();
    let before = Instant::now();
    assert_eq!(asks(&router).await.unwrap().unwrap_err().kind(), "offline");
    assert_eq!(before.elapsed(), EXPECTED_WITHIN);
    assert_eq!(router.for_user(&user(), &route_request()).await.unwrap_err().kind(), "offline");
    assert_eq!(before.elapsed(), EXPECTED_WITHIN);
    assert_eq!(router.check(&user(), &route_request()).unwrap_err().kind(), "offline");
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_for_a_runner_that_was_not_there_is_revoked_or_has_left_again() {
    let router = router();
    let before = Instant::now();
    let desk = RouteRequest { choice: Choice::Auto, registered: vec!["desk".to_owned()] };
    assert_eq!(router.for_user(&user(), &desk).await.unwrap_err().kind(), "offline");
    let waiting = asks(&router);
    settle().await;
    router.disconnect("u1", "laptop", Disconnect::Revoked);
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), "offline");
    router.expect([("u1".to_owned(), "laptop".to_owned())]);
    let (runner, served) = connect(&router, 1, 1).await;
    drop(runner);
    let _ = served.await.unwrap();
    assert_eq!(router.for_user(&user(), &route_request()).await.unwrap_err().kind(), "offline");
    assert!(before.elapsed() < EXPECTED_WITHIN / 2, "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_keeps_nobody_waiting() {
    let router = router();
    let waiting = asks(&router);
    settle().await;
    let before = Instant::now();
    router.shutdown().await;
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), "offline");
    assert!(before.elapsed() < EXPECTED_WITHIN / 2);
}
