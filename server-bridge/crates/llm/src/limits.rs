//! Every limit and timeout of this crate.
//!
//! The numbers for retries and concurrent calls are those of the specification of the engine.

use std::time::Duration;

/// The maximum number of attempts of a call.
pub const RETRY_ATTEMPTS: u32 = 5;

/// The pause before the second attempt; it doubles from attempt to attempt.
pub const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The longest of those pauses, without what a rate limit adds.
pub const RETRY_PAUSE_LIMIT: Duration = Duration::from_secs(30);

/// After a rate limit the `n`th pause is longer by 2^min(n, this) seconds.
pub const RATE_LIMIT_DOUBLINGS: u32 = 4;

/// The longest pause that a provider may request; if it requests more, the user gets the error.
pub const RETRY_AFTER_LIMIT: Duration = Duration::from_secs(120);

/// How long one attempt may be silent: before its answer begins, and between two pieces of it.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(120);

/// How long one attempt may take in all: an endless answer is useless.
pub const ATTEMPT_LIMIT: Duration = Duration::from_secs(600);

/// How long connecting to a provider may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The maximum number of one tenant's concurrent calls on the server's own model.
pub const SHARED_CALLS: usize = 5;

/// The maximum number of one tenant's concurrent calls on the tenant's own model.
pub const PERSONAL_CALLS: usize = 3;

/// The maximum number of concurrent calls of one tenant's sub-agents.
pub const SUB_AGENT_CALLS: usize = 3;

/// The longest answer, in bytes on the wire.
pub const ANSWER_BYTES: usize = 32 * 1024 * 1024;

/// How much of a refusal is read, in bytes.
pub const REFUSAL_BYTES: usize = 64 * 1024;

/// How much of a provider's own text is shown, in characters.
pub const SHOWN_CHARACTERS: usize = 500;

/// The longest list of models, in bytes on the wire.
pub const LISTING_BYTES: usize = 8 * 1024 * 1024;

/// The longest arguments of one tool call, in bytes.
pub const ARGUMENTS_BYTES: usize = 16 * 1024 * 1024;

/// The maximum number of tool calls in one answer.
pub const TOOL_CALLS: usize = 128;

/// The maximum number of texts that are embedded in one request: OpenAI takes 2,048, smaller servers 32 to 256.
pub const EMBEDDING_BATCH_TEXTS: usize = 64;

/// The limit on the texts of one request, in bytes, unless one text alone is longer.
pub const EMBEDDING_BATCH_BYTES: usize = 256 * 1024;

/// How long one request for vectors may take: a batch on a slow processor.
pub const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(120);

/// How long the vector of a question may take: a user waits for the search, which then uses words alone.
pub const QUERY_EMBEDDING_TIMEOUT: Duration = Duration::from_secs(3);

/// How long an embedder is left alone after it failed; each further failure doubles the pause, up to [`EMBEDDER_REST_LIMIT`].
pub const EMBEDDER_REST: Duration = Duration::from_secs(5);
/// The longest pause of an embedder after repeated failures.
pub const EMBEDDER_REST_LIMIT: Duration = Duration::from_secs(60);
