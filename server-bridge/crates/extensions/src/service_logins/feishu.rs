//! The requests to Feishu's login, and its responses. There is no I/O here.
//!
//! Feishu's documentation calls a person's token `user_access_token`; that token and its refresh token are issued by
//! `authen/v2/oauth/token`. Each refresh token is accepted once.

use reqwest::Url;
use serde_json::{Value, json};

use crate::limits::SERVICE_TOKEN_BYTES;
use crate::way_back::line;

/// The permissions to ask for; the app must have them. Without the first one, tokens cannot be refreshed.
const SCOPES: &str = "offline_access bitable:app docx:document drive:drive wiki:wiki";

/// Error codes for a refresh token that was used or revoked, has expired, or belongs to another app.
const ENDED_CODES: [i64; 6] = [20_024, 20_026, 20_037, 20_064, 20_073, 20_074];

/// Error codes of calls whose token has expired or was revoked.
const STALE_CODES: [i64; 6] = [99_991_661, 99_991_663, 99_991_664, 99_991_668, 99_991_669, 99_991_677];

/// The shortest text that is accepted as a token.
const TOKEN_MIN_BYTES: usize = 8;

/// The tokens that Feishu issues.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) lifetime_s: u64,
    pub(super) refresh_token: Option<String>,
}

/// The reason why Feishu issued no tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The user has to log in again.
    Ended(String),
    /// A retry may help.
    Failed(String),
}

/// The login page for the user's browser; `None` if the domain is not a valid URL.
pub(super) fn page(
    domain: &str,
    client_id: &str,
    redirect_uri: &str,
    state: &str,
    challenge: &str,
) -> Option<String> {
    let page = Url::parse_with_params(
        &format!("{domain}/open-apis/authen/v1/authorize"),
        [
            ("client_id", client_id),
            ("response_type", "code"),
            ("redirect_uri", redirect_uri),
            ("scope", SCOPES),
            ("state", state),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
        ],
    );
    page.ok().map(String::from)
}

/// The address of the token endpoint.
pub(super) fn token_url(domain: &str) -> String {
    format!("{domain}/open-apis/authen/v2/oauth/token")
}

/// The request that exchanges a login's code for tokens.
pub(super) fn by_code(
    client_id: &str,
    secret: &str,
    code: &str,
    redirect_uri: &str,
    verifier: &str,
) -> Value {
    json!({
        "grant_type": "authorization_code", "client_id": client_id, "client_secret": secret, "code": code,
        "redirect_uri": redirect_uri, "code_verifier": verifier,
    })
}

/// The request that exchanges a refresh token for new tokens.
pub(super) fn by_refresh(client_id: &str, secret: &str, refresh_token: &str) -> Value {
    json!({
        "grant_type": "refresh_token", "client_id": client_id, "client_secret": secret, "refresh_token": refresh_token,
    })
}

/// Reads the response to a token request.
pub(super) fn tokens(status: u16, answer: &[u8]) -> Result<Tokens, Refused> {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let text = |key: &str| answer[key].as_str().unwrap_or_default();
    let code = answer["code"].as_i64();
    if !(200..300).contains(&status) || code.is_some_and(|code| code != 0) || !text("error").is_empty() {
        let why = ["error_description", "msg", "error"].map(text).into_iter().find(|why| !why.is_empty());
        let number = code.map_or(i64::from(status), |code| code);
        let why = format!("{} ({number})", line(why.unwrap_or("no reason was given")));
        let is_over =
            code.is_some_and(|code| ENDED_CODES.contains(&code)) || text("error") == "invalid_grant";
        return Err(if is_over { Refused::Ended(why) } else { Refused::Failed(why) });
    }
    let token = |key: &str| {
        let token = answer[key].as_str().filter(|token| is_token(token));
        token.map(str::to_owned)
    };
    let Some(access_token) = token("access_token") else {
        return Err(Refused::Failed("the response has no token".to_owned()));
    };
    let lifetime_s = answer["expires_in"].as_u64().unwrap_or(0);
    Ok(Tokens { access_token, lifetime_s, refresh_token: token("refresh_token") })
}

