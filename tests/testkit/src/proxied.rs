//! Answers to a WebSocket's request as they arrive through a proxy.

use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};

/// Header lines that a company's proxy may add.
const ADDED: usize = 100;

/// Answers as a server does behind a proxy that adds a hundred header lines: the callback of `accept_hdr`.
///
/// # Errors
/// None.
#[expect(clippy::result_large_err, reason = "as the library has it")]
pub fn many_header_lines(_: &Request, mut answer: Response) -> Result<Response, ErrorResponse> {
    for number in 0..ADDED {
        let name: HeaderName = format!("x-added-{number}").parse().unwrap();
        answer.headers_mut().insert(name, HeaderValue::from_static("by a proxy on the way"));
    }
    Ok(answer)
}
