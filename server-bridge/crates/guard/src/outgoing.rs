//! The connections of getters and posters: only to addresses within reach, each for one request.

use std::sync::{Arc, OnceLock};

use reqwest::{Client, Url};

use crate::error::{Error, check};
use crate::limits::CONNECT_PATIENCE;
use crate::reach::{Reach, leads_inside};

/// A client limited to a reach. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// Created at first use: it reads this machine's certificates.
    client: Arc<OnceLock<Client>>,
    reach: Reach,
}

impl Outgoing {
    pub(crate) fn new(reach: Reach) -> Self {
        Self { client: Arc::default(), reach }
    }

    /// The client. It follows no redirect: each has to be checked.
    pub(crate) fn client(&self) -> Result<&Client, Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = self
            .reach
            .client()
            .connect_timeout(CONNECT_PATIENCE)
            // No request uses a connection that was made for another one.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| Error::Network(crate::cause(&error)))?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Checks an address as text; a name is checked again when it is looked up.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Error> {
        check(url)?;
        Ok(self.reach.check_host(url.host_str().unwrap_or_default())?)
    }
}

/// The error of a request that failed.
pub(crate) fn failed(error: &reqwest::Error) -> Error {
    match leads_inside(error) {
        Some(inside) => inside.clone().into(),
        None => Error::Network(crate::cause(error)),
    }
}
