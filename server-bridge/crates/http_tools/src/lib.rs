//! HTTP tools without code: a document defines which request a tool sends, and which part of the response a model reads.
//!
//! There is no I/O here, no clock and no lock. A caller provides documents, arguments and secrets, and sends the
//! request.
//!
//! ```text
//!   document ─▶ HttpTool::parse ─▶ schema for the model
//!                    └─ arguments ─▶ render: each value escaped for its position ─▶ Request ─▶ (the caller sends it)
//!                                                                    answer ─▶ Mask ─▶ extract
//!   OpenAPI ─▶ openapi::import ─▶ documents, and what was left out
//! ```
//! A request's scheme, host and port are always the document's own: they cannot contain placeholders, and a value cannot change
//! where a path, a query, a header or a body ends.
//!
//! | module | holds |
//! |---|---|
//! | [`document`] | one tool: its fields, checked |
//! | `template` | texts with `{{key}}` and `{{secret.NAME}}` |
//! | `address`, `pairs`, `body` | the positions of a request: path segments, queries and forms, bodies |
//! | `parameters` | the arguments: their schema, and the check of a call's arguments |
//! | [`request`] | a rendered request |
//! | [`extract`], `cost`, `patterns` | the part of an answer that a model reads; the limits on an expression for it; its patterns |
//! | [`mask`] | hiding secrets that a service sends back |
//! | [`openapi`] | tools from an OpenAPI document |
//! | [`feishu`] | tools of Feishu, as documents |
//! | `yaml` | YAML as JSON, within limits |
//! | [`error`] | [`Problem`]: the reason why a document, a call or an answer cannot be used |
//! | [`limits`] | every limit |

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod body;
mod cost;
pub mod document;
pub mod error;
pub mod extract;
pub mod feishu;
pub mod limits;
pub mod mask;
pub mod openapi;
mod pairs;
mod parameters;
mod patterns;
pub mod request;
mod template;
mod yaml;

pub use document::{HttpTool, PLACE_RULE, is_place};
pub use error::Problem;
pub use mask::Mask;
pub use request::Request;
