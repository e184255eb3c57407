//! Requests that a runner sends to other hosts, passing on their responses.

use crate::codec::{Decode, Encode};
#[cfg(doc)]
use crate::message;

/// Asks the LLM endpoint that the runner's configuration names, with the key that only the runner has.
///
/// The body follows as DATA until END, at most 16 MiB; it is POSTed, and an empty one makes it a GET. The answer is [`message::LlmHeaders`], whatever
/// its status, then its body as DATA, each piece as it arrives, END and [`message::LlmDone`]. Redirects are returned like any other response and are
/// not followed. A cancel and a lost link close the connection to the endpoint.
///
/// Fails with `unsupported` if the runner has no endpoint, `invalid_body` for a path or a header that is not allowed, `too_large`,
/// `busy`, and `io` if the endpoint cannot be reached, is silent, or breaks off.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Llm {
    /// The path that is appended to the endpoint's base URL, such as `/v1/chat/completions`: it begins with one slash and contains neither `..` nor
    /// `//` nor, before a `?`, a percent sign.
    pub path: String,
    /// Names and values: `accept`, `anthropic-beta`, `anthropic-version`, `content-type`, `idempotency-key` and
    /// `openai-beta`, in any case and each once. The runner sets all others.
    pub headers: Vec<(String, String)>,
}

/// Sends one HTTP request to a host that the machine's user named, from the runner's network.
///
/// The body follows as DATA until END, at most 4 MiB. The answer is [`message::HttpHeaders`], whatever its status, then its body as DATA, each piece
/// as it arrives, END and [`message::HttpDone`]. A redirect is returned like any other response and is not followed. No proxy is used. A cancel and a
/// lost link close the connection; the request is never repeated.
///
/// Fails with `sandbox_denied` for a host that the machine's user did not name, or whose address is not permitted, `invalid_body`
/// for a method, URL or header that cannot be sent, `too_large`, `busy`, and `io` if the host cannot be reached, is silent for too long, or
/// breaks off.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Http {
    /// The method, such as `POST`; neither `CONNECT` nor `TRACE`.
    pub method: String,
    /// The URL: `http` or `https`, with a host, without a user name or password, at most 8 KiB.
    pub url: String,
    /// Names and values, at most 64 KiB together. Those that concern the connection, such as `host`, are not allowed.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The longest wait for the response's status and headers after the body's end, in milliseconds; at most the runner's own limit of 10 minutes.
    pub timeout_ms: Option<u64>,
    /// How long the response's body may be silent, in milliseconds; no limit when absent.
    pub idle_ms: Option<u64>,
}
