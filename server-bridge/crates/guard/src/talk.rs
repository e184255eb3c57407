//! A client for one address, for a protocol that makes many requests to it and bounds the responses itself.

use reqwest::{Client, Url};

use crate::error::{Error, check_text};
use crate::outgoing::Outgoing;
use crate::reach::Reach;

/// Makes clients for addresses within reach. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Talker(Outgoing);

impl Talker {
    /// A talker that is limited to this reach.
    pub fn new(reach: Reach) -> Self {
        Self(Outgoing::new(reach))
    }

    /// The client for an address: it follows no redirect, uses no proxy and connects to no address out of reach. The caller must request
    /// no other address.
    ///
    /// # Errors
    /// [`Error::Url`]; [`Error::Private`]; [`Error::Network`] if no client can be made.
    pub fn client(&self, url: &str) -> Result<(Client, Url), Error> {
        let url = check_text(url)?;
        self.0.check(&url)?;
        Ok((self.0.client()?.clone(), url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_out_of_reach_has_no_client() {
        // Another test may have installed it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let talker = Talker::new(Reach::public(&["10.0.0.7".to_owned()]));
        for url in ["http://127.0.0.1/mcp", "http://169.254.169.254/", "http://[::1]/", "http://localhost/"] {
            assert!(matches!(talker.client(url), Err(Error::Private(_))), "{url}");
        }
        assert!(matches!(talker.client("file:///etc/passwd"), Err(Error::Url(_))));
        assert!(talker.client("http://10.0.0.7/mcp").is_ok());
        let (client, _) = talker.client("https://a.example/mcp").unwrap();
        let error = client.get("https://localhost:9").send().await.unwrap_err();
        assert!(crate::leads_inside(&error).is_some(), "a name is checked when it is looked up");
    }
}
