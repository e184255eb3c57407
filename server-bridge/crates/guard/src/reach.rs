//! The hosts that a client may connect to.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use address::is_public;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder};

/// Top-level names that networks use for their own machines.
const OWN_NAMES: [&str; 3] = ["localhost", "local", "internal"];

/// The hosts that a client may connect to. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Reach {
    /// Any host that this machine can reach; for addresses that the server's operators provide.
    Anywhere,
    /// The open internet.
    Public {
        /// Hosts that are permitted at any address, in the form of a URL's host, in lower case.
        allowed: Arc<[String]>,
        /// The treatment of a name with internal and public addresses.
        mixed: Mixed,
    },
}

/// The treatment of a name with internal and public addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// The name is refused: its owner could return another one of them next time.
    Refused,
    /// The name's public addresses are used: it comes from a person who wants to reach it.
    PublicOnly,
}

/// The error for a host that leads into the server's own network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} leads into the server's own network")]
pub struct LeadsInside(pub String);

impl Reach {
    /// The open internet, and these hosts at any address. A name that also has internal addresses is refused.
    pub fn public(allowed: &[String]) -> Self {
        let allowed = allowed.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self::Public { allowed, mixed: Mixed::Refused }
    }

    /// Checks a host in the form of a URL's host. A name is checked again when it is looked up.
    ///
    /// # Errors
    /// [`LeadsInside`]: it is an internal address or name.
    pub fn check_host(&self, host: &str) -> Result<(), LeadsInside> {
        let Self::Public { allowed, .. } = self else { return Ok(()) };
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        let is_inside = match literal {
            Ok(address) => !is_public(address),
            Err(_) => OWN_NAMES.iter().any(|own| own.eq_ignore_ascii_case(last)),
        };
        if is_inside && !allowed.iter().any(|known| known == host) {
            return Err(LeadsInside(host.to_owned()));
        }
        Ok(())
    }

    /// A builder of clients with this reach. Redirects are left to the caller: each has to be checked. A process needs an installed
    /// TLS provider.
    pub fn client(&self) -> ClientBuilder {
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("sandbridge/", env!("CARGO_PKG_VERSION")));
        match self {
            Self::Anywhere => client,
            // A proxy's connections could not be checked.
            Self::Public { .. } => client.no_proxy().dns_resolver(Arc::new(Outside(self.clone()))),
        }
    }

    /// Looks up a host, given in the form of a URL's host, for a connection that the caller makes; returns only addresses within reach.
    ///
    /// # Errors
    /// [`LeadsInside`], or the error of the lookup; `NotFound` if the name has no address.
    pub async fn lookup(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        self.check_host(host).map_err(std::io::Error::other)?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<_> = tokio::net::lookup_host((bare, port)).await?.collect();
        if bare.parse::<IpAddr>().is_ok() {
            return Ok(found);
        }
        let admitted = self.admitted(host, found).map_err(std::io::Error::other)?;
        if admitted.is_empty() { Err(std::io::ErrorKind::NotFound.into()) } else { Ok(admitted) }
    }

    /// The addresses of a name to which a client may connect.
    fn admitted(&self, name: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, LeadsInside> {
        let Self::Public { allowed, mixed } = self else { return Ok(found) };
        if allowed.iter().any(|host| host == name) {
            return Ok(found);
        }
        let count = found.len();
        let public: Vec<_> = found.into_iter().filter(|found| is_public(found.ip())).collect();
        let is_refused = match mixed {
            Mixed::Refused => public.len() < count,
            Mixed::PublicOnly => public.is_empty() && count > 0,
        };
        if is_refused { Err(LeadsInside(name.to_owned())) } else { Ok(public) }
    }
}

/// A resolver that returns only addresses within reach, so that a client connects only to checked addresses.
struct Outside(Reach);

impl Resolve for Outside {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let admitted = reach.admitted(name.as_str(), found)?;
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// The host that made a request fail because it leads inside; `None` if it failed for another reason.
pub fn leads_inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a LeadsInside> {
    innermost(error).downcast_ref()
}

pub(crate) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_of_a_networks_own_are_refused_unless_they_were_allowed() {
        let reach = Reach::public(&["Build.Internal".to_owned(), "10.0.0.7".to_owned()]);
        for host in ["127.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "169.254.169.254", "10.0.0.8"] {
            assert_eq!(reach.check_host(host), Err(LeadsInside(host.to_owned())));
        }
        for host in ["localhost", "a.LOCALHOST.", "printer.local", "metadata.google.internal"] {
            assert_eq!(reach.check_host(host), Err(LeadsInside(host.to_owned())));
        }
        for host in ["example.com", "8.8.8.8", "build.internal", "10.0.0.7", "local.example"] {
            assert_eq!(reach.check_host(host), Ok(()));
        }
        assert_eq!(Reach::Anywhere.check_host("127.0.0.1"), Ok(()));
    }

    #[test]
    fn a_name_with_addresses_on_both_sides_is_refused_or_keeps_the_public_ones() {
        let [inside, outside] = ["10.0.0.1:0", "8.8.8.8:0"].map(|address| address.parse().unwrap());
        let of = |mixed| Reach::Public { allowed: Arc::new([]), mixed };
        let refused = Err(LeadsInside("a.example".to_owned()));
        let both = || vec![inside, outside];
        assert_eq!(of(Mixed::Refused).admitted("a.example", both()), refused);
        assert_eq!(of(Mixed::PublicOnly).admitted("a.example", both()), Ok(vec![outside]));
        assert_eq!(of(Mixed::PublicOnly).admitted("a.example", vec![inside]), refused);
        assert_eq!(of(Mixed::PublicOnly).admitted("a.example", Vec::new()), Ok(Vec::new()));
        assert_eq!(Reach::public(&["a.example".to_owned()]).admitted("a.example", both()), Ok(both()));
    }

    #[tokio::test]
    async fn a_lookup_finds_only_addresses_within_reach() {
        let reach = Reach::public(&["127.0.0.1".to_owned()]);
        assert_eq!(reach.lookup("127.0.0.1", 80).await.unwrap(), ["127.0.0.1:80".parse().unwrap()]);
        for host in ["10.0.0.1", "[::1]", "localhost"] {
            let error = reach.lookup(host, 80).await.unwrap_err();
            assert!(error.to_string().contains("the server's own network"), "{error}");
        }
        let anywhere = Reach::Anywhere.lookup("[::1]", 80).await.unwrap();
        assert_eq!(anywhere, ["[::1]:80".parse().unwrap()]);
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_connected_to() {
        // Another test may have installed it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Reach::public(&[]).client().build().unwrap();
        let error = client.get("https://localhost:9").send().await.unwrap_err();
        assert_eq!(leads_inside(&error), Some(&LeadsInside("localhost".to_owned())));
    }
}
