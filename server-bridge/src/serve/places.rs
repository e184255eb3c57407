//! The places where work can run.

use sandbox::{LocalConfig, RouterConfig};

use crate::config::Config;

fn is_plain_host(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
}

/// The places where work can run, according to the configuration.
pub(super) fn router_config(config: &Config) -> RouterConfig {
    let docker = config.docker.then(|| config.docker_config.clone());
    let local = LocalConfig {
        policy: config.local.clone(),
        runner: config.runner.clone(),
        workspaces: config.home.join("workspaces"),
        // A runner refuses a host of any other form.
        http_allow: config.reachable.iter().filter(|host| is_plain_host(host)).cloned().collect(),
    };
    RouterConfig { docker, local, require: config.require.clone() }
}
