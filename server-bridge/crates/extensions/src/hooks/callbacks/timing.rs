//! `timing`: calls that took long are reported.

use futures_util::future::{BoxFuture, ready};
use hooks::{Event, Said};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Callback, Called, arguments};

/// The time from which on a call is reported, unless the hook names another, in seconds.
const LONG_S: f64 = 10.0;

/// Reports how long calls took.
pub struct Timing;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default = "long")]
    over_seconds: f64,
}

fn long() -> f64 {
    LONG_S
}

/// The part of a payload about the time of a call.
#[derive(Deserialize)]
struct Timed {
    tool_name: String,
    duration_ms: u64,
}

impl Callback for Timing {
    fn name(&self) -> &'static str {
        "timing"
    }

    fn about(&self) -> &'static str {
        "tells you in the chat how long the call took, if it took at least `over_seconds` of its `input`, 10 if that is absent"
    }

    fn events(&self) -> &'static [Event] {
        &[Event::PostToolUse, Event::PostToolUseFailure]
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), String> {
        arguments::<Input>(input).map(drop)
    }

    fn call<'a>(&'a self, called: Called<'a>) -> BoxFuture<'a, Result<Said, String>> {
        Box::pin(ready(said(&called.input, &called.payload.value)))
    }
}

fn said(input: &Map<String, Value>, payload: &Value) -> Result<Said, String> {
    let Input { over_seconds } = arguments(input)?;
    let Timed { tool_name, duration_ms } = Timed::deserialize(payload).map_err(|error| error.to_string())?;
    let seconds = std::time::Duration::from_millis(duration_ms).as_secs_f64();
    let message = (seconds >= over_seconds).then(|| format!("{tool_name} took {seconds:.1} s"));
    Ok(Said { message, ..Said::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_reported_from_the_limit_on() {
        let payload = json!({"tool_name": "Shell", "duration_ms": 12_340});
        let message = |input: Value| said(input.as_object().unwrap(), &payload).unwrap().message;
        assert_eq!(message(json!({})).as_deref(), Some("Shell took 12.3 s"));
        assert_eq!(message(json!({"over_seconds": 12})).as_deref(), Some("Shell took 12.3 s"));
        assert_eq!(message(json!({"over_seconds": 13})), None);
    }
}
