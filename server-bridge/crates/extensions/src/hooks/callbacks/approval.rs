//! `approval`: the user is asked about a call in every mode.

use futures_util::future::{BoxFuture, ready};
use hooks::outcome::Decision;
use hooks::{Event, Said};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Callback, Called, arguments};

/// The reason if the hook gives none.
const REASON: &str = "a hook wants each of these calls approved";

/// Asks about calls.
pub struct Approval;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The reason that the question shows.
    reason: Option<String>,
}

impl Callback for Approval {
    fn name(&self) -> &'static str {
        "approval"
    }

    fn about(&self) -> &'static str {
        "asks you about the call in every mode; the question shows the text `reason` of its `input`"
    }

    fn events(&self) -> &'static [Event] {
        &[Event::PreToolUse]
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), String> {
        arguments::<Input>(input).map(drop)
    }

    fn call<'a>(&'a self, called: Called<'a>) -> BoxFuture<'a, Result<Said, String>> {
        let asks = |input: Input| Said {
            decision: Some(Decision::Ask),
            reason: Some(input.reason.unwrap_or_else(|| REASON.to_owned())),
            ..Said::default()
        };
        Box::pin(ready(arguments(&called.input).map(asks)))
    }
}
