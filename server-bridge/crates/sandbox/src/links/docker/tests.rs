//! What is said where Docker cannot be used, and what a container is made of; no engine is needed for these.

use super::*;
use crate::routing::{Choice, Wish};
use crate::{DockerConfig, RouterConfig, SandboxRouter};

async fn error_of(config: DockerConfig) -> RouteError {
    let router = SandboxRouter::new(RouterConfig { docker: Some(config), ..RouterConfig::default() });
    let user = User { key: "u1".to_owned(), name: "alice".to_owned(), is_admin: false };
    let wish = Wish { choice: Choice::Named(DOCKER.to_owned()), registered: Vec::new() };
    router.for_user(&user, &wish).await.unwrap_err()
}

#[tokio::test]
async fn what_is_missing_is_named_with_the_way_out() {
    let runner = tempfile::NamedTempFile::new().unwrap();
    let no_socket = DockerConfig {
        socket: Some("/nonexistent/docker.sock".to_owned()),
        runner_static: Some(runner.path().to_owned()),
        ..DockerConfig::default()
    };
    let no_file = DockerConfig { runner_static: Some("/nonexistent".into()), ..no_socket.clone() };
    let no_runner = DockerConfig { runner_static: None, ..no_socket.clone() };
    for (config, words) in
        [(no_socket, "see `docker info`"), (no_file, "cannot be read"), (no_runner, "scripts/build")]
    {
        let error = error_of(config).await;
        assert_eq!(error.kind(), "unavailable");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn missing_static_runner_is_told_before_the_engine_is_asked() {
    let config = DockerConfig { runner_static: None, ..DockerConfig::default() };
    let router = SandboxRouter::new(RouterConfig { docker: Some(config), ..RouterConfig::default() });
    let user = User { key: "u1".to_owned(), name: "alice".to_owned(), is_admin: false };
    let wish = Wish { choice: Choice::Named(DOCKER.to_owned()), registered: Vec::new() };
    let error = router.check(&user, &wish).unwrap_err();
    assert!(
        matches!(&error, RouteError::DockerUnavailable { why } if why.contains("scripts/build")),
        "{error}"
    );
}

#[tokio::test]
async fn containers_are_locked_down_and_made_anew_when_what_they_are_made_of_changes() {
    let runner = tempfile::NamedTempFile::new().unwrap();
    let config = DockerConfig { runner_static: Some(runner.path().to_owned()), ..DockerConfig::default() };
    let spec = ContainerSpec::new(&config, "u1").await.unwrap();
    let host = spec.body().host_config.unwrap();
    assert_eq!(host.cap_drop.unwrap(), ["ALL"]);
    assert_eq!(host.security_opt.unwrap(), ["no-new-privileges:true"]);
    assert_eq!((host.pids_limit, host.memory), (Some(512), Some(2 << 30)));
    assert_eq!(host.log_config.unwrap().typ.unwrap(), "none");
    let mounts = host.mounts.unwrap();
    assert_eq!(mounts.len(), 2, "no host socket and nothing else of the host's");
    assert!(mounts.iter().any(|mount| mount.read_only == Some(true)));

    std::fs::write(runner.path(), "another build").unwrap();
    let rebuilt = ContainerSpec::new(&config, "u1").await.unwrap();
    let larger = ContainerSpec::new(&DockerConfig { pids: 1024, ..config }, "u1").await.unwrap();
    assert!(spec.digest != rebuilt.digest && rebuilt.digest != larger.digest);
    assert_eq!(spec.name, rebuilt.name);
}
