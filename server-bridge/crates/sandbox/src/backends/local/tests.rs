//! The local link with a real child process: this test binary itself, acting as a runner.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proto::message::{ExecExited, ExecStreamsClosed};
use proto::session::Event;
use proto::{Channel, DataBuf, Message, Request};
use tokio::net::unix::pipe;

use crate::link::stdio::StdioLink;
use crate::testing::{ScriptedRunner, facts, receive};
use crate::*;

/// Set by [`Fixture::runner`]'s script: the layers that the runner claims.
const LAYERS_VARIABLE: &str = "SCRIPTED_RUNNER_LAYERS";

const ALL_LAYERS: &str = "mount-namespace,pid-namespace,landlock,landlock-scope,seccomp,no-new-privs";

/// Not a test: the body of the child that the tests below start. The test harness prints a line before this function runs, like leftover output in a
/// container.
#[tokio::test]
async fn acting_as_the_runner_when_asked() {
    let Ok(layers) = std::env::var(LAYERS_VARIABLE) else { return };
    let input = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let output = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    let mut link = StdioLink::new(
        pipe::Receiver::from_owned_fd(input).unwrap(),
        pipe::Sender::from_owned_fd(output).unwrap(),
    );
    receive(&mut link).await.unwrap();
    let layers = layers
        .split(',')
        .map(|name| Layer { name: name.to_owned(), holds: true, detail: String::new() })
        .collect();
    let facts = proto::handshake::Facts { layers, ..facts(1) };
    let mut runner = ScriptedRunner::connect_with(link, "", facts).await;
    while let Some(event) = runner.next().await {
        let Event::Opened(stream, Request::Exec(exec)) = event else { continue };
        if exec.command == Command::Shell(b"die".to_vec()) {
            std::process::exit(1);
        }
        let pid = std::process::id().to_string();
        runner.session.data(stream, Channel::Stdout, DataBuf::copy_from(pid.as_bytes()));
        let exited = ExecExited {
            status: ExitStatus::Code(0),
            timed_out: false,
            cancelled: false,
            sandbox_denied: false,
            duration_us: 1,
        };
        runner.session.message(stream, &Message::from(exited), false).unwrap();
        let closed = ExecStreamsClosed {
            stdout_bytes: pid.len() as u64,
            stderr_bytes: 0,
            dropped_bytes: 0,
            still_open: false,
        };
        runner.session.message(stream, &Message::from(closed), true).unwrap();
    }
    // The harness must not print anything more.
    std::process::exit(0);
}

struct Fixture {
    folder: tempfile::TempDir,
    user: User,
    route_request: RouteRequest,
}

impl Fixture {
    fn new() -> Self {
        let user = User { key: "u1".to_owned(), name: "alice".to_owned(), is_admin: true };
        let route_request = RouteRequest { choice: Choice::Place(Target::Local), registered: Vec::new() };
        Self { folder: tempfile::tempdir().unwrap(), user, route_request }
    }

    /// A program that becomes a runner claiming these layers.
    fn runner(&self, layers: &str) -> PathBuf {
        let test = "backends::local::tests::acting_as_the_runner_when_asked";
        let binary = std::env::current_exe().unwrap();
        self.program(&format!(
            "{LAYERS_VARIABLE}={layers} exec '{}' --exact {test} --nocapture",
            binary.display()
        ))
    }

