//! A client that sends the user's token with each request.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::auth::{AuthError, AuthorizationManager};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use super::Grants;
use super::own::OwnClient;

type Error<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;

/// A client that sends the token of a grant with each request. A token that has expired, or that the server refuses, is refreshed once
/// for all clients of the grant: the others find the new one.
#[derive(Clone)]
pub(in crate::mcp) struct LoggedIn<C> {
    pub(super) http: C,
    pub(super) renewal: Renewal,
    pub(super) grants: Grants,
}

/// The way to get a new token.
#[derive(Clone)]
pub(super) enum Renewal {
    /// Only a login of the user.
    Login,
    /// A refresh of what was granted.
    Refresh(Arc<AuthorizationManager>),
    /// The client credentials in the server's definition.
    Own(Arc<OwnClient>),
}

impl<C: StreamableHttpClient + Sync> LoggedIn<C> {
    /// The token to send; `None` without a grant.
    pub(super) async fn token(&self) -> Result<Option<String>, Error<C>> {
        if matches!(self.renewal, Renewal::Login) {
            return Ok(None);
        }
        match self.grants.token().await? {
            None => Ok(None),
            Some((token, false)) => Ok(Some(token)),
            Some((token, true)) => self.renewed(&token, None).await,
        }
    }

    /// A token to replace an expired one, if there was one; `None` if the user has to log in. If the server refused a
    /// request, its challenge contains its requirements.
    pub(super) async fn renewed(
        &self,
        old: &str,
        challenge: Option<&str>,
    ) -> Result<Option<String>, Error<C>> {
        let (client, old, challenge) = (self.clone(), old.to_owned(), challenge.map(str::to_owned));
        // If a caller gives up, the refresh continues: the provider may have replaced the refresh token already.
        tokio::spawn(async move { client.renew(&old, challenge.as_deref()).await }).await?
    }

    async fn renew(&self, old: &str, challenge: Option<&str>) -> Result<Option<String>, Error<C>> {
        let _one_at_a_time = self.grants.refreshing.lock().await;
        let known = self.grants.token().await?;
        if let Some((token, false)) = &known
            && token != old
        {
            // Another client has already refreshed it.
            return Ok(Some(token.clone()));
        }
        let manager = match &self.renewal {
            Renewal::Login => return Ok(None),
            Renewal::Refresh(_) if known.is_none() => return Ok(None),
            Renewal::Refresh(manager) => manager,
            Renewal::Own(own) => return Ok(Some(own.token(&self.grants, challenge).await?)),
        };
        match manager.refresh_token().await {
            Ok(_) => Ok(self.grants.token().await?.map(|(token, _)| token)),
            Err(
                AuthError::TokenRefreshRejected(_)
                | AuthError::AuthorizationRequired
                | AuthError::TokenExpired,
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a request with a token; if the server refuses the token, once more with another one.
    async fn with_token<T, F, Fut>(&self, request: F) -> Result<T, Error<C>>
    where
        F: Fn(Option<String>) -> Fut,
        Fut: Future<Output = Result<T, Error<C>>>,
    {
        let token = self.token().await?;
        let refused = match request(token.clone()).await {
            Err(StreamableHttpError::AuthRequired(challenge)) => challenge,
            done => return done,
        };
        let token = token.unwrap_or_default();
        let again = match self.renewed(&token, Some(&refused.www_authenticate_header)).await? {
            Some(other) if other != token => request(Some(other)).await,
            _ => Err(StreamableHttpError::AuthRequired(refused)),
        };
        match again {
            // A login could not change anything.
            Err(StreamableHttpError::AuthRequired(_)) if matches!(self.renewal, Renewal::Own(_)) => {
                let why = "it refuses the token that its client credentials gave";
                Err(AuthError::ClientCredentialsError(why.to_owned()).into())
            }
            done => done,
        }
    }
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for LoggedIn<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error<C>> {
        self.with_token(|token| {
            let (uri, message) = (uri.clone(), message.clone());
            self.http.post_message(uri, message, session_id.clone(), token, custom_headers.clone())
        })
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Error<C>> {
        self.with_token(|token| {
            let (uri, message, session_id) = (uri.clone(), message.clone(), session_id.clone());
            let (headers, limits) = (custom_headers.clone(), limits);
            self.http.post_message_with_response_limits(uri, message, session_id, token, headers, limits)
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error<C>> {
        self.with_token(|token| {
            self.http.delete_session(uri.clone(), session_id.clone(), token, custom_headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error<C>> {
        self.with_token(|token| {
            let (session_id, last) = (session_id.clone(), last_event_id.clone());
            self.http.get_stream(uri.clone(), session_id, last, token, custom_headers.clone())
        })
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error<C>> {
        self.with_token(|token| {
            let (session_id, last, headers) =
                (session_id.clone(), last_event_id.clone(), custom_headers.clone());
            self.http.get_stream_with_max_sse_event_size(
                uri.clone(),
                session_id,
                last,
                token,
                headers,
                max_sse_event_size,
            )
        })
        .await
    }
}
