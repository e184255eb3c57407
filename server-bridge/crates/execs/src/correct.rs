//! Corrects a message's document when its exec's end becomes known late.

use serde_json::{Value, json};
use store::ExecOutcome;

/// The document with its end replaced by this one; `None` for a document that is not a JSON object.
///
/// Only the fields that describe the end are changed: anything else that the document's writer put there stays.
pub(crate) fn corrected(document: &str, outcome: &ExecOutcome) -> Option<String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(document) else { return None };
    let ended = json!({
        "status": outcome.status.as_str(),
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "sandbox_denied": outcome.sandbox_denied,
        "truncated": outcome.truncated,
        "stdout_bytes": outcome.stdout_bytes,
        "stderr_bytes": outcome.stderr_bytes,
        "error": outcome.error,
    });
    if let Value::Object(ended) = ended {
        fields.extend(ended);
    }
    Some(Value::Object(fields).to_string())
}

#[cfg(test)]
mod tests {
    use store::ExecStatus;

    use super::*;
    use crate::Ending;

    #[test]
    fn a_document_keeps_what_is_not_of_the_end() {
        let ended = Ending::refused("cancelled", "enough").outcome;
        let lost = r#"{"exec_id":"a","status":"lost","exit_code":null,"output_path":"x.log","error":"away"}"#;
        let corrected: Value = serde_json::from_str(&corrected(lost, &ended).unwrap()).unwrap();
        assert_eq!(corrected["status"], ExecStatus::Cancelled.as_str());
        assert_eq!((&corrected["exec_id"], &corrected["output_path"]), (&json!("a"), &json!("x.log")));
        assert_eq!(corrected["error"], "enough");
        assert_eq!(super::corrected("[]", &ended), None);
    }
}
