//! The answer of a provider: the address to which it sends the browser back. Until it is used it is as good as a password, so nothing
//! here prints it.

use crate::limits::MCP_LOGIN_TEXT_BYTES;
use crate::output::short_line;

/// The answer that a login waits for.
pub(crate) struct Expected {
    /// The address to which the browser is sent back, without a query.
    address: String,
    /// The `state` that the answer must repeat, if the login has one. Without it, any page in the browser could pretend to be the provider.
    state: Option<String>,
}

impl Expected {
    /// The answer at `address` to a login that begins on the provider's page.
    pub(crate) fn new(address: &str, page: &str) -> Self {
        let page = page.split('#').next().unwrap_or_default();
        let state = page.split_once('?').and_then(|(_, query)| parameter(query, "state"));
        Self { address: address.to_owned(), state }
    }

    /// The address to which the browser is sent back, without a query.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The answer in an address, if the address answers this login. Browsers may leave out `http://` where they show an address.
    pub(crate) fn read(&self, address: &str) -> Option<Answer> {
        let address = address.trim().split('#').next()?;
        let (place, query) = address.split_once('?')?;
        let is_there = place == self.address || Some(place) == self.address.strip_prefix("http://");
        if !is_there || address.len() > MCP_LOGIN_TEXT_BYTES {
            return None;
        }
        let named = |name: &str| parameter(query, name).filter(|value| !value.is_empty());
        let (code, error, state) = (named("code"), named("error"), named("state"));
        // Some providers omit `state` when they refuse a login.
        let is_ours = match (&self.state, &state) {
            (Some(wanted), Some(state)) => wanted == state,
            (Some(_), None) => error.is_some(),
            (None, _) => true,
        };
        let refusal = error.map(|error| refusal(&error, named("error_description").as_deref()));
        (is_ours && (code.is_some() || refusal.is_some()))
            .then(|| Answer { url: format!("{}?{query}", self.address), refusal })
    }
}

/// A provider's answer to a login.
pub(crate) struct Answer {
    /// The complete address to which the browser was sent back.
    pub(crate) url: String,
    /// Why the provider refused the login, in words, if it did.
    pub(crate) refusal: Option<String>,
}

/// A provider's error, in words. The texts may come from anyone, so they are kept on one line.
fn refusal(error: &str, description: Option<&str>) -> String {
    let what = match error {
        "access_denied" => "the login was declined on the provider's page",
        "server_error" | "temporarily_unavailable" => {
            "the provider cannot log you in at the moment; try again later"
        }
        _ => "the provider refused the login",
    };
    let error = short_line(error);
    match description {
        Some(description) => format!("{what} ({error}: {})", short_line(description)),
        None => format!("{what} ({error})"),
    }
}

/// The first value with this name in a query.
fn parameter(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (named, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(named) == name).then(|| decoded(value))
    })
}

/// Decodes a part of a query; an invalid escape stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let coded = match (first, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        bytes.push(coded.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "http://127.0.0.1:4000/callback";

    fn expected() -> Expected {
        Expected::new(HERE, "https://id.example/authorize?client_id=a&state=x%2By&scope=mcp#top")
    }

    fn read(query: &str) -> Option<Answer> {
        expected().read(&format!("{HERE}?{query}"))
    }

    #[test]
    fn an_answer_is_kept_whole() {
        let answer = read("code=a%20b&state=x%2by&iss=https%3A%2F%2Fid.example").unwrap();
        assert_eq!(
            answer.url,
            "http://127.0.0.1:4000/callback?code=a%20b&state=x%2by&iss=https%3A%2F%2Fid.example"
        );
        assert!(answer.refusal.is_none());
        // The forms in which users paste it.
        for pasted in [
            "  http://127.0.0.1:4000/callback?code=1&state=x%2By#_=_\n",
            "127.0.0.1:4000/callback?code=1&state=x%2By",
        ] {
            assert_eq!(
                expected().read(pasted).unwrap().url,
                "http://127.0.0.1:4000/callback?code=1&state=x%2By"
            );
        }
    }

    #[test]
    fn what_is_no_answer_to_this_login_is_left_out() {
        for query in [
            "",
            "code=1",
            "state=x%2By",
            "code=&state=x%2By",
            "code=1&state=x+y",
            "code=1&state=other",
            "error=x&state=other",
            "code=1&State=x%2By",
        ] {
            assert!(read(query).is_none(), "{query}");
        }
        for address in [
            HERE,
            "",
            "https://127.0.0.1:4000/callback?code=1&state=x%2By",
            "http://127.0.0.1:4000/callback/?code=1&state=x%2By",
            "http://127.0.0.1:40/callback?code=1&state=x%2By",
        ] {
            assert!(expected().read(address).is_none(), "{address}");
        }
        let long = |length: usize| read(&format!("state=x%2By&code={}", "c".repeat(length)));
        assert!(long(MCP_LOGIN_TEXT_BYTES - 100).is_some() && long(MCP_LOGIN_TEXT_BYTES).is_none());
        let unmarked = Expected::new(HERE, "https://id.example/authorize");
        assert!(unmarked.read(&format!("{HERE}?code=1")).is_some());
    }

    #[test]
    fn a_refusal_is_put_in_words_and_stays_on_its_line() {
        let words = |query: &str| read(query).unwrap().refusal.unwrap();
        assert_eq!(
            words("error=access_denied"),
            "the login was declined on the provider's page (access_denied)"
        );
        assert_eq!(
            words("state=x%2By&error=invalid_scope&error_description=no+such%0A%1B%5B2J%E2%80%AEscope%ff"),
            "the provider refused the login (invalid_scope: no such\\n\\u{1b}[2J\\u{202e}scope\u{fffd})"
        );
        // A code that comes with an error is ignored.
        assert!(words("code=1&state=x%2By&error=server_error").starts_with("the provider cannot"));
    }

    #[test]
    fn queries_are_decoded_as_far_as_they_can_be() {
        for (coded, text) in [
            ("a+b%2Bc", "a b+c"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%C3%A4", "ä"),
            ("100%é", "100%é"),
        ] {
            assert_eq!(decoded(coded), text);
        }
        assert_eq!(parameter("a&b=1&%62=2", "b").as_deref(), Some("1"));
        assert_eq!(parameter("a&b=1", "a").as_deref(), Some(""));
        assert_eq!(parameter("ab=1", "a"), None);
    }
}
