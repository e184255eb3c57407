//! The requests: put, get, delete, list.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Method, Response, StatusCode, Url};
use tokio::time::{Instant, sleep, timeout_at};

use crate::answer::{self, Listed};
use crate::error::{Error, Result};
use crate::limits::{
    ANSWER_MAX_BYTES, ATTEMPTS, CONNECT_PATIENCE, FIRST_PAUSE, LIST_ROWS, OBJECT_MAX_BYTES, PATIENCE,
};
use crate::place::Place;
use crate::sign;

/// Every character of a query except the unreserved ones is escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Objects of a part of a bucket, by names of letters, digits, `.`, `_`, `-` and `/`. Cheap to clone.
#[derive(Clone)]
pub struct Bucket {
    place: Arc<Place>,
    client: Client,
    patience: Duration,
}

impl Bucket {
    /// Opens the objects at this place. The process must have installed a TLS provider.
    ///
    /// # Errors
    /// [`Error::Client`].
    pub fn new(place: Place) -> Result<Self> {
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("sandbridge/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_PATIENCE)
            .build()
            .map_err(|error| Error::Client(error.to_string()))?;
        Ok(Self { place: Arc::new(place), client, patience: PATIENCE })
    }

    /// Sets how long an operation may take, instead of 30 s.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// This bucket with `part` appended to the prefix.
    #[must_use]
    pub fn below(&self, part: &str) -> Self {
        let mut place = Place::clone(&self.place);
        place.prefix =
            if place.prefix.is_empty() { part.to_owned() } else { format!("{}/{part}", place.prefix) };
        Self { place: Arc::new(place), ..self.clone() }
    }

    /// Puts, gets, lists and deletes a small object, to detect a bucket that is missing or unreachable, and missing permissions.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn check(&self) -> Result<()> {
        let name = format!("check-{:016x}", rand::random::<u64>());
        self.list("").await?;
        self.put(&name, name.as_bytes()).await?;
        let got = self.get(&name, name.len()).await;
        self.delete(&name).await?;
        if got? == name.as_bytes() {
            return Ok(());
        }
        Err(self.strange("an object does not have the bytes that were just put".to_owned()))
    }

