//! OpenAI's chat completions, which most other providers and proxies speak too.

mod read;
mod write;

use crate::dialect::{Decode, Dialect};
use crate::draft::Draft;
use crate::message::Request;
use crate::transport::Call;

/// The dialect of `/v1/chat/completions`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenAi;

impl Dialect for OpenAi {
    fn write(&self, request: &Request, draft: &mut Draft) -> Call {
        let headers = vec![("accept", "text/event-stream".to_owned())];
        Call { path: "/v1/chat/completions", headers, body: write::body(request, draft) }
    }

    fn decoder(&self) -> Box<dyn Decode> {
        Box::new(read::Decoder::default())
    }

    fn listing(&self) -> Call {
        let headers = vec![("accept", "application/json".to_owned())];
        Call { path: "/v1/models", headers, body: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
