//! Documents as lines of JSON, for programs.

use serde::Serialize;

/// A document as one line of JSON. The keys of each object are in alphabetical order, so that a line does not change when
/// the order of a type's fields does. A document that is not valid JSON, such as a map whose keys are not texts, is `null`.
pub fn to_line(document: &impl Serialize) -> String {
    serde_json::to_value(document).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_alphabetical_order() {
        let usage = crate::document::UsageDocument { input_tokens: 1, ..Default::default() };
        let expected = r#"{"cache_read_tokens":0,"cost_micros":0,"input_tokens":1,"output_tokens":0}"#;
        assert_eq!(to_line(&usage), expected);
    }
}
