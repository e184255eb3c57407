//! The first exec in a fresh container compared with `docker run`, and later execs compared with `docker exec`.

use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::{
    Choice, DockerConfig, ExecEvent, ExecRequest, RouteRequest, RouterConfig, Sandbox, SandboxRouter, Target,
    User,
};
use tempfile::TempDir;
use tests::binaries;
use tests::docker::{IMAGE, docker, ready};

use crate::peers::silent;
use crate::samples::{Row, Samples, WARM_UPS};

/// The number of containers that each side creates, in turn.
const FRESH: usize = 30;

/// The number of commands in a running container.
const WARM: usize = 500;

pub(crate) fn rows() -> Vec<Row> {
    ready();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let [run, fresh, exec, warm] = runtime.block_on(async { tokio::spawn(measure()).await.unwrap() });
    vec![
        run.row("`docker run`, `true`"),
        fresh.row_against("first handle exec in a fresh container", &run, "docker run", "≤ 1.2 ×"),
        exec.row("`docker exec`, `true`, same container"),
        warm.row_against("handle exec in a warm container", &exec, "docker exec", "≤ 0.05 ×"),
    ]
}

async fn measure() -> [Samples; 4] {
    let home = TempDir::new().unwrap();
    let config = DockerConfig {
        owner: home.path().to_owned(),
        image: IMAGE.to_owned(),
        runner_static: Some(binaries::runner_static()),
        ..DockerConfig::default()
    };
    let router = SandboxRouter::new(RouterConfig { docker: Some(config), ..RouterConfig::default() });
    let (mut run, mut fresh) = (Vec::new(), Vec::new());
    for number in 0..FRESH + WARM_UPS {
        let (name, start) = (format!("sandbridge-bench-{}-{number}", std::process::id()), Instant::now());
        silent(Command::new("docker").args(["run", "--name", &name, IMAGE, "true"]));
        let ran = start.elapsed();
        docker(&["rm", "-f", "-v", &name]);
        let start = Instant::now();
        exec_true(&sandbox(&router, number).await).await;
        let executed = start.elapsed();
        router.container(&user(number)).unwrap().reset(true).await.unwrap();
        if number >= WARM_UPS {
            run.push(ran);
            fresh.push(executed);
        }
    }
    let warm_one = sandbox(&router, 0).await;
    let name = router.container(&user(0)).unwrap().status().await.unwrap().name;
    let mut warm = Vec::new();
    for number in 0..WARM + WARM_UPS {
        let elapsed = timed(exec_true(&warm_one)).await;
        if number >= WARM_UPS {
            warm.push(elapsed);
        }
    }
    let mut exec = Vec::new();
    for number in 0..FRESH * 2 + WARM_UPS {
        let start = Instant::now();
        silent(Command::new("docker").args(["exec", &name, "true"]));
        if number >= WARM_UPS {
            exec.push(start.elapsed());
        }
    }
    router.container(&user(0)).unwrap().reset(true).await.unwrap();
    router.shutdown().await;
    [run, fresh, exec, warm].map(Samples::new)
}

fn user(number: usize) -> User {
    User { key: format!("bench{number}"), name: "bench".to_owned(), is_admin: false }
}

async fn sandbox(router: &SandboxRouter, number: usize) -> Sandbox {
    let route_request = RouteRequest { choice: Choice::Place(Target::Docker), registered: Vec::new() };
    router.for_user(&user(number), &route_request).await.unwrap()
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

async fn exec_true(sandbox: &Sandbox) {
    let mut exec = sandbox.exec(ExecRequest::argv(["/bin/true"])).await.unwrap();
    while let Some(event) = exec.next().await {
        match event {
            ExecEvent::Finished(outcome) => assert_eq!(outcome.code, Some(0)),
            ExecEvent::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
}
