//! The redirect URL of logins: the address to which a provider sends the browser back.

/// The value of a query parameter of a URL.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// True if a URL is the redirect URL of a login, apart from its query.
pub(crate) fn leads_to(url: &str, redirect_uri: &str) -> bool {
    let (Ok(mut url), Ok(wanted)) = (reqwest::Url::parse(url), reqwest::Url::parse(redirect_uri)) else {
        return false;
    };
    url.set_query(None);
    url.set_fragment(None);
    url == wanted
}

/// Checks a redirect URL: it must be encrypted, or point to the browser's own machine or to this server.
///
/// Fails with the reason as text.
pub(crate) fn check_redirect(redirect_uri: &str, own: Option<&str>) -> Result<(), String> {
    let wrong = || {
        "the redirect address has to begin with https://, or be on the browser's own machine, such as \
         http://127.0.0.1:PORT/, without a query"
            .to_owned()
    };
    let url = guard::check_text(redirect_uri).map_err(|_| wrong())?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong());
    }
    let is_loopback = ["127.0.0.1", "[::1]", "localhost"].contains(&url.host_str().unwrap_or_default());
    let is_own =
        own.and_then(|own| reqwest::Url::parse(own).ok()).is_some_and(|own| own.origin() == url.origin());
    if url.scheme() == "https" || is_loopback || is_own { Ok(()) } else { Err(wrong()) }
}

/// A provider's text, shortened to one line.
pub(crate) fn line(text: &str) -> String {
    agent::tool::visible::line(&text.chars().take(200).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_comes_back_encrypted_or_to_its_own_machine_or_to_this_server() {
        let own = Some("http://sandbridge.lan:8080");
        for fine in [
            "https://a.example/",
            "http://127.0.0.1:4000/callback",
            "http://[::1]:1/",
            "http://localhost:3/x",
        ] {
            assert_eq!(check_redirect(fine, None), Ok(()));
        }
        assert_eq!(check_redirect("http://sandbridge.lan:8080/", own), Ok(()));
        for wrong in [
            "http://sandbridge.lan:8080/",
            "http://a.example/",
            "javascript:alert(1)",
            "https://a.example/?x=1",
            "x",
        ] {
            assert!(check_redirect(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_address_that_a_browser_comes_back_to_is_the_one_that_was_asked_for() {
        let wanted = "http://127.0.0.1:4000/callback";
        assert!(leads_to("http://127.0.0.1:4000/callback?code=1&state=2", wanted));
        for wrong in [
            "http://127.0.0.1:4001/callback?code=1",
            "https://127.0.0.1:4000/callback?code=1",
            "http://127.0.0.1:4000/callback/x?code=1",
            "http://a@127.0.0.1:4000/callback?code=1",
            "no address",
        ] {
            assert!(!leads_to(wrong, wanted), "{wrong}");
        }
    }
}
