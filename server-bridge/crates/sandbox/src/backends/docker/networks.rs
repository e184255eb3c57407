//! The calls to the Docker engine for the users' networks. By default, each user has a network of their own.
//!
//! Containers in the same network can reach each other. Containers in different networks cannot, because the engine
//! drops packets from one bridge to another. A network exists as long as its user's container does.

use std::collections::HashSet;

use bollard::models::{Ipam, IpamConfig, Network, NetworkCreateRequest};
use bollard::query_parameters::{ListContainersOptionsBuilder, ListNetworksOptions};

use crate::backends::docker::engine::Engine;
use crate::backends::docker::errors::{failed, status, unavailable};
use crate::backends::docker::names::Names;
use crate::backends::docker::spec::{ContainerSpec, OWNER_LABEL};
use crate::config::ContainerNetwork;
use crate::error::RouteError;
use crate::limits::SUBNET_ATTEMPTS;
use crate::subnets::Subnet;

impl Engine {
    /// Creates the user's network if it is missing and their container is to join it; returns true if it was created.
    pub(super) async fn make_network(&self, spec: &ContainerSpec) -> Result<bool, RouteError> {
        if spec.config.network != ContainerNetwork::Own {
            return Ok(false);
        }
        let name = &spec.names.network;
        let networks = self.networks().await?;
        if let Some(found) = networks.iter().find(|network| network.name.as_ref() == Some(name)) {
            let is_ours = spec.owns(&found.labels.clone().unwrap_or_default());
            return if is_ours { Ok(false) } else { Err(not_ours(name)) };
        }
        let pool = spec.config.subnets;
        let used: Vec<Subnet> = networks.iter().flat_map(subnets).collect();
        for subnet in pool.free(&used).take(SUBNET_ATTEMPTS) {
            match self.docker.create_network(request(spec, subnet)).await {
                Ok(_) => {
                    tracing::info!(network = name, %subnet, "made a network for a user's container");
                    return Ok(true);
                }
                // Another server created it meanwhile, or it is a network of the machine that the engine does not list.
                Err(error) if error.to_string().contains("overlap") => {
                    tracing::debug!(%subnet, %error, "this subnet is in use");
                }
                Err(error) => return Err(failed("cannot create the user's network", &error)),
            }
        }
        Err(unavailable(format!(
            "no addresses are left for another user's network in {pool} ({} networks); give a larger or another range with \
             --docker-subnets",
            pool.networks()
        )))
    }

    /// Removes the user's network; a missing one is fine, and so is one that is still in use.
    pub(super) async fn remove_network(&self, names: &Names) -> Result<(), RouteError> {
        match self.docker.remove_network(&names.network).await {
            Err(error) if !matches!(status(&error), Some(403 | 404)) => {
                Err(failed("cannot remove the user's network", &error))
            }
            _ => Ok(()),
        }
    }

    /// Removes this server's networks that no longer have a container, for example after a crash. Networks that cannot be
    /// removed are left in place.
    pub(super) async fn remove_left_networks(&self) {
        let removed = async {
            let left: Vec<String> = self.left_networks().await?;
            for name in &left {
                match self.docker.remove_network(name).await {
                    Ok(()) => tracing::info!(network = name, "removed a network that has no container"),
                    Err(error) => tracing::warn!(network = name, %error, "a network cannot be removed"),
                }
            }
            Ok::<_, RouteError>(())
        };
        if let Err(error) = removed.await {
            tracing::warn!(%error, "cannot look for leftover networks");
        }
    }

    async fn left_networks(&self) -> Result<Vec<String>, RouteError> {
        let owner = self.facts.owner.to_string_lossy().into_owned();
        let networks = self.networks().await?.into_iter().filter(|network| {
            network.labels.as_ref().and_then(|labels| labels.get(OWNER_LABEL)) == Some(&owner)
        });
        let ours: Vec<String> = networks.filter_map(|network| network.name).collect();
        if ours.is_empty() {
            return Ok(ours);
        }
        let all = ListContainersOptionsBuilder::new().all(true).build();
        let containers = self.docker.list_containers(Some(all)).await;
        let containers = containers.map_err(|error| failed("cannot list the containers", &error))?;
        let named: HashSet<String> = containers
            .into_iter()
            .flat_map(|container| container.names.unwrap_or_default())
            .map(|name| name.trim_start_matches('/').to_owned())
            .collect();
        // A network has the name of its container.
        Ok(ours.into_iter().filter(|name| !named.contains(name)).collect())
    }

    async fn networks(&self) -> Result<Vec<Network>, RouteError> {
        let networks = self.docker.list_networks(None::<ListNetworksOptions>).await;
        networks.map_err(|error| failed("cannot list the networks", &error))
    }
}

fn request(spec: &ContainerSpec, subnet: Subnet) -> NetworkCreateRequest {
    let config = IpamConfig { subnet: Some(subnet.to_string()), ..IpamConfig::default() };
    NetworkCreateRequest {
        name: spec.names.network.clone(),
        driver: Some("bridge".to_owned()),
        ipam: Some(Ipam { config: Some(vec![config]), ..Ipam::default() }),
        labels: Some(spec.labels()),
        ..NetworkCreateRequest::default()
    }
}

/// The IPv4 subnets of a network.
fn subnets(network: &Network) -> Vec<Subnet> {
    let configs = network.ipam.as_ref().and_then(|ipam| ipam.config.as_deref()).unwrap_or_default();
    configs.iter().filter_map(|config| config.subnet.as_deref()?.parse().ok()).collect()
}

fn not_ours(name: &str) -> RouteError {
    unavailable(format!(
        "a network named {name} exists and does not belong to this server; remove it: docker network rm {name}"
    ))
}
