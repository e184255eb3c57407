//! The trait that covers the differences between providers: how a request is written and an answer is read. No I/O.

use crate::draft::Draft;
use crate::error::Error;
use crate::limits::SHOWN_CHARACTERS;
use crate::message::Request;
use crate::reply::Delta;
use crate::transport::Call;

/// A provider's format of requests and answers.
pub trait Dialect: Send + Sync {
    /// Writes a request. The same request gives the same bytes, and a longer conversation begins with the same bytes; the part that the draft already
    /// contains is not serialised again.
    fn write(&self, request: &Request, draft: &mut Draft) -> Call;

    /// Reads the events of one answer.
    fn decoder(&self) -> Box<dyn Decode>;

    /// Requests the list of models, for [`crate::listing`].
    fn listing(&self) -> Call;

    /// The meaning of a refusal: its status, its body, and its requested pause in seconds.
    fn refusal(&self, status: u16, body: &[u8], retry_after_s: Option<u64>) -> Error {
        refusal(status, body, retry_after_s)
    }
}

/// Reads the events of one answer, in their order.
pub trait Decode: Send {
    /// Reads an event; `true` with the last one.
    ///
    /// Fails with the provider's error, or with [`Error::Nonsense`].
    fn read(&mut self, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error>;
}

/// Error texts of providers when a conversation does not fit, in lower case. Sources: the error texts of OpenAI,
/// Anthropic, Google, Mistral, DeepSeek, vLLM, llama.cpp and Ollama.
const TOO_LONG: [&str; 13] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "context limit",
    "prompt is too long",
    "input is too long",
    "input too long",
    "too many tokens",
    "exceeds the maximum number of tokens",
    "exceed the maximum number of tokens",
    "maximum prompt length",
    "request_too_large",
];

/// A refusal in the format of most providers: `{"error": {"message", "type", "code"}}`.
pub(crate) fn refusal(status: u16, body: &[u8], retry_after_s: Option<u64>) -> Error {
    let told = ProviderError::of(body);
    told.into_error(status, retry_after_s)
}

/// A provider's error, as parsed from its response.
#[derive(Debug, Default)]
pub(crate) struct ProviderError {
    message: String,
    /// The error's type and code, for programs.
    words: String,
}

impl ProviderError {
    /// Parses an error's object, or any other body.
    pub(crate) fn of(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
            return Self { message: String::from_utf8_lossy(body).trim().to_owned(), words: String::new() };
        };
        // A list with one item, as some proxies send it.
        let value = value.get(0).unwrap_or(&value);
        let error = value.get("error").unwrap_or(value);
        let word = |name: &str| error.get(name).map(|word| word.to_string().trim_matches('"').to_owned());
        let message =
            error.as_str().map(str::to_owned).or_else(|| Some(error.get("message")?.as_str()?.to_owned()));
        let words =
            ["type", "code", "status"].iter().filter_map(|name| word(name)).collect::<Vec<_>>().join(" ");
        Self { message: message.unwrap_or_else(|| error.to_string()), words }
    }

    /// The error that it means; the status is 0 within a stream.
    pub(crate) fn into_error(self, status: u16, retry_after_s: Option<u64>) -> Error {
        let text = shown(&self.message, status);
        let (message, words) = (self.message.to_lowercase(), self.words.to_lowercase());
        let says = |word: &str| message.contains(word) || words.contains(word);
        let passes = matches!(status, 0 | 400 | 413 | 422 | 500) && TOO_LONG.iter().any(|word| says(word));
        if status == 413 || passes {
            return Error::InputTooLong(text);
        }
        let retry_after = retry_after_s.map(std::time::Duration::from_secs);
        match status {
            401 | 403 => Error::Key(text),
            404 => Error::UnknownModel(text),
            402 => Error::Quota(text),
            429 if says("insufficient_quota") || says("billing") => Error::Quota(text),
            429 => Error::RateLimited { message: text, retry_after },
            529 => Error::Overloaded(text),
            0 | 500.. if says("overloaded") => Error::Overloaded(text),
            408 | 409 | 425 | 500.. => Error::Provider(text),
            0 if says("rate_limit") => Error::RateLimited { message: text, retry_after },
            0 if says("authentication") || says("invalid_api_key") => Error::Key(text),
            0 if says("invalid_request") => Error::Refused(text),
            0 => Error::Provider(text),
            _ if says("model_not_found")
                || says("unknown model")
                || says("does not exist")
                || says("invalid model") =>
            {
                Error::UnknownModel(text)
            }
            _ => Error::Refused(text),
        }
    }
}

