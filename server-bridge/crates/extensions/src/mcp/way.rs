//! The route of requests to a server and its login provider: from this server through the guard, or from the network of one of the user's
//! machines.

use guard::Talker;
use http::header::CONTENT_LENGTH;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use store::User;
use tokio::time::timeout;

use super::Inner;
use super::config::Address;
use crate::limits::{MCP_LOGIN_ANSWER_BYTES, MCP_LOGIN_REQUEST_PATIENCE};
use crate::via::{Failed, Request, Via};

/// The route. Cheap to clone.
#[derive(Clone)]
pub(super) enum Way {
    /// Requests are sent from this server.
    Server(Talker),
    /// Requests are sent from a machine, and only from there: a private address is another host in another network.
    Machine(Box<Via>),
}

impl Inner {
    /// The route to a user's server.
    pub(super) fn way(&self, user: &User, address: &Address) -> Way {
        match &address.via {
            Some(via) => Way::Machine(Box::new(Via::new(&self.ledger, &self.store, user, via))),
            None => Way::Server(self.talker.clone()),
        }
    }
}

/// Requests to providers: redirects are not followed, and responses are limited in size.
impl OAuthHttpClient for Way {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let patience = request.timeout.unwrap_or(MCP_LOGIN_REQUEST_PATIENCE);
            let sent = self.send(request.request);
            let patience = patience.min(MCP_LOGIN_REQUEST_PATIENCE);
            Ok(timeout(patience, sent).await.map_err(|_| guard::Error::Timeout)??)
        })
    }
}

impl Way {
    /// Checks an address that a provider named, without sending a request to it. A machine itself checks which hosts it
    /// reaches.
    pub(super) fn check(&self, url: &str) -> Result<(), guard::Error> {
        match self {
            Self::Server(talker) => talker.client(url).map(drop),
            Self::Machine(_) => guard::check_text(url).map(drop),
        }
    }

    /// Sends a request, and reads the whole response.
    pub(super) async fn send(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, guard::Error> {
        let (mut parts, body) = request.into_parts();
        let url = parts.uri.to_string();
        match self {
            Self::Server(talker) => {
                let (client, url) = talker.client(&url)?;
                answer(client.request(parts.method, url).headers(parts.headers).body(body)).await
            }
            Self::Machine(via) => {
                // The runner counts the body itself.
                parts.headers.remove(CONTENT_LENGTH);
                let request = Request {
                    method: parts.method,
                    url: guard::check_text(&url)?,
                    headers: parts.headers,
                    body: body.into(),
                    patience: MCP_LOGIN_REQUEST_PATIENCE,
                };
                let told = |failed: Failed| guard::Error::Network(failed.to_string());
                let answer = via.send(request).await.map_err(told)?;
                let mut whole = http::Response::new(Vec::new());
                *whole.status_mut() = http::StatusCode::from_u16(answer.status)
                    .map_err(|_| guard::Error::Network("its answer has an invalid HTTP status".to_owned()))?;
                whole.headers_mut().clone_from(&answer.headers);
                let (content, is_cut) = answer.first(MCP_LOGIN_ANSWER_BYTES).await.map_err(told)?;
                if is_cut {
                    return Err(too_long());
                }
                *whole.body_mut() = content.into();
                Ok(whole)
            }
        }
    }
}

fn too_long() -> guard::Error {
    guard::Error::TooLong(MCP_LOGIN_ANSWER_BYTES)
}

async fn answer(request: reqwest::RequestBuilder) -> Result<http::Response<Vec<u8>>, guard::Error> {
    let failed = |error: reqwest::Error| match guard::leads_inside(&error) {
        Some(inside) => guard::Error::from(inside.clone()),
        None => guard::Error::Network(guard::cause(&error)),
    };
    let mut response = request.send().await.map_err(failed)?;
    let mut whole = http::Response::new(Vec::new());
    *whole.status_mut() = response.status();
    *whole.headers_mut() = response.headers().clone();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if whole.body().len() + chunk.len() > MCP_LOGIN_ANSWER_BYTES {
            return Err(too_long());
        }
        whole.body_mut().extend_from_slice(&chunk);
    }
    Ok(whole)
}
