//! Errors when Docker cannot be used, and the parts of a container; these tests need no engine.

use std::path::Path;
use std::time::Duration;

use super::names::Names;
use super::paths::PathMap;
use super::spec::{ContainerSpec, RUNNER_LABEL};
use crate::routing::{Choice, RouteRequest, Target, User};
use crate::runner_file::RunnerFile;
use crate::{ContainerNetwork, DockerConfig, RouteError, RouterConfig, SandboxRouter};

async fn error_of(config: DockerConfig) -> RouteError {
    let router = SandboxRouter::new(RouterConfig { docker: Some(config), ..RouterConfig::default() });
    let user = User { key: "u1".to_owned(), name: "alice".to_owned(), is_admin: false };
    let route_request = RouteRequest { choice: Choice::Place(Target::Docker), registered: Vec::new() };
    router.for_user(&user, &route_request).await.unwrap_err()
}

#[tokio::test]
async fn what_is_missing_is_named_with_the_way_out() {
    let no_socket = DockerConfig {
        socket: Some("/nonexistent/docker.sock".to_owned()),
        runner_static: Some("/proc/self/exe".into()),
        ..DockerConfig::default()
    };
    let no_runner = DockerConfig { runner_static: None, ..no_socket.clone() };
    for (config, words) in [(no_socket, "see `docker info`"), (no_runner, "scripts/build")] {
        let error = error_of(config).await;
        assert_eq!(error.kind(), "unavailable");
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = RunnerFile::default().know(Path::new("/nonexistent")).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[tokio::test]
async fn missing_static_runner_is_told_before_the_engine_is_asked() {
    let config = DockerConfig { runner_static: None, ..DockerConfig::default() };
    let router = SandboxRouter::new(RouterConfig { docker: Some(config), ..RouterConfig::default() });
    let user = User { key: "u1".to_owned(), name: "alice".to_owned(), is_admin: false };
    let route_request = RouteRequest { choice: Choice::Place(Target::Docker), registered: Vec::new() };
    let error = router.check(&user, &route_request).unwrap_err();
    assert!(
        matches!(&error, RouteError::DockerUnavailable { why } if why.contains("scripts/build")),
        "{error}"
    );
}

fn spec(config: &DockerConfig) -> ContainerSpec {
    let runner = RunnerFile::default().know(config.runner_static.as_deref().unwrap()).unwrap();
    ContainerSpec::new(config, Names::new(&config.owner, "u1"), runner, &PathMap::same(&config.path_map))
        .unwrap()
}

#[test]
fn containers_are_locked_down() {
    let runner = tempfile::NamedTempFile::new().unwrap();
    let config = DockerConfig { runner_static: Some(runner.path().to_owned()), ..DockerConfig::default() };
    let body = spec(&config).body("image".to_owned());
    assert!(body.labels.unwrap().contains_key(RUNNER_LABEL));
    assert_eq!(
        body.healthcheck.unwrap().test.unwrap(),
        ["NONE"],
        "no program of the image runs besides the runner"
    );
    let host = body.host_config.unwrap();
    assert_eq!(host.cap_drop.unwrap(), ["ALL"]);
    assert_eq!(host.security_opt.unwrap(), ["no-new-privileges:true"]);
    assert_eq!((host.pids_limit, host.memory), (Some(512), Some(2 << 30)));
    assert_eq!(host.memory_swap, host.memory);
    assert_eq!(host.log_config.unwrap().typ.unwrap(), "none");
    let network = host.network_mode.unwrap();
    assert!(
        network.starts_with("sandbridge-") && network.ends_with("-u1"),
        "{network}: no other user joins it"
    );
    assert_eq!(host.userns_mode, None, "the engine's own");
    let mounts = host.mounts.unwrap();
    assert_eq!(mounts.len(), 2, "no socket or other path of the host");
    assert!(mounts.iter().any(|mount| mount.read_only == Some(true)));
}

#[test]
fn containers_are_made_anew_when_anything_they_are_made_of_changes() {
    let runner = tempfile::NamedTempFile::new().unwrap();
    let config = DockerConfig { runner_static: Some(runner.path().to_owned()), ..DockerConfig::default() };
    let made = spec(&config);
    let changed = [
        DockerConfig { image: "another".to_owned(), ..config.clone() },
        DockerConfig { memory_bytes: 1 << 30, ..config.clone() },
        DockerConfig { pids: 1024, ..config.clone() },
        DockerConfig { cpus: Some(1.0), ..config.clone() },
        DockerConfig { network: ContainerNetwork::Named("none".to_owned()), ..config.clone() },
        DockerConfig { network: ContainerNetwork::Named("bridge".to_owned()), ..config.clone() },
        DockerConfig { read_only: true, ..config.clone() },
        DockerConfig { full_control: true, ..config.clone() },
        DockerConfig { host_userns: true, ..config.clone() },
        DockerConfig { workspace_dir: Some("/srv".into()), ..config.clone() },
    ];
    for config in &changed {
        assert_ne!(spec(config).digest, made.digest, "{config:?}");
        assert_eq!(spec(config).names, made.names);
    }
    let beside = DockerConfig {
        idle_stop: Some(Duration::from_secs(1)),
        socket: Some("/run/other.sock".to_owned()),
        path_map: vec![("/nowhere".into(), "/there".into())],
        subnets: "192.168.0.0/24".parse().unwrap(),
        ..config.clone()
    };
    assert_eq!(spec(&beside).digest, made.digest, "no container is made of these");
    std::fs::write(runner.path(), "another build").unwrap();
    assert_ne!(spec(&config).digest, made.digest);
}