    fn program(&self, line: &str) -> PathBuf {
        let path = self.folder.path().join("runner");
        std::fs::write(&path, format!("#!/bin/sh\n{line}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn router(&self, runner: Option<PathBuf>) -> SandboxRouter {
        let workspaces = self.folder.path().join("workspaces");
        let local = LocalConfig { policy: LocalPolicy::Admins, runner, workspaces, http_allow: Vec::new() };
        SandboxRouter::new(RouterConfig { local, ..RouterConfig::default() })
    }

    async fn pid(&self, router: &SandboxRouter) -> String {
        let sandbox = router.for_user(&self.user, &self.route_request).await.unwrap();
        let exec = sandbox.exec(ExecRequest::shell("pid")).await.unwrap();
        String::from_utf8(exec.collect(100).await.unwrap().stdout).unwrap()
    }
}

async fn wait_until_gone(pid: &str) {
    let process = Path::new("/proc").join(pid);
    tokio::time::timeout(Duration::from_secs(10), async {
        while process.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn runner_is_started_once_kept_and_ended_at_shutdown() {
    let fixture = Fixture::new();
    let router = fixture.router(Some(fixture.runner(ALL_LAYERS)));
    let (first, second) = tokio::join!(fixture.pid(&router), fixture.pid(&router));
    assert_eq!(first, second);
    assert_eq!(fixture.pid(&router).await, first);
    assert!(fixture.folder.path().join("workspaces/u1/workspace").is_dir());
    router.shutdown().await;
    wait_until_gone(&first).await;
}

#[tokio::test]
async fn the_runner_of_a_user_who_is_gone_is_ended() {
    let fixture = Fixture::new();
    let router = fixture.router(Some(fixture.runner(ALL_LAYERS)));
    assert!(router.users_of_own_runners().is_empty());
    let first = fixture.pid(&router).await;
    assert_eq!(router.users_of_own_runners(), ["u1"]);
    router.end_own_runners("u2").await;
    assert_eq!(fixture.pid(&router).await, first);
    router.end_own_runners("u1").await;
    wait_until_gone(&first).await;
    assert!(router.users_of_own_runners().is_empty());
    assert_ne!(fixture.pid(&router).await, first, "it is started again where it is asked for");
    router.shutdown().await;
}

#[tokio::test]
async fn dead_runner_is_started_again() {
    let fixture = Fixture::new();
    let router = fixture.router(Some(fixture.runner(ALL_LAYERS)));
    let first = fixture.pid(&router).await;
    let sandbox = router.for_user(&fixture.user, &fixture.route_request).await.unwrap();
    let exec = sandbox.exec(ExecRequest::shell("die")).await.unwrap();
    assert_eq!(exec.collect(0).await.unwrap_err().kind(), "lost");
    assert_ne!(fixture.pid(&router).await, first);
    router.shutdown().await;
}

#[tokio::test]
async fn runner_without_one_of_the_layers_is_refused_by_that_layers_name() {
    for missing in ALL_LAYERS.split(',') {
        let fixture = Fixture::new();
        let layers: Vec<_> = ALL_LAYERS.split(',').filter(|layer| *layer != missing).collect();
        let router = fixture.router(Some(fixture.runner(&layers.join(","))));
        let error = router.for_user(&fixture.user, &fixture.route_request).await.unwrap_err();
        let words = format!(": {missing} missing;");
        assert!(matches!(&error, RouteError::LocalRefused { why } if why.contains(&words)), "{error}");
        router.shutdown().await;
    }
}

#[tokio::test]
async fn missing_and_broken_runners_are_unavailable() {
    let fixture = Fixture::new();
    let broken = fixture.program("echo not a runner; exit 3");
    for (runner, words) in [
        (None, "no sandbridge-runner was found"),
        (Some(PathBuf::from("/nonexistent/runner")), "does not start"),
        (Some(broken), "handshake failed"),
    ] {
        let router = fixture.router(runner);
        let error = router.for_user(&fixture.user, &fixture.route_request).await.unwrap_err();
        assert_eq!(error.kind(), "unavailable");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn missing_runner_is_told_before_anything_is_started() {
    let fixture = Fixture::new();
    let router = fixture.router(None);
    let error = router.check(&fixture.user, &fixture.route_request).unwrap_err();
    assert!(matches!(error, RouteError::LocalUnavailable { .. }), "{error}");
    assert!(fixture.router(Some("/nonexistent".into())).check(&fixture.user, &fixture.route_request).is_ok());
}

#[tokio::test]
async fn server_secrets_do_not_reach_the_runner() {
    let fixture = Fixture::new();
    let seen = fixture.folder.path().join("seen");
    let router = fixture.router(Some(fixture.program(&format!("env > '{}'", seen.display()))));
    router.for_user(&fixture.user, &fixture.route_request).await.unwrap_err();
    let seen = std::fs::read_to_string(seen).unwrap();
    let names: Vec<_> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    let allowed = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TERM", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| allowed.contains(name)), "{names:?}");
}
