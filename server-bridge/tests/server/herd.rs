//! Many runners that reconnect at once, from one address, as after a restart of the server.

use std::time::{Duration, Instant};

use proto::handshake::RefusalReason;
use reqwest::Method;
use serde_json::json;
use store::{Name, RunnerName};

use crate::support::{FakeRunner, PASSWORD, TestServer, eventually};

/// The number of simultaneous connections, which is more than one address is normally allowed; 2,000 in a soak.
fn herd_size() -> usize {
    std::env::var("SANDBRIDGE_HERD").map_or(600, |count| count.parse().unwrap())
}

/// Adds runners for a new user; returns their tokens.
async fn tokens(server: &TestServer, count: usize) -> Vec<String> {
    let user = server.store.add_user(&Name::parse("alice").unwrap(), PASSWORD, false).await.unwrap();
    let mut tokens = Vec::new();
    for number in 0..count {
        let name = RunnerName::parse(&format!("r{number}")).unwrap();
        tokens.push(server.store.add_runner(user.id, &name).await.unwrap().token.into_exposed());
    }
    tokens
}

fn at_once(tokens: Vec<String>) -> Vec<(String, Duration)> {
    tokens.into_iter().map(|token| (token, Duration::ZERO)).collect()
}

/// Connects each runner after its pause.
async fn connect(server: &TestServer, herd: &[(String, Duration)]) -> Vec<FakeRunner> {
    let connecting = herd.iter().map(|(token, pause)| {
        let (base, token, pause) = (server.url("/api/v1"), token.clone(), *pause);
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            FakeRunner::connect(&base, &token, "tower").await
        })
    });
    let connecting: Vec<_> = connecting.collect();
    let mut runners = Vec::new();
    for runner in connecting {
        runners.push(runner.await.unwrap().expect("no runner is refused"));
    }
    runners
}

async fn wait_online(server: &TestServer, count: usize) {
    let alice = server.log_in("alice").await;
    eventually(|| async {
        let runners = alice.get("/runners").await;
        let online = runners.as_array().unwrap().iter().filter(|runner| runner["online"] == true).count();
        (online == count).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_herd_of_known_runners_from_one_address_gets_in_at_once_and_after_a_restart() {
    let mut server = TestServer::start().await;
    let count = herd_size();
    // At first, all runners connect at once; later, they connect after the pauses that the server gave them.
    let mut herd = at_once(tokens(&server, count).await);
    for _ in 0..2 {
        let began = Instant::now();
        let runners = connect(&server, &herd).await;
        wait_online(&server, count).await;
        println!("{count} runners registered in {:?}", began.elapsed());
        let (store, home) = server.stop_and_reopen().await;
        store.close().await;
        for (runner, (_, pause)) in runners.into_iter().zip(&mut herd) {
            *pause = runner.goodbye().await.expect("each gets a GOODBYE").pause;
        }
        let mut asked: Vec<Duration> = herd.iter().map(|(_, pause)| *pause).collect();
        asked.sort();
        assert_eq!(asked[0], Duration::ZERO);
        assert!(asked.windows(2).all(|two| two[1] > two[0]), "they are asked to come one after another");
        assert!(asked[count - 1] <= Duration::from_secs(30));
        server = TestServer::start_in(home, Default::default()).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_tokens_from_the_same_address_keep_no_known_runner_out() {
    let server = TestServer::start().await;
    let tokens = tokens(&server, 50).await;
    let mut refused = Vec::new();
    while !refused.contains(&RefusalReason::RateLimited) {
        let made_up = format!("sbr_{}", "A".repeat(43));
        refused
            .push(FakeRunner::connect(&server.url("/api/v1"), &made_up, "eve").await.err().unwrap().reason);
    }
    assert_eq!(refused[0], RefusalReason::TokenUnknown);
    let _runners = connect(&server, &at_once(tokens)).await;
    wait_online(&server, 50).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_disconnects_again_and_again_is_let_in_each_time() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let token = alice.add_runner("laptop").await;
    for _ in 0..100 {
        FakeRunner::connect(&alice.base, &token, "tower")
            .await
            .expect("a known runner is not refused")
            .vanish();
    }
    let _runner = FakeRunner::connect(&alice.base, &token, "tower").await.unwrap();
    alice.wait_online("laptop", true).await;
    let (status, _) = alice.send(Method::PUT, "/settings", json!({"active_runner": "laptop"})).await;
    assert_eq!(status, 200);
    server.stop().await;
}