/// True if the response to a call reports that its token is no longer valid; such a call was not carried out.
pub(super) fn is_stale(answer: &[u8]) -> bool {
    code_of(answer).is_some_and(|code| STALE_CODES.contains(&code))
}

/// True if the response to a call reports a failure, which Feishu may send with a success status.
pub(super) fn is_failure(answer: &[u8]) -> bool {
    code_of(answer).is_some_and(|code| code != 0)
}

fn code_of(answer: &[u8]) -> Option<i64> {
    serde_json::from_slice::<Value>(answer).ok()?["code"].as_i64()
}

fn is_token(text: &str) -> bool {
    (TOKEN_MIN_BYTES..=SERVICE_TOKEN_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_requests_are_those_of_the_official_package() {
        let official: Value = serde_json::from_str(include_str!("official.json")).unwrap();
        let page = page("https://open.feishu.cn", "cli_1", "http://127.0.0.1:3000/callback", "ST", "CH");
        let page = Url::parse(&page.unwrap()).unwrap();
        assert_eq!(page.path(), official["authorize"]["path"]);
        let mut query: BTreeMap<String, String> = page.query_pairs().into_owned().collect();
        let scope = query.insert("scope".to_owned(), "offline_access docx:document".to_owned()).unwrap();
        assert!(scope.starts_with("offline_access ") && scope.contains("docx:document"));
        assert_eq!(serde_json::to_value(query).unwrap(), official["authorize"]["query"]);
        assert_eq!(
            token_url("https://open.feishu.cn"),
            "https://open.feishu.cn/open-apis/authen/v2/oauth/token"
        );
        assert_eq!(official["token"]["target"], "/open-apis/authen/v2/oauth/token");
        let code = by_code("cli_1", "s3cret", "C", "http://127.0.0.1:3000/callback", "V");
        assert_eq!(code, official["token"]["by_code"]);
        assert_eq!(by_refresh("cli_1", "s3cret", "ur-1"), official["token"]["by_refresh"]);
    }

    #[test]
    fn an_answer_is_tokens_or_says_if_another_try_may_help() {
        let of = |status, answer: Value| tokens(status, answer.to_string().as_bytes());
        let fine = json!({"code": 0, "access_token": "u-12345678", "expires_in": 7200, "refresh_token": "ur-12345678"});
        let read = of(200, fine).ok().unwrap();
        assert_eq!((read.access_token.as_str(), read.lifetime_s), ("u-12345678", 7200));
        assert_eq!(read.refresh_token.as_deref(), Some("ur-12345678"));
        let ended = |code: i64| json!({"code": code, "error": "x", "error_description": "used\u{202e} up"});
        for code in ENDED_CODES {
            let Err(Refused::Ended(why)) = of(400, ended(code)) else { panic!("{code}") };
            assert!(why.contains(&code.to_string()) && !why.contains('\u{202e}'), "{why}");
        }
        assert!(matches!(of(400, json!({"error": "invalid_grant"})), Err(Refused::Ended(_))));
        for (status, answer) in [
            (400, ended(20_050)),
            (503, json!({})),
            (200, json!({"code": 20_002, "msg": "no"})),
            (200, json!({"code": 0})),
            (200, json!({"access_token": "u-1234\r\n5678"})),
            (200, json!({"access_token": "short"})),
            (200, json!({"access_token": "x".repeat(SERVICE_TOKEN_BYTES + 1)})),
            (200, json!([])),
        ] {
            assert!(matches!(of(status, answer.clone()), Err(Refused::Failed(_))), "{answer}");
        }
    }

    #[test]
    fn a_call_tells_a_token_that_ended_from_other_failures() {
        let of = |code: i64| json!({"code": code, "msg": "m"}).to_string().into_bytes();
        assert!(is_stale(&of(99_991_677)) && is_failure(&of(99_991_677)));
        assert!(!is_stale(&of(1_254_040)) && is_failure(&of(1_254_040)));
        assert!(!is_stale(&of(0)) && !is_failure(&of(0)) && !is_failure(b"{"));
    }
}
