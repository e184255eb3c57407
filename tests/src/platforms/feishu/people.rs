//! People who let an application act for them: the page where they agree, the tokens, and calls with these.
//!
//! Checks what Feishu's documentation requires: a redirect URL that the application lists, PKCE with S256, and that each code and each
//! refresh token is used once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{APP_ID, APP_SECRET};
use crate::platforms::serve::{Reply, Request};

/// The prefix of every token of a person.
pub(super) const TOKEN_MARK: &str = "u-planted";

/// The permissions of the application.
const SCOPES: [&str; 5] = ["offline_access", "bitable:app", "docx:document", "drive:drive", "wiki:wiki"];

/// A call of a person's tool.
#[derive(Clone, Debug)]
pub struct PersonsCall {
    /// The person whose token it had.
    pub person: String,
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The body; an empty object if there was none.
    pub body: Value,
}

/// A code that a page has given to the application, before it has tokens.
struct Code {
    person: String,
    redirect_uri: String,
    challenge: String,
}

/// The people's side of the stand-in.
pub(super) struct People {
    /// The person in front of the browser; without one, no one agrees.
    pub(super) person: Option<String>,
    /// The redirect URLs of the application.
    pub(super) redirects: Vec<String>,
    /// How long a token lives.
    pub(super) lifetime: Duration,
    codes: HashMap<String, Code>,
    tokens: HashMap<String, (String, Instant)>,
    refresh_tokens: HashMap<String, String>,
    pub(super) refreshes: usize,
    pub(super) calls: Vec<PersonsCall>,
    /// The next answers to requests for tokens.
    pub(super) faults: Vec<Reply>,
    next: usize,
}

impl Default for People {
    fn default() -> Self {
        Self {
            person: None,
            redirects: Vec::new(),
            lifetime: Duration::from_secs(7200),
            codes: HashMap::new(),
            tokens: HashMap::new(),
            refresh_tokens: HashMap::new(),
            refreshes: 0,
            calls: Vec::new(),
            faults: Vec::new(),
            next: 0,
        }
    }
}

fn refused(code: i64, error: &str, why: &str) -> Reply {
    Reply::json(400, &json!({"code": code, "error": error, "error_description": why}))
}

impl People {
    /// The page where a person agrees: it redirects the browser.
    pub(super) fn page(&mut self, request: &Request) -> Reply {
        let named = |name: &str| request.query(name).unwrap_or_default();
        let redirect_uri = named("redirect_uri");
        if named("client_id") != APP_ID || !self.redirects.contains(&redirect_uri) {
            return refused(20_029, "invalid_request", "redirect_uri does not match");
        }
        let (challenge, scope) = (named("code_challenge"), named("scope"));
        if named("response_type") != "code"
            || named("code_challenge_method") != "S256"
            || challenge.len() != 43
        {
            return refused(20_063, "invalid_request", "the request has no challenge");
        }
        if !scope.split(' ').all(|scope| SCOPES.contains(&scope)) {
            return refused(20_027, "invalid_scope", "the application has no such permission");
        }
        let state = crate::http::encode(&named("state"));
        let Some(person) = self.person.clone() else {
            let why = "error=access_denied&error_description=no%20thanks";
            return Reply::moved(&format!("{redirect_uri}?{why}&state={state}"));
        };
        self.next += 1;
        let code = format!("code-planted-{}", self.next);
        self.codes.insert(code.clone(), Code { person, redirect_uri: redirect_uri.clone(), challenge });
        Reply::moved(&format!("{redirect_uri}?code={code}&state={state}"))
    }

    /// Issues tokens for a code or for a refresh token.
    pub(super) fn token(&mut self, request: &Request) -> Reply {
        let body = request.json();
        if !request.header("content-type").starts_with("application/json") {
            return refused(20_001, "invalid_request", "the body is not JSON");
        }
        if let Some(fault) = self.faults.pop() {
            return fault;
        }
        if body["client_id"] != APP_ID || body["client_secret"] != APP_SECRET {
            return refused(20_002, "invalid_client", "The client secret is invalid.");
        }
        let text = |key: &str| body[key].as_str().unwrap_or_default();
        let person = match text("grant_type") {
            "authorization_code" => {
                let Some(code) = self.codes.remove(text("code")) else {
                    return refused(20_003, "invalid_grant", "The authorization code is not found.");
                };
                let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text("code_verifier")));
                if code.redirect_uri != text("redirect_uri") || code.challenge != challenge {
                    return refused(20_049, "invalid_grant", "The PKCE code challenge failed.");
                }
                code.person
            }
            "refresh_token" => {
                self.refreshes += 1;
                match self.refresh_tokens.remove(text("refresh_token")) {
                    Some(person) => person,
                    None => return refused(20_064, "invalid_grant", "The refresh token has been revoked."),
                }
            }
            _ => return refused(20_036, "unsupported_grant_type", "The grant_type is not supported."),
        };
        let (token, refresh) = self.issue(&person);
        Reply::json(
            200,
            &json!({
                "code": 0, "access_token": token, "token_type": "Bearer", "expires_in": self.lifetime.as_secs(),
                "refresh_token": refresh, "refresh_token_expires_in": 604_800, "scope": SCOPES.join(" "),
            }),
        )
    }

    /// Issues new tokens for a person.
    pub(super) fn issue(&mut self, person: &str) -> (String, String) {
        self.next += 1;
        let token = format!("{TOKEN_MARK}-token-{}", self.next);
        let refresh = format!("ur-planted-refresh-{}", self.next);
        self.tokens.insert(token.clone(), (person.to_owned(), Instant::now() + self.lifetime));
        self.refresh_tokens.insert(refresh.clone(), person.to_owned());
        (token, refresh)
    }

    /// Revokes all access tokens of people; if `all` is true, also the refresh tokens, as if the people had removed the application.
    pub(super) fn revoke(&mut self, all: bool) {
        self.tokens.clear();
        if all {
            self.refresh_tokens.clear();
        }
    }

    /// The tokens that are valid now.
    pub(super) fn valid(&self) -> usize {
        self.tokens.values().filter(|(_, until)| Instant::now() < *until).count()
    }

    /// A call with a person's token.
    pub(super) fn call(&mut self, token: &str, request: &Request) -> Reply {
        let person = self.tokens.get(token).filter(|(_, until)| Instant::now() < *until);
        let Some((person, _)) = person.cloned() else {
            return Reply::json(401, &json!({"code": 99_991_677, "msg": "Authentication token expired"}));
        };
        let body = if request.body.is_empty() { json!({}) } else { request.json() };
        let query = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
        let target = format!("{}{query}", request.path);
        let method = request.method.clone();
        if target.contains("forbidden") {
            return Reply::json(
                200,
                &json!({"code": 1_254_302, "msg": format!("{token} has no permission")}),
            );
        }
        let data = json!({"person": person, "called": target, "with": token});
        self.calls.push(PersonsCall { person, method, target, body });
        Reply::json(200, &json!({"code": 0, "msg": "success", "data": data}))
    }
}
