//! The limits of requests that the runner sends for the server.

/// The maximum number of requests to the LLM endpoint in progress; the body of each is held in memory.
pub const LLM_REQUESTS: usize = 16;

/// The largest body of a request to the LLM endpoint, in bytes.
pub const LLM_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The longest base URL of an LLM endpoint, in bytes.
pub const LLM_URL_BYTES: usize = 1024;

/// The longest path of a request to the LLM endpoint, including its query, in bytes.
pub const LLM_PATH_BYTES: usize = 2 * 1024;

/// The longest value of a header that is sent to the LLM endpoint, in bytes.
pub const LLM_HEADER_BYTES: usize = 1024;

/// The maximum size of the status and the headers of the LLM endpoint's response together, in bytes.
pub const LLM_ANSWER_HEADERS_BYTES: usize = 64 * 1024;

/// The maximum number of headers of the LLM endpoint's response.
pub const LLM_ANSWER_HEADERS: usize = 100;

/// How long the LLM endpoint may be silent, in milliseconds: a model may think for minutes before its first word.
pub const LLM_IDLE_MS: u64 = 600_000;

/// The maximum number of HTTP requests for the server in progress, including streams of events; the body of each is held in memory. A link has twice
/// as many streams for data.
pub const HTTP_REQUESTS: usize = 64;

/// The largest body of an HTTP request for the server, in bytes.
pub const HTTP_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The longest URL of an HTTP request for the server, in bytes.
pub const HTTP_URL_BYTES: usize = 8 * 1024;

/// The maximum number of headers of an HTTP request for the server.
pub const HTTP_HEADERS: usize = 100;

/// The maximum total size of the headers of an HTTP request for the server, in bytes.
pub const HTTP_HEADERS_BYTES: usize = 64 * 1024;

/// The maximum size of the status and the headers of the response together, in bytes.
pub const HTTP_ANSWER_HEADERS_BYTES: usize = 64 * 1024;

/// The maximum number of headers of the response.
pub const HTTP_ANSWER_HEADERS: usize = 100;

/// The longest wait for the headers of the response, in milliseconds.
pub const HTTP_ANSWER_MS: u64 = 600_000;

/// The longest wait for the next piece of a request's body from the server, in milliseconds.
pub const HTTP_BODY_IDLE_MS: u64 = 60_000;

/// The maximum number of hosts that HTTP requests may be sent to.
pub const HTTP_ALLOWED_HOSTS: usize = 1_000;

/// The silence after which a response is ended while a newer program waits to replace this one, in milliseconds.
pub const HTTP_LEAVING_LOOK_MS: u64 = 10_000;
