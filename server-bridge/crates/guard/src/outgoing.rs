//! The connections of the clients in this crate: each leads to an address within reach and serves one request.

use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONTENT_ENCODING, LOCATION};
use reqwest::{Client, Response, Url};

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

/// The address that a redirect leads to; `None` if the response is not a redirect. A redirect is followed only within the same scheme, host and port;
/// an upgrade to encryption on the default ports is allowed too.
pub(crate) fn redirect(outgoing: &Outgoing, url: &Url, response: &Response) -> Result<Option<Url>, Error> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let Some(next) = target(url, response.status().as_u16(), location)? else { return Ok(None) };
    outgoing.check(&next)?;
    stays(url, &next).map(|()| Some(next))
}

/// The address that a redirect leads to, for a response that another program received. That program itself checks the addresses to which it connects.
///
/// # Errors
/// [`Error::Url`]; [`Error::Downgrade`]; [`Error::Elsewhere`].
pub fn hop(url: &Url, status: u16, location: Option<&str>) -> Result<Option<Url>, Error> {
    let Some(next) = target(url, status, location)? else { return Ok(None) };
    stays(url, &next).map(|()| Some(next))
}

fn target(url: &Url, status: u16, location: Option<&str>) -> Result<Option<Url>, Error> {
    let Some(location) = location.filter(|_| (300..400).contains(&status)) else { return Ok(None) };
    let next = url.join(location).map_err(|_| Error::Url("it redirects to an invalid address"))?;
    check(&next)?;
    Ok(Some(next))
}

fn stays(url: &Url, next: &Url) -> Result<(), Error> {
    if url.scheme() == "https" && next.scheme() != "https" {
        return Err(Error::Downgrade);
    }
    if is_same_origin(url, next) { Ok(()) } else { Err(Error::Elsewhere(next.clone())) }
}

fn is_same_origin(one: &Url, next: &Url) -> bool {
    let ports = |url: &Url| (url.scheme().to_owned(), url.port_or_known_default());
    let is_upgrade = one.scheme() == "http" && next.scheme() == "https";
    let is_usual = one.port().is_none() && next.port().is_none();
    one.host_str() == next.host_str() && (ports(one) == ports(next) || is_upgrade && is_usual)
}

/// The first bytes of a response, and true if there is more. A compressed response is refused: it was not requested, and a small one may become huge
/// when it is decompressed.
pub(crate) async fn beginning(mut response: Response, most_bytes: usize) -> Result<(Bytes, bool), Error> {
    let encoding = response.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("?"));
    if let Some(encoding) = encoding.filter(|encoding| *encoding != "identity") {
        return Err(Error::Packed(encoding.to_owned()));
    }
    let mut content = BytesMut::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        let room = most_bytes - content.len();
        content.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Ok((content.into(), true));
        }
    }
    Ok((content.into(), false))
}

/// The error of a request that failed.
pub(crate) fn failed(error: &reqwest::Error) -> Error {
    match leads_inside(error) {
        Some(inside) => inside.clone().into(),
        None => Error::Network(crate::cause(error)),
    }
}
