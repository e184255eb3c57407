//! Sends a tool's request, and renders the response for models.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use guard::request::{Answered, Bounds};
use http_tools::{HttpTool, Mask};
use serde_json::{Map, Value};
use store::User;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::documents::{Known, Secrets};
use super::{HttpTools, Inner};
use crate::limits::{HTTP_ANSWER_BYTES, HTTP_EXTRACT_PATIENCE, HTTP_TOLD_BYTES};
use crate::via::{Failed, Via};

/// A response as text for models.
pub(crate) struct ToolResponse {
    pub(crate) text: String,
    /// True if its status is that of an error.
    pub(crate) is_error: bool,
}

impl HttpTools {
    /// Sends a tool's request with these secrets.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn answered(
        &self,
        user: &User,
        tool: &HttpTool,
        secrets: &BTreeMap<String, String>,
        mask: &Mask,
        arguments: &Map<String, Value>,
    ) -> Result<Answered, String> {
        self.0.answered(user, tool, secrets, mask, arguments).await
    }

    /// Renders a response as text for models.
    ///
    /// Fails with the reason as text.
    pub(crate) async fn told(
        &self,
        tool: &HttpTool,
        answered: Answered,
        mask: Mask,
    ) -> Result<ToolResponse, String> {
        self.0.told(tool, answered, mask).await
    }
}

impl Inner {
    /// Sends a tool's request. The result contains nothing that the mask hides.
    ///
    /// Fails with the reason as text.
    pub(super) async fn send(
        &self,
        user: &User,
        known: &Known,
        mask: Mask,
        arguments: &Map<String, Value>,
    ) -> Result<ToolResponse, String> {
        let tool = &known.tool;
        let missing = known.missing();
        if !missing.is_empty() {
            return Err(format!(
                "it needs the secret {}, which is not set for {}; its user sets it with `sandbridge http-tool secret {} {}`, or under \
                 HTTP tools in the settings",
                missing.join(", "),
                tool.bound_to(),
                tool.name(),
                missing[0]
            ));
        }
        let Secrets(secrets) = &known.secrets;
        let answered = self.answered(user, tool, secrets, &mask, arguments).await?;
        self.told(tool, answered, mask).await
    }

    async fn answered(
        &self,
        user: &User,
        tool: &HttpTool,
        secrets: &BTreeMap<String, String>,
        mask: &Mask,
        arguments: &Map<String, Value>,
    ) -> Result<Answered, String> {
        let request = tool.render(arguments, secrets).map_err(|problem| mask.text(&problem.to_string()))?;
        let patience = Duration::from_millis(tool.timeout_ms());
        let bounds = Bounds { patience, most_bytes: HTTP_ANSWER_BYTES };
        let answered = match tool.via() {
            Some(via) => {
                let via = Via::new(&self.ledger, &self.store, user, via);
                via.request(request, bounds).await.map_err(|failed| match failed {
                    Failed::Guard(error) => reason(tool, &error),
                    Failed::Machine(why) => why,
                })
            }
            None => {
                let sent =
                    self.requester.send(request.method, &request.url, &request.headers, request.body, bounds);
                sent.await.map_err(|error| reason(tool, &error))
            }
        };
        answered.map_err(|why| mask.text(&why))
    }

    async fn told(&self, tool: &HttpTool, answered: Answered, mask: Mask) -> Result<ToolResponse, String> {
        let tool = tool.clone();
        apart(&self.extracting, move || told(&tool, &answered, &mask)).await
    }
}

/// Runs work that may take long in a separate thread. Only a few calls may do so at once: a thread cannot be stopped, and it
/// keeps its permit even when no caller waits for it any more.
///
/// Fails with the reason as text.
async fn apart<T: Send + 'static>(
    places: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let seconds = HTTP_EXTRACT_PATIENCE.as_secs();
    let place = match timeout(HTTP_EXTRACT_PATIENCE, Arc::clone(places).acquire_owned()).await {
        Ok(Ok(place)) => place,
        Ok(Err(_)) | Err(_) => {
            return Err(format!(
                "this response was not read within {seconds} s, since others are still being read; try again later"
            ));
        }
    };
    let done = spawn_blocking(move || {
        let done = work();
        drop(place);
        done
    });
    match timeout(HTTP_EXTRACT_PATIENCE, done).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err("an internal error of Sandbridge; its log says more".to_owned()),
        Err(_) => Err(format!(
            "extracting from the response took longer than {seconds} s; make `responseExtract` simpler"
        )),
    }
}

/// The reason why there is no response. It reveals nothing of an address except its host.
fn reason(tool: &HttpTool, error: &guard::Error) -> String {
    match error {
        guard::Error::Elsewhere(url) => format!(
            "the service redirects to {}, which is another host, port or scheme; a tool's requests and secrets stay with its own ({})",
            url.origin().ascii_serialization(),
            tool.origin()
        ),
        guard::Error::Private(host) => format!(
            "{host} is an address of the server's own network, where nothing is sent; the server's administrator can permit it with \
             `--fetch-allow`"
        ),
        guard::Error::Timeout => format!("the service did not answer within {} ms", tool.timeout_ms()),
        other => other.to_string(),
    }
}