    /// Puts an object, replacing any object with the same name.
    ///
    /// # Errors
    /// [`Error`]; if the connection was lost, the object may have been put.
    pub async fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        let (url, sha256) = (&self.url(&self.key(name))?, &sign::sha256(content));
        let content = &Bytes::copy_from_slice(content);
        self.patiently(|| async move {
            let answer = self.send("put", Method::PUT, url, (content.clone(), sha256)).await?;
            drop(self.accepted("put", name, answer).await?);
            Ok(())
        })
        .await
    }

    /// Gets an object, which must have this length.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Length`] and the others.
    pub async fn get(&self, name: &str, size_bytes: usize) -> Result<Vec<u8>> {
        let url = &self.url(&self.key(name))?;
        let length = &|found: u64| Error::Length { key: self.key(name), found, expected: size_bytes as u64 };
        if size_bytes > OBJECT_MAX_BYTES {
            return Err(length(OBJECT_MAX_BYTES as u64));
        }
        self.patiently(|| async move {
            let answer = self.send("get", Method::GET, url, (Bytes::new(), sign::EMPTY)).await?;
            let answer = self.accepted("get", name, answer).await?;
            if let Some(found) = answer.content_length().filter(|found| *found != size_bytes as u64) {
                return Err(length(found));
            }
            let (content, is_cut) = self.beginning(answer, size_bytes).await?;
            let found = content.len() + usize::from(is_cut);
            if found == size_bytes { Ok(content.into()) } else { Err(length(found as u64)) }
        })
        .await
    }

    /// Deletes an object; an object that does not exist is not an error.
    ///
    /// # Errors
    /// [`Error`]; if the connection was lost, the object may have been deleted.
    pub async fn delete(&self, name: &str) -> Result<()> {
        let url = &self.url(&self.key(name))?;
        self.patiently(|| async move {
            let answer = self.send("delete", Method::DELETE, url, (Bytes::new(), sign::EMPTY)).await?;
            match self.accepted("delete", name, answer).await {
                Ok(_) | Err(Error::Missing { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Lists up to 1,000 objects whose names come after this one, ordered by the bytes of their names, and returns whether there are more.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn list(&self, after: &str) -> Result<(Vec<Listed>, bool)> {
        let prefix = self.key("");
        let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        // Sorted by parameter name, as the signature requires.
        let mut asked = format!("list-type=2&max-keys={LIST_ROWS}&prefix={}", escaped(&prefix));
        if !after.is_empty() {
            asked.push_str(&format!("&start-after={}", escaped(&self.key(after))));
        }
        let mut url = self.url("")?;
        url.set_query(Some(&asked));
        let url = &url;
        let (body, is_cut) = self
            .patiently(|| async move {
                let answer = self.send("list", Method::GET, url, (Bytes::new(), sign::EMPTY)).await?;
                let answer = self.accepted("list", "", answer).await?;
                self.beginning(answer, ANSWER_MAX_BYTES).await
            })
            .await?;
        if is_cut {
            return Err(self.strange("a list is too long".to_owned()));
        }
        let page = str::from_utf8(&body).map_err(|error| error.to_string()).and_then(answer::page);
        let page = page.map_err(|why| self.strange(why))?;
        if page.is_cut && page.objects.is_empty() {
            return Err(self.strange("a list claims to continue, but has no object".to_owned()));
        }
        let mut objects = Vec::with_capacity(page.objects.len());
        for object in page.objects {
            let Some(name) = object.name.strip_prefix(&prefix) else {
                return Err(self.strange("a list has objects outside of the requested prefix".to_owned()));
            };
            if !after.is_empty() && name <= after {
                return Err(self.strange("a list begins before the requested name".to_owned()));
            }
            objects.push(Listed { name: name.to_owned(), ..object });
        }
        Ok((objects, page.is_cut))
    }

    fn key(&self, name: &str) -> String {
        if self.place.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.place.prefix) }
    }

    fn url(&self, key: &str) -> Result<Url> {
        let text = format!("{}/{key}", self.place.base);
        let url = Url::parse(&text).ok().filter(|url| url.as_str() == text);
        url.ok_or_else(|| Error::Missing { key: key.to_owned() })
    }

    /// Repeats a request until it succeeds, fails permanently, or takes too long.
    async fn patiently<T, F: Future<Output = Result<T>>>(&self, once: impl Fn() -> F) -> Result<T> {
        let deadline = Instant::now() + self.patience;
        let (mut attempt, mut pause) = (1, FIRST_PAUSE);
        loop {
            let slow = || Error::Slow { host: self.place.host.clone(), seconds: self.patience.as_secs() };
            let error = match timeout_at(deadline, once()).await.unwrap_or_else(|_| Err(slow())) {
                Err(error) if error.is_passing() => error,
                done => return done,
            };
            if attempt == ATTEMPTS || Instant::now() + pause >= deadline {
                return Err(error);
            }
            sleep(pause).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    async fn send(
        &self,
        action: &'static str,
        method: Method,
        url: &Url,
        (body, sha256): (Bytes, &str),
    ) -> Result<Response> {
        let headers = sign::headers(&self.place, (method.as_str(), url), sha256, Timestamp::now());
        let mut request = self.client.request(method, url.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if action == "put" {
            request = request.body(body);
        }
        request.send().await.map_err(|error| self.away(&error))
    }

    /// Turns an unsuccessful response into an error.
    async fn accepted(&self, action: &'static str, name: &str, answer: Response) -> Result<Response> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = self.beginning(answer, ANSWER_MAX_BYTES).await.map(|(body, _)| body).unwrap_or_default();
        let known = answer::code(&String::from_utf8_lossy(&text));
        let (host, bucket) = (self.place.host.clone(), self.place.bucket.clone());
        let code = known.clone().unwrap_or_else(|| status.to_string());
        Err(match (status, known.as_deref()) {
            (StatusCode::NOT_FOUND, Some("NoSuchBucket")) => Error::NoBucket { host, bucket },
            (StatusCode::NOT_FOUND, _) if !name.is_empty() => Error::Missing { key: self.key(name) },
            (_, Some("RequestTimeTooSkewed" | "AuthorizationHeaderMalformed")) => {
                Error::Refused { host, bucket, action, code }
            }
            (_, Some("ExpiredToken" | "InvalidToken" | "InvalidAccessKeyId"))
            | (StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, _) => {
                Error::Forbidden { host, bucket, action, code }
            }
            (StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT, _) => {
                Error::Away { host, why: code }
            }
            (_, Some("SlowDown" | "RequestTimeout" | "OperationAborted")) => Error::Away { host, why: code },
            _ if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {
                Error::Away { host, why: code }
            }
            _ => Error::Refused { host, bucket, action, code },
        })
    }

    /// The first bytes of a response, and whether there are more.
    async fn beginning(&self, mut answer: Response, most_bytes: usize) -> Result<(Bytes, bool)> {
        let mut content = BytesMut::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.away(&error))? {
            let room = most_bytes - content.len();
            content.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                return Ok((content.into(), true));
            }
        }
        Ok((content.into(), false))
    }

    /// Takes the innermost cause, which is the most specific one and names no address.
    fn away(&self, error: &reqwest::Error) -> Error {
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Error::Away { host: self.place.host.clone(), why: cause.to_string() }
    }

    fn strange(&self, why: String) -> Error {
        Error::Answer { host: self.place.host.clone(), why }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(formatter)
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Bucket({})", self.place)
    }
}
