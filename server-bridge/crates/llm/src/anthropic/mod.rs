//! Anthropic's Messages API.

mod read;
mod write;

use crate::dialect::{Decode, Dialect};
use crate::draft::Draft;
use crate::message::Request;
use crate::transport::Call;

/// The dialect of `/v1/messages`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anthropic;

/// The version of the API that requests ask for.
const VERSION: &str = "2023-06-01";

impl Dialect for Anthropic {
    fn write(&self, request: &Request, draft: &mut Draft) -> Call {
        let headers =
            vec![("accept", "text/event-stream".to_owned()), ("anthropic-version", VERSION.to_owned())];
        Call { path: "/v1/messages", headers, body: write::body(request, draft) }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(read::Decoder::default())
    }

    fn listing(&self) -> Call {
        let headers =
            vec![("accept", "application/json".to_owned()), ("anthropic-version", VERSION.to_owned())];
        // The largest page that Anthropic returns; there are a few dozen models.
        Call { path: "/v1/models?limit=1000", headers, body: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
