//! A client of the transport that knows the end of a session by more than the specification's HTTP 404: after a restart, many servers,
//! `server-everything` and others written after the official examples among them, refuse a session that they do not know with HTTP 400
//! and an error without the id of the request.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;

type Error<C> = StreamableHttpError<<C as StreamableHttpClient>::Error>;
type Posted<C> = Result<StreamableHttpPostResponse, Error<C>>;

/// The client. With what it recognises, the transport begins another session, and sends the request again, once.
#[derive(Clone)]
pub(super) struct Sessions<C> {
    client: C,
    is_renewed: Arc<AtomicBool>,
}

impl<C> Sessions<C> {
    /// This client, and a flag that becomes true when its session ends: in the next one, nothing is subscribed to.
    pub(super) fn new(client: C) -> (Self, Arc<AtomicBool>) {
        let is_renewed = Arc::<AtomicBool>::default();
        (Self { client, is_renewed: Arc::clone(&is_renewed) }, is_renewed)
    }
}

/// What servers say of a session that they do not know, in lower case. The word alone is not enough: it may be about a session of a tool, and
/// a call that took effect must not be sent again.
const REFUSALS: [&str; 6] = [
    "no valid session",
    "invalid session",
    "session not found",
    "unknown session",
    "missing session id",
    "mcp-session-id",
];

/// The response to a message, as the end of its session if it is one. `asked` is the message's id, if it is a request.
fn judged<C: StreamableHttpClient>(
    asked: Option<&RequestId>,
    had_session: bool,
    posted: Posted<C>,
) -> Posted<C> {
    match posted {
        // An error with the request's id answers it: then the server has handled it, and it must not be sent again.
        Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(mut error), session_id))
            if asked.is_none() || error.id.as_ref() != asked =>
        {
            // A server that fails during a call says so with the code of internal errors, often without an id.
            let has_failed = error.error.code == ErrorCode::INTERNAL_ERROR;
            if had_session && !has_failed && refuses_session(&error.error.message) {
                return Err(StreamableHttpError::SessionExpired);
            }
            // An error without an id would not reach the request that it refuses, which would wait for its timeout.
            error.id = asked.cloned().or(error.id);
            Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session_id))
        }
        Err(StreamableHttpError::UnexpectedServerResponse(text))
            if had_session && text.starts_with("HTTP 400") && refuses_session(&text) =>
        {
            Err(StreamableHttpError::SessionExpired)
        }
        posted => posted,
    }
}

fn refuses_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    REFUSALS.iter().any(|refusal| text.contains(refusal))
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for Sessions<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Posted<C> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, token, custom, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Posted<C> {
        let had_session = session_id.is_some();
        let asked = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let posted = self
            .client
            .post_message_with_response_limits(uri, message, session_id, token, custom, limits)
            .await;
        let posted = judged::<C>(asked.as_ref(), had_session, posted);
        if matches!(posted, Err(StreamableHttpError::SessionExpired)) {
            self.is_renewed.store(true, Ordering::Relaxed);
        }
        posted
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error<C>> {
        self.client.delete_session(uri, session_id, token, custom).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error<C>> {
        self.client.get_stream(uri, session_id, last_event_id, token, custom).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error<C>> {
        self.client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                token,
                custom,
                max_sse_event_size,
            )
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_over(asked: Option<i64>, posted: Posted<reqwest::Client>) -> bool {
        let asked = asked.map(RequestId::Number);
        let judged = judged::<reqwest::Client>(asked.as_ref(), true, posted);
        matches!(judged, Err(StreamableHttpError::SessionExpired))
    }

    fn json(text: &str) -> Posted<reqwest::Client> {
        Ok(StreamableHttpPostResponse::Json(serde_json::from_str(text).unwrap(), None))
    }

    #[test]
    fn a_refusal_of_a_session_ends_it_and_another_refusal_reaches_its_request() {
        let refusal = |id: &str| {
            let error = r#"{"code": -32000, "message": "Bad Request: No valid session ID provided"}"#;
            json(&format!(r#"{{"jsonrpc": "2.0", {id} "error": {error}}}"#))
        };
        for id in ["", r#""id": null,"#, r#""id": "server-error","#, r#""id": 6,"#] {
            assert!(is_over(Some(7), refusal(id)), "{id}");
        }
        assert!(is_over(None, refusal("")));
        assert!(!is_over(Some(7), refusal(r#""id": 7,"#)), "it answers the request");
        let other = r#"{"jsonrpc": "2.0", "error": {"code": -32000, "message": "Parse error"}}"#;
        assert!(!is_over(Some(7), json(other)));
        for had_session in [true, false] {
            let asked = RequestId::Number(7);
            let told = judged::<reqwest::Client>(Some(&asked), had_session, json(other)).unwrap();
            let StreamableHttpPostResponse::Json(JsonRpcMessage::Error(told), _) = told else {
                panic!("it is an error")
            };
            assert_eq!(told.id, Some(asked), "its request gets it");
        }
        let said =
            r#"{"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": "no session"}]}}"#;
        assert!(!is_over(Some(7), json(said)));
        let text = |text: &'static str| Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
        assert!(is_over(Some(7), text("HTTP 400 Bad Request: Invalid or missing session ID")));
        assert!(!is_over(Some(7), text("HTTP 500 Internal Server Error: no valid session ID")));
    }

    #[test]
    fn a_failure_that_mentions_another_session_is_not_the_end_of_this_one() {
        let error = |code: i32, message: &str| {
            json(&format!(
                r#"{{"jsonrpc": "2.0", "id": null, "error": {{"code": {code}, "message": "{message}"}}}}"#
            ))
        };
        assert!(is_over(Some(7), error(-32000, "Bad Request: Mcp-Session-Id header is required")));
        for (code, message) in [
            (-32603, "database session is closed"),
            (-32603, "Session not found"),
            (-32000, "database session closed"),
            (-32000, "your login session has expired"),
        ] {
            assert!(!is_over(Some(7), error(code, message)), "{code} {message}");
        }
        for text in [
            "HTTP 500 Internal Server Error: database session closed",
            "HTTP 400 Bad Request: your login session has expired",
        ] {
            let failed = Err(StreamableHttpError::UnexpectedServerResponse(text.into()));
            assert!(!is_over(Some(7), failed), "{text}");
        }
    }
}
