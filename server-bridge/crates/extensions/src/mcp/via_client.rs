//! Streamable HTTP from the network of one of the user's machines: the transport of crate `rmcp`, over the runner's
//! requests.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::{Sse, SseStream};

use super::sse_bound::EventBound;
use crate::limits::{MCP_LINE_BYTES, MCP_VIA_PATIENCE};
use crate::via::{Answer, Failed, Request, Via};

type Error = StreamableHttpError<Failed>;

/// Headers that the transport sets; a definition cannot set them.
const RESERVED: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];

/// The longest `Retry-After` that is read, in bytes.
const RETRY_AFTER_BYTES: usize = 128;

/// The transport's client for one machine.
#[derive(Clone)]
pub(super) struct ViaClient(pub(super) Via);

/// The headers that each request may have.
struct Head {
    session_id: Option<Arc<str>>,
    last_event_id: Option<String>,
    token: Option<String>,
    custom: HashMap<HeaderName, HeaderValue>,
}

impl Head {
    fn headers(self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in self.custom {
            if RESERVED.contains(&name.as_str()) {
                return Err(Error::ReservedHeaderConflict(name.to_string()));
            }
            headers.insert(name, value);
        }
        let mut insert = |name: &str, text: &str| {
            let invalid = || Error::UnexpectedServerResponse(Cow::Borrowed("it named an invalid header"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            headers.insert(name, HeaderValue::from_str(text).map_err(|_| invalid())?);
            Ok::<_, Error>(())
        };
        if let Some(session_id) = &self.session_id {
            insert(HEADER_SESSION_ID, session_id)?;
        }
        if let Some(last) = &self.last_event_id {
            insert(HEADER_LAST_EVENT_ID, last)?;
        }
        if let Some(token) = &self.token {
            insert(AUTHORIZATION.as_str(), &format!("Bearer {token}"))?;
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(headers)
    }
}

impl ViaClient {
    async fn ask(&self, method: Method, uri: &str, headers: HeaderMap, body: Bytes) -> Result<Answer, Error> {
        let url = guard::check_text(uri).map_err(|error| Error::Client(error.into()))?;
        let request = Request { method, url, headers, body, patience: MCP_VIA_PATIENCE };
        self.0.send(request).await.map_err(Error::Client)
    }
}

fn both_types() -> HeaderValue {
    HeaderValue::from_static("text/event-stream, application/json")
}

fn status_of(answer: &Answer) -> StatusCode {
    StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY)
}

/// True if a media type is this one, with any parameters.
fn is_type(answer: &Answer, wanted: &str) -> bool {
    let kind = answer.header(CONTENT_TYPE).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

/// Fails if the server requires a login, or more permissions than the current one has.
fn check_login(answer: &Answer) -> Result<(), Error> {
    let Some(challenge) = answer.headers.get(WWW_AUTHENTICATE) else { return Ok(()) };
    let challenge = || match challenge.to_str() {
        Ok(challenge) => Ok(challenge.to_owned()),
        Err(_) => Err(Error::UnexpectedServerResponse(Cow::Borrowed("its challenge is not a text"))),
    };
    match status_of(answer) {
        StatusCode::UNAUTHORIZED => Err(Error::AuthRequired(AuthRequiredError::new(challenge()?))),
        StatusCode::FORBIDDEN => {
            let challenge = challenge()?;
            let scope = scope_of(&challenge);
            Err(Error::InsufficientScope(InsufficientScopeError::new(challenge, scope)))
        }
        _ => Ok(()),
    }
}

/// The permissions that a challenge lists.
fn scope_of(challenge: &str) -> Option<String> {
    let at = challenge.to_ascii_lowercase().find("scope=")?;
    let value = &challenge[at + "scope=".len()..];
    let scope = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => value.split(|c: char| c == ',' || c == ';' || c.is_whitespace()).next()?,
    };
    (!scope.is_empty()).then(|| scope.to_owned())
}

/// The error status of a server that is busy or broken; `None` for other responses.
fn busy_or_broken(answer: &Answer) -> Option<HttpStatusError> {
    let status = status_of(answer);
    let retry_after = answer.header(RETRY_AFTER).filter(|text| text.len() <= RETRY_AFTER_BYTES);
    (status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error())
        .then(|| HttpStatusError::new(status.as_u16(), retry_after.map(str::to_owned)))
}

/// The events of a response, each limited in size.
fn events(answer: Answer, most_bytes: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut bound = EventBound::new(most_bytes);
    let pieces = answer.stream().map_err(std::io::Error::other).map(move |piece| {
        let piece = piece?;
        if bound.takes(&piece) {
            return Ok(piece);
        }
        Err(std::io::Error::other(format!("an event is longer than {most_bytes} bytes")))
    });
    // Nothing follows an error.
    let pieces = pieces.scan(false, |has_failed, piece| {
        let is_over = std::mem::replace(has_failed, piece.is_err());
        std::future::ready((!is_over).then_some(piece))
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

/// The whole body of a response.
async fn whole(answer: Answer, most_bytes: usize) -> Result<Bytes, Error> {
    let too_large = Error::ResponseBodyTooLarge { max_size: most_bytes };
    if answer.length().is_some_and(|length| length > most_bytes as u64) {
        return Err(too_large);
    }
    let (content, is_cut) = answer.first(most_bytes).await.map_err(Error::Client)?;
    if is_cut { Err(too_large) } else { Ok(content) }
}

/// True for a message that needs no answer, because it is not a request.
fn awaits_nothing(message: &ClientJsonRpcMessage) -> bool {
    !matches!(message, JsonRpcMessage::Request(_))
}

/// The error that a server of the older era sends for a request that it does not know, as the answer to that request: many send it
/// without the request's id, or not as a message at all.
fn rejected_discovery(
    message: &ClientJsonRpcMessage,
    had_session: bool,
    status: StatusCode,
    error: Option<ErrorData>,
) -> Option<StreamableHttpPostResponse> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if had_session
        || is_login
        || !status.is_client_error()
        || !matches!(request.request, ClientRequest::DiscoverRequest(_))
    {
        return None;
    }
    let refused =
        || ErrorData::invalid_request(format!("it refused server/discover with HTTP {status}"), None);
    let error = ServerJsonRpcMessage::error(error.unwrap_or_else(refused), Some(request.id.clone()));
    Some(StreamableHttpPostResponse::Json(error, None))
}

/// Converts a response that reports a failure to a message or an error.
async fn failure(
    answer: Answer,
    message: &ClientJsonRpcMessage,
    had_session: bool,
    session_id: Option<String>,
    limits: StreamableHttpResponseLimits,
) -> Result<StreamableHttpPostResponse, Error> {
    let (status, is_json) = (status_of(&answer), is_type(&answer, JSON_MIME_TYPE));
    let broken = match busy_or_broken(&answer) {
        Some(broken) if !is_json || status == StatusCode::TOO_MANY_REQUESTS => return Err(broken.into()),
        broken => broken,
    };
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let content = match is_json && !is_login {
        true => match whole(answer, limits.max_json_response_size).await {
            Err(Error::ResponseBodyTooLarge { .. }) if broken.is_some() => Bytes::new(),
            content => content?,
        },
        false => answer.first(limits.max_error_response_size).await.map_err(Error::Client)?.0,
    };
    let known = match serde_json::from_slice::<ServerJsonRpcMessage>(&content) {
        Ok(JsonRpcMessage::Error(error)) if is_json && !is_login => Some(error),
        _ => None,
    };
    if let Some(rejected) =
        rejected_discovery(message, had_session, status, known.as_ref().map(|known| known.error.clone()))
    {
        return Ok(rejected);
    }
    if let Some(mut error) = known {
        // Only HTTP 400 may refuse a session; with another status, the error answers the request.
        if let JsonRpcMessage::Request(request) = message
            && status != StatusCode::BAD_REQUEST
        {
            error.id = Some(request.id.clone());
        }
        return Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), session_id));
    }
    if let Some(broken) = broken {
        return Err(broken.into());
    }
    let text = String::from_utf8_lossy(&content[..content.len().min(limits.max_error_response_size)]);
    Err(Error::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}: {text}"))))
}

impl StreamableHttpClient for ViaClient {
    type Error = Failed;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
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
    ) -> Result<StreamableHttpPostResponse, Error> {
        let had_session = session_id.is_some();
        let mut headers = Head { session_id, last_event_id: None, token, custom }.headers()?;
        headers.insert(ACCEPT, both_types());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_MIME_TYPE));
        let body = serde_json::to_vec(&message)?;
        let answer = self.ask(Method::POST, &uri, headers, body.into()).await?;
        check_login(&answer)?;
        let status = status_of(&answer);
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if had_session => return Err(Error::SessionExpired),
            _ => {}
        }
        let session_id = answer.header(HEADER_SESSION_ID).map(str::to_owned);
        if !status.is_success() {
            return failure(answer, &message, had_session, session_id, limits).await;
        }
        if is_type(&answer, EVENT_STREAM_MIME_TYPE) {
            let events = events(answer, limits.max_sse_event_size);
            return Ok(StreamableHttpPostResponse::Sse(events, session_id));
        }
        if awaits_nothing(&message) && (answer.length() == Some(0) || !is_type(&answer, JSON_MIME_TYPE)) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !is_type(&answer, JSON_MIME_TYPE) {
            return Err(Error::UnexpectedContentType(answer.header(CONTENT_TYPE).map(str::to_owned)));
        }
        let content = whole(answer, limits.max_json_response_size).await?;
        match serde_json::from_slice(&content) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session_id)),
            Err(_) if awaits_nothing(&message) => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(Error::UnexpectedServerResponse(Cow::Owned(format!(
                "its response is not a valid message: {error}"
            )))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        let headers = Head { session_id: Some(session_id), last_event_id: None, token, custom }.headers()?;
        let answer = self.ask(Method::DELETE, &uri, headers, Bytes::new()).await?;
        let status = status_of(&answer);
        match status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            true => Ok(()),
            false => Err(HttpStatusError::new(status.as_u16(), None).into()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        let most_bytes = MCP_LINE_BYTES;
        self.get_stream_with_max_sse_event_size(uri, session_id, last_event_id, token, custom, most_bytes)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        let mut headers = Head { session_id, last_event_id, token, custom }.headers()?;
        headers.insert(ACCEPT, both_types());
        let answer = self.ask(Method::GET, &uri, headers, Bytes::new()).await?;
        if status_of(&answer) == StatusCode::METHOD_NOT_ALLOWED {
            return Err(Error::ServerDoesNotSupportSse);
        }
        check_login(&answer)?;
        if let Some(broken) = busy_or_broken(&answer) {
            return Err(broken.into());
        }
        let status = status_of(&answer);
        if !status.is_success() {
            return Err(Error::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}"))));
        }
        if !is_type(&answer, EVENT_STREAM_MIME_TYPE) && !is_type(&answer, JSON_MIME_TYPE) {
            return Err(Error::UnexpectedContentType(answer.header(CONTENT_TYPE).map(str::to_owned)));
        }
        Ok(events(answer, max_sse_event_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_names_its_permissions_with_quotes_or_without() {
        for (challenge, scope) in [
            (
                r#"Bearer error="insufficient_scope", Scope="files:read files:write""#,
                Some("files:read files:write"),
            ),
            ("Bearer scope=read:data, error=x", Some("read:data")),
            (r#"Bearer scope="""#, None),
            (r#"Bearer scope="never ends"#, None),
            ("Bearer", None),
        ] {
            assert_eq!(scope_of(challenge).as_deref(), scope, "{challenge}");
        }
    }

    #[test]
    fn a_definition_sets_no_header_of_the_transport() {
        let head = |name: &'static str| Head {
            session_id: Some("s".into()),
            last_event_id: Some("7".to_owned()),
            token: Some("t".to_owned()),
            custom: HashMap::from([(HeaderName::from_static(name), HeaderValue::from_static("x"))]),
        };
        let headers = head("x-key").headers().unwrap();
        for (name, value) in
            [("x-key", "x"), ("mcp-session-id", "s"), ("last-event-id", "7"), ("authorization", "Bearer t")]
        {
            assert_eq!(headers[name], value);
        }
        for name in RESERVED {
            assert!(matches!(head(name).headers(), Err(Error::ReservedHeaderConflict(_))), "{name}");
        }
        let split = Head { session_id: Some("a\r\nb".into()), ..head("x-key") };
        assert!(split.headers().is_err(), "a server's session id is a header");
    }
}