/// A response as models read it: its status, and the extracted part or the whole content.
fn told(tool: &HttpTool, answered: &Answered, mask: &Mask) -> ToolResponse {
    let Answered { status, media_type, content, is_cut } = answered;
    let is_error = *status >= 400;
    let media_type: String = mask.text(media_type).chars().filter(|c| !c.is_control()).take(100).collect();
    let status = format!("HTTP {status}");
    let text = match std::str::from_utf8(content) {
        _ if content.is_empty() => {
            return ToolResponse { text: format!("{status}, without content"), is_error };
        }
        Ok(text) => text.to_owned(),
        // A text that was cut within a character, or one in an older encoding.
        Err(_) if *is_cut || is_text(&media_type) => String::from_utf8_lossy(content).into_owned(),
        Err(_) => String::from('\0'),
    };
    if text.contains('\0') {
        let text = format!("{status}, {} bytes of {media_type}, not shown", content.len());
        return ToolResponse { text, is_error };
    }
    let parsed = if *is_cut { None } else { serde_json::from_str::<Value>(&text).ok() };
    let (note, shown, is_whole) = match parsed.map(|value| mask.value(&value)) {
        Some(value) if !is_error && !tool.extract().is_whole() => match tool.extract().of(&value) {
            Ok(found) => (String::new(), as_text(&found), true),
            Err(problem) => {
                (format!(" (`responseExtract` was not applied: {problem})"), as_text(&value), true)
            }
        },
        Some(value) => (String::new(), value.to_string(), true),
        None if !is_error && !tool.extract().is_whole() => {
            let why = if *is_cut { "the response is too large" } else { "the response is not JSON" };
            (format!(" (`responseExtract` was not applied: {why})"), text, !is_cut)
        }
        None => (String::new(), text, !is_cut),
    };
    let masked = if is_whole { mask.text(&shown) } else { mask.cut_text(&shown) };
    let kept = &masked[..masked.floor_char_boundary(HTTP_TOLD_BYTES)];
    let rest = if !is_whole || kept.len() < masked.len() { "\n[the rest is left out]" } else { "" };
    ToolResponse { text: format!("{status}{note}\n{kept}{rest}"), is_error }
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/")
        || ["json", "xml", "javascript"].iter().any(|word| media_type.contains(word))
}

/// A string as it is, and any other value as JSON.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(extract: &str, status: u16, content: &[u8], is_cut: bool) -> ToolResponse {
        let document = json!({"name": "a", "description": "d", "url": "https://api.example.com/", "responseExtract": extract});
        let mask = Mask::new(&BTreeMap::from([("KEY".to_owned(), "s3cret-key".to_owned())]));
        let media_type = "application/octet-stream".to_owned();
        let answered = Answered { status, media_type, content: content.to_vec().into(), is_cut };
        told(&HttpTool::parse(&document).unwrap(), &answered, &mask)
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_nobody_waits_for_keeps_its_place_until_it_ends() {
        let places = Arc::new(Semaphore::new(1));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        // The paused clock does not advance while a thread works.
        let pass = tokio::time::advance(HTTP_EXTRACT_PATIENCE + Duration::from_secs(1));
        let (late, ()) = tokio::join!(apart(&places, move || ended.recv()), pass);
        assert!(late.unwrap_err().contains("simpler"));
        let pass = tokio::time::advance(HTTP_EXTRACT_PATIENCE + Duration::from_secs(1));
        let (refused, ()) = tokio::join!(apart(&places, || 1), pass);
        assert!(refused.unwrap_err().contains("try again later"));
        end.send(()).unwrap();
        drop(places.acquire().await.unwrap());
        assert_eq!(apart(&places, || 2).await, Ok(2));
        // A thread that panics releases its permit too.
        assert!(apart::<()>(&places, || panic!("on purpose")).await.unwrap_err().contains("internal error"));
        assert_eq!(places.available_permits(), 1);
    }

    #[test]
    fn an_answer_has_its_status_and_what_is_extracted_and_no_secret() {
        let json = br#"{"data": {"name": "a", "key": "s3cret\u002dkey"}}"#;
        for (extract, told) in [
            ("data.name", "HTTP 200\na"),
            ("$.data.key", "HTTP 200\n[secret KEY]"),
            (
                "$.data[?@ == 's3cret-key']",
                "HTTP 200 (`responseExtract` was not applied: the JSONPath finds nothing in the response)\n{\"data\":{\"key\":\"[secret KEY]\",\"name\":\"a\"}}",
            ),
            ("", "HTTP 200\n{\"data\":{\"key\":\"[secret KEY]\",\"name\":\"a\"}}"),
        ] {
            assert_eq!(of(extract, 200, json, false).text, told, "{extract}");
        }
        let failed = of("data.name", 500, b"oh s3cret-key", false);
        assert_eq!((failed.text.as_str(), failed.is_error), ("HTTP 500\noh [secret KEY]", true));
        assert_eq!(of("", 204, b"", false).text, "HTTP 204, without content");
        assert_eq!(
            of("", 200, b"\xff\x00\x01", false).text,
            "HTTP 200, 3 bytes of application/octet-stream, not shown"
        );
        assert_eq!(
            of("a", 200, b"text s3cr", true).text,
            "HTTP 200 (`responseExtract` was not applied: the response is too large)\ntext \n[the rest is left out]"
        );
        let long = of("", 200, "x".repeat(HTTP_TOLD_BYTES + 1).as_bytes(), false);
        assert!(long.text.len() < HTTP_TOLD_BYTES + 100 && long.text.ends_with("left out]"));
    }
}
