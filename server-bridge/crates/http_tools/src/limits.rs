//! Every limit of HTTP tools.

/// The prefix of the names by which models call HTTP tools.
pub const WIRE_PREFIX: &str = "http__";
/// The longest name of a tool, in characters: with its prefix it has 64, which is the limit of providers.
pub const NAME_CHARS: usize = 64 - WIRE_PREFIX.len();
/// The longest description of a tool, in bytes.
pub const DESCRIPTION_BYTES: usize = 2 * 1024;
/// The longest URL of a document, in bytes.
pub const URL_BYTES: usize = 8 * 1024;
/// The longest value of a header, in bytes, as a document has it.
pub const HEADER_BYTES: usize = 8 * 1024;
/// The largest number of headers of a tool, and of pairs in a query.
pub const PAIRS: usize = 64;
/// The longest template of a body, in bytes.
pub const BODY_TEMPLATE_BYTES: usize = 32 * 1024;
/// The longest rendered body, in bytes.
pub const BODY_BYTES: usize = 1024 * 1024;
/// The longest rendered value of a header, in bytes.
pub const HEADER_VALUE_BYTES: usize = 16 * 1024;
/// The largest number of parameters of a tool.
pub const PARAMETERS: usize = 128;
/// The longest name of a parameter or a secret, in characters.
pub const KEY_CHARS: usize = 64;
/// The largest schema of a tool's parameters, in bytes.
pub const SCHEMA_BYTES: usize = 64 * 1024;
/// The largest nesting depth of a schema and of a body's template, in levels.
pub const DEPTH: usize = 32;
/// The longest expression of `responseExtract`, in bytes.
pub const EXPRESSION_BYTES: usize = 512;
/// The largest number of values of a response from which something is extracted, and of the extracted values.
pub const ANSWER_VALUES: usize = 200_000;
/// A text counts as one additional value per this many bytes.
pub const TEXT_BYTES_PER_VALUE: usize = 32;
/// The largest number of patterns in an expression.
pub const PATTERNS: usize = 2;
/// The memory that a compiled pattern of an expression may take, in bytes.
pub const PATTERN_MEMORY_BYTES: usize = 256 * 1024;
/// The number of times that an expression may select one value: the product of the numbers of selectors in its
/// brackets.
pub const EXPRESSION_SELECTORS: usize = 16;
/// The time limit of a request if its document does not set one, in milliseconds.
pub const TIMEOUT_MS: u64 = 30_000;
/// The shortest time limit that a document may set, in milliseconds: a smaller number was probably meant as seconds.
pub const MIN_TIMEOUT_MS: u64 = 100;
/// The longest time limit that a document may set, in milliseconds.
pub const MAX_TIMEOUT_MS: u64 = 120_000;
/// The shortest secret, in bytes: a shorter one could not be distinguished from other text in a service's response.
pub const MIN_SECRET_BYTES: usize = 8;
/// The longest secret, in bytes.
pub const MAX_SECRET_BYTES: usize = 8 * 1024;
/// The shortest text that is treated as an encoded secret, in characters.
pub const MASKED_CHARS: usize = 8;

/// The largest OpenAPI document, in bytes.
pub const OPENAPI_BYTES: usize = 3 * 1024 * 1024;
/// The largest number of operations of an OpenAPI document.
pub const OPENAPI_OPERATIONS: usize = 1_000;
/// The largest number of references that are followed for one operation.
pub const OPENAPI_REFERENCES: usize = 2_000;
/// The largest number of values in all schemas of one operation, with their references resolved.
pub const OPENAPI_VALUES: usize = 5_000;
/// The largest number of problems that an import reports.
pub const OPENAPI_PROBLEMS: usize = 500;

/// The longest name of a runner, in characters.
pub const PLACE_CHARS: usize = 63;
/// The largest number of values in a YAML document, including those that aliases repeat.
pub const YAML_NODES: usize = 500_000;
/// The largest total size of the texts in a YAML document, in bytes, including those that aliases repeat.
pub const YAML_TEXT_BYTES: usize = 4 * OPENAPI_BYTES;
