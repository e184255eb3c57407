//! Tokens for the client that a server's definition names: users do not log in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::{Serializer, byte_serialize};
use rmcp::transport::auth::{AuthError, AuthorizationMetadata, OAuthTokenResponse, StoredCredentials};
use tokio::time::timeout;

use super::{Grant, Grants, manager, now};
use crate::limits::MCP_LOGIN_REQUEST_PATIENCE;
use crate::mcp::credentials::{ClientCredentials, Proof};
use crate::mcp::way::Way;
use crate::way_back::line;

/// The type of an assertion, as OAuth names it.
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The client of a server's definition.
pub(in crate::mcp) struct OwnClient {
    way: Way,
    /// The server's address.
    url: String,
    credentials: ClientCredentials,
}

fn failed(why: impl Into<String>) -> AuthError {
    AuthError::ClientCredentialsError(why.into())
}

impl OwnClient {
    pub(super) fn new(way: Way, url: String, credentials: ClientCredentials) -> Self {
        Self { way, url, credentials }
    }

    /// A new token from the server's provider; it is stored with the others.
    pub(super) async fn token(&self, grants: &Grants, challenge: Option<&str>) -> Result<String, AuthError> {
        let work = self.exchange(grants, challenge);
        let response = timeout(MCP_LOGIN_REQUEST_PATIENCE, work).await;
        response.map_err(|_| failed("its login provider did not answer in time"))?
    }

    async fn exchange(&self, grants: &Grants, challenge: Option<&str>) -> Result<String, AuthError> {
        let mut manager = manager(&self.way, &self.url).await?;
        let found = manager.resolve_metadata_from_challenge(challenge).await?;
        if !found.source.is_discovered() {
            return Err(failed("it names no login provider for its client credentials"));
        }
        let metadata = found.metadata;
        let known = grants.read().await?.and_then(|grant| grant.credentials.issuer);
        if known.is_some() && known != metadata.issuer {
            return Err(failed(
                "its login provider changed, so these client credentials were not sent; if the change is right, add the server again",
            ));
        }
        manager.set_metadata(metadata.clone());
        let scopes = match &self.credentials.scopes[..] {
            [] => manager.select_scopes(None, &[]),
            own => own.to_vec(),
        };
        let request = self.request(&metadata, &scopes.join(" "))?;
        let answer = self.way.send(request).await.map_err(|error| {
            failed(format!("the request to its login provider failed: {}", line(&error.to_string())))
        })?;
        if !answer.status().is_success() {
            let why = serde_json::from_slice::<serde_json::Value>(answer.body()).unwrap_or_default();
            let part = |name: &str| line(why[name].as_str().unwrap_or_default());
            let words = format!("{} {}", part("error"), part("error_description"));
            return Err(failed(
                format!(
                    "its login provider refused the client credentials: {} {words}",
                    answer.status().as_u16()
                )
                .trim_end(),
            ));
        }
        let response: OAuthTokenResponse = serde_json::from_slice(answer.body())
            .map_err(|_| failed("its login provider answered with something other than a token"))?;
        let credentials = StoredCredentials::new(
            self.credentials.client_id.clone(),
            Some(response),
            Vec::new(),
            Some(now()),
        );
        let credentials = credentials.with_issuer(metadata.issuer);
        grants.write(&Grant { credentials, client_secret: None, redirect_uri: String::new() }).await?;
        let token = grants.token().await?.map(|(token, _)| token);
        token.ok_or_else(|| failed("its login provider answered without a token"))
    }

    /// The request for a token.
    fn request(
        &self,
        metadata: &AuthorizationMetadata,
        scope: &str,
    ) -> Result<http::Request<Vec<u8>>, AuthError> {
        let endpoint = reqwest::Url::parse(&metadata.token_endpoint)?;
        if endpoint.scheme() != "https" && self.url.starts_with("https:") {
            return Err(failed("its login provider's address is not encrypted"));
        }
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials").append_pair("resource", &self.url);
        if !scope.is_empty() {
            form.append_pair("scope", scope);
        }
        let mut request = http::Request::post(endpoint.as_str())
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json");
        let id = &self.credentials.client_id;
        match &self.credentials.proof {
            Proof::Secret(secret) if takes_form(metadata) => {
                form.append_pair("client_id", id).append_pair("client_secret", secret);
            }
            Proof::Secret(secret) => {
                let part = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let both = STANDARD.encode(format!("{}:{}", part(id), part(secret)));
                request = request.header("authorization", format!("Basic {both}"));
            }
            Proof::Key { .. } => {
                let issuer = metadata
                    .issuer
                    .as_deref()
                    .ok_or_else(|| failed("its login provider's metadata names no issuer"))?;
                if let Some(assertion) = self.credentials.proof.assertion(id, issuer) {
                    form.append_pair("client_assertion_type", ASSERTION_TYPE);
                    form.append_pair("client_assertion", &assertion.map_err(failed)?);
                }
            }
        }
        request.body(form.finish().into_bytes()).map_err(|error| failed(error.to_string()))
    }
}

/// True if a provider accepts secrets only in the form body; every other provider accepts them in a header.
fn takes_form(metadata: &AuthorizationMetadata) -> bool {
    let methods = metadata.additional_fields.get("token_endpoint_auth_methods_supported");
    let has = |method: &str| {
        let methods = methods.and_then(|methods| methods.as_array());
        methods.is_some_and(|methods| methods.iter().any(|known| known == method))
    };
    has("client_secret_post") && !has("client_secret_basic")
}