/// A provider's own text, shortened and on one line.
fn shown(message: &str, status: u16) -> String {
    let mut text: String =
        message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN_CHARACTERS).collect();
    if text.trim().is_empty() {
        text = "no explanation".to_owned();
    }
    if status == 0 { text } else { format!("{status}: {text}") }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reply::{Assembly, Reply};

    /// The result of these events of one answer.
    pub(crate) fn read(dialect: &dyn Dialect, events: &[&str]) -> Result<Reply, Error> {
        let (mut decoder, mut assembly, mut deltas) = (dialect.decoder(), Assembly::default(), Vec::new());
        for event in events {
            let is_over = decoder.read(event, &mut deltas)?;
            for delta in deltas.drain(..) {
                assembly.push(&delta)?;
            }
            if is_over {
                break;
            }
        }
        assembly.finish()
    }

    #[test]
    fn each_providers_words_for_a_conversation_that_is_too_long_are_known() {
        let bodies = [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError"}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            ),
            (422, r#"{"error":{"message":"Input is too long for requested model."}}"#),
            (500, r#"{"error":"prompt is too long for the context window"}"#),
        ];
        for (status, body) in bodies {
            let error = refusal(status, body.as_bytes(), None);
            assert!(matches!(error, Error::InputTooLong(_)), "{body}: {error:?}");
            assert!(!error.is_passing());
        }
    }

    #[test]
    fn a_refusal_says_what_a_user_can_do() {
        let told = |status, body: &str| refusal(status, body.as_bytes(), Some(7));
        assert!(matches!(told(401, r#"{"error":{"message":"Incorrect API key provided"}}"#), Error::Key(_)));
        assert!(matches!(told(404, r#"{"error":{"message":"model: x"}}"#), Error::UnknownModel(_)));
        assert!(matches!(
            told(400, r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#),
            Error::UnknownModel(_)
        ));
        let seven = Some(std::time::Duration::from_secs(7));
        assert!(
            matches!(told(429, "slow down"), Error::RateLimited { retry_after, .. } if retry_after == seven)
        );
        assert!(matches!(told(429, r#"{"error":{"code":"insufficient_quota"}}"#), Error::Quota(_)));
        for status in [500, 502, 503, 504, 529] {
            assert!(told(status, "<html>Bad gateway</html>").is_passing(), "{status}");
        }
        let overloaded = r#"{"error":{"message":"The engine is currently overloaded"}}"#;
        for (status, body) in [(529, ""), (503, overloaded), (0, r#"{"type":"overloaded_error"}"#)] {
            assert!(matches!(told(status, body), Error::Overloaded(_)), "{status}: {:?}", told(status, body));
        }
        assert!(matches!(told(500, ""), Error::Provider(_)));
        assert!(matches!(told(400, r#"{"error":{"message":"tools.0: bad"}}"#), Error::Refused(_)));
        assert_eq!(told(503, "").to_string(), "the provider failed (503: no explanation)");
    }

    #[test]
    fn a_providers_words_are_shown_short_and_on_one_line() {
        let error = refusal(400, format!("a\n\u{1b}[31m{}", "x".repeat(10_000)).as_bytes(), None);
        let text = error.to_string();
        assert!(text.len() < 600 && !text.contains('\n') && !text.contains('\u{1b}'), "{text}");
    }
}
