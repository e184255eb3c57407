//! Docker: a command in the user's container, which the server creates or starts for it.

use api::container::ContainerView;
use api::exec::{ExecAsk, ExecExit};
use api::settings::ChoiceView;
use api::words::ContainerState;

use super::Check;
use crate::exec::wire::{Format, Incoming, exit_code, incoming};
use crate::failure::Failure;
use crate::http::Client;
use crate::limits::DOCKER_PATIENCE;
use crate::session::Session;
use crate::socket;

/// The fix for a server that cannot use its engine.
const ASK: &str = "ask the server's administrator, or use a runner";

/// Runs a command in the user's container. A container that did not run before is stopped again.
pub(super) async fn check(session: &Session, choice: &ChoiceView) -> Check {
    if !choice.available {
        return Check::missing(
            "docker",
            choice.note.as_deref().unwrap_or("the server does not offer it"),
            ASK,
        );
    }
    let Ok(mut client) = Client::new(session) else {
        return Check::missing("docker", "the server could not be asked about your container", ASK);
    };
    let before = match client.container().await {
        Ok(container) => container,
        Err(failure) => return broken(&failure.message),
    };
    let ran = tokio::time::timeout(DOCKER_PATIENCE, run(session, &choice.name)).await;
    if before.state != ContainerState::Running && before.state != ContainerState::Paused {
        // If this fails, the server stops the container when it is idle.
        let _ = client.stop_container().await;
    }
    match ran {
        Ok(Ok(exit)) => judged(&before, &exit),
        Ok(Err(failure)) => broken(&failure.message),
        Err(_) => broken(&format!("no container ran a command within {} s", DOCKER_PATIENCE.as_secs())),
    }
}

fn judged(container: &ContainerView, exit: &ExecExit) -> Check {
    match exit_code(exit) {
        0 => Check::works("docker", format!("a command ran in a container of {}", container.image)),
        code => broken(&format!("`true` ended with exit code {code} in a container of {}", container.image)),
    }
}

fn broken(why: &str) -> Check {
    let fix = "ask the server's administrator to look at the engine and the image (--docker-image), or use a runner";
    Check::broken("docker", why, fix)
}

/// Runs `true` at a place.
async fn run(session: &Session, on: &str) -> Result<ExecExit, Failure> {
    let (mut outbox, mut inbox) = socket::open(session, "/api/v1/exec").await?;
    outbox.push_json(&ExecAsk {
        argv: Some(vec!["true".to_owned()]),
        on: Some(on.to_owned()),
        timeout_s: Some(DOCKER_PATIENCE.as_secs_f64()),
        exec_id: Some(format!("{:032x}", rand::random::<u128>())),
        ..ExecAsk::default()
    });
    outbox.send_all().await?;
    let exit = loop {
        match incoming(inbox.next().await?, Format::Raw) {
            Some(Incoming::Exit(exit)) => break exit,
            Some(Incoming::Failed(failure)) => return Err(failure),
            Some(_) | None => {}
        }
    };
    socket::goodbye(outbox, inbox).await;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::super::Standing;
    use super::*;

    #[test]
    fn only_a_command_that_succeeds_shows_that_docker_works() {
        let container: ContainerView =
            serde_json::from_str(r#"{"name": "c", "image": "debian:13", "cpus": null, "idle_stop": null}"#)
                .unwrap();
        let check = |code: u8| {
            let exit = format!(r#"{{"code": {code}, "signal": null, "duration_ms": 12, "runner": null}}"#);
            judged(&container, &serde_json::from_str(&exit).unwrap())
        };
        let works = check(0);
        assert!(works.standing == Standing::Works && works.detail.contains("debian:13"), "{}", works.detail);
        let fails = check(127);
        assert!(fails.standing == Standing::Broken && fails.detail.contains("127"), "{}", fails.detail);
    }
}
