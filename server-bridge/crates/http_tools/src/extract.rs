//! The part of a response that a model reads: selected by JSONPath (RFC 9535) if the expression begins with `$`, or else by names and numbers
//! separated by dots.

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::cost;
use crate::error::{Problem, Result};
use crate::limits::{ANSWER_VALUES, EXPRESSION_BYTES, TEXT_BYTES_PER_VALUE};

/// The part of a response that is extracted.
#[derive(Clone, Debug)]
pub enum Extract {
    /// The whole response.
    Whole,
    /// The values that a JSONPath finds.
    Path(Box<JsonPath>),
    /// The value at the end of these names and numbers.
    Dots(Vec<String>),
}

impl Extract {
    /// Reads an expression; an empty one means the whole response.
    pub(crate) fn parse(expression: &str) -> Result<Self> {
        let expression = expression.trim();
        if expression.is_empty() {
            return Ok(Self::Whole);
        }
        if expression.len() > EXPRESSION_BYTES {
            return Err(Problem::new(format!(
                "it has {} bytes; the maximum is {EXPRESSION_BYTES}",
                expression.len()
            )));
        }
        if !expression.starts_with('$') {
            let names: Vec<String> = expression.split('.').map(str::to_owned).collect();
            return match names.iter().any(|name| name.trim().is_empty()) {
                true => {
                    Err(Problem::new("a name between its dots is empty; write for example data.items.0.name"))
                }
                false => Ok(Self::Dots(names)),
            };
        }
        cost::check(expression)?;
        let path = JsonPath::parse(expression)
            .map_err(|error| Problem::new(format!("it is not a JSONPath as in RFC 9535: {error}")))?;
        Ok(Self::Path(Box::new(path)))
    }

    /// True if the whole response is read.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The extracted part: one value, or a list if a JSONPath finds several.
    ///
    /// # Errors
    /// [`Problem`] if nothing is found, or if the response has too many values to search.
    pub fn of(&self, answer: &Value) -> Result<Value> {
        match self {
            Self::Whole => Ok(answer.clone()),
            Self::Dots(names) => {
                let mut value = answer;
                for name in names {
                    let next = match value {
                        Value::Object(fields) => fields.get(name),
                        Value::Array(items) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
                        _ => None,
                    };
                    value = next.ok_or_else(|| {
                        Problem::new(format!(
                            "the response has nothing at {:?} of {:?}",
                            name,
                            names.join(".")
                        ))
                    })?;
                }
                Ok(value.clone())
            }
            Self::Path(path) => {
                let mut left = ANSWER_VALUES;
                if !counts_within(answer, &mut left) {
                    return Err(Problem::new(format!(
                        "the response has more than {ANSWER_VALUES} values to look through"
                    )));
                }
                let found = path.query(answer).all();
                // Several of them may contain each other, and each is copied completely.
                let mut left = ANSWER_VALUES;
                if !found.iter().all(|value| counts_within(value, &mut left)) {
                    return Err(Problem::new(format!(
                        "what the JSONPath finds has more than {ANSWER_VALUES} values"
                    )));
                }
                match found.as_slice() {
                    [] => Err(Problem::new("the JSONPath finds nothing in the response")),
                    [one] => Ok((*one).clone()),
                    several => Ok(Value::Array(several.iter().map(|value| (*value).clone()).collect())),
                }
            }
        }
    }
}

/// Counts values, a long text as several; returns false if there are more than are left.
fn counts_within(value: &Value, left: &mut usize) -> bool {
    let texts = match value {
        Value::String(text) => text.len(),
        Value::Object(fields) => fields.keys().map(String::len).sum(),
        _ => 0,
    };
    let Some(less) = left.checked_sub(1 + texts / TEXT_BYTES_PER_VALUE) else { return false };
    *left = less;
    match value {
        Value::Array(items) => items.iter().all(|item| counts_within(item, left)),
        Value::Object(fields) => fields.values().all(|value| counts_within(value, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;
    use crate::limits::EXPRESSION_SELECTORS;

    fn of(expression: &str) -> Result<Value> {
        let answer = json!({
            "data": {"items": [{"name": "a", "price": 5}, {"name": "b", "price": 15}], "$ref": 1},
            "0": "zero",
        });
        Extract::parse(expression)?.of(&answer)
    }

    #[test]
    fn dots_and_json_paths_lead_to_values() {
        for (expression, found) in [
            ("data.items.0.name", json!("a")),
            ("data.items.1", json!({"name": "b", "price": 15})),
            ("0", json!("zero")),
            ("$.data.items[0].name", json!("a")),
            ("$.data.items[*].name", json!(["a", "b"])),
            ("$..name", json!(["a", "b"])),
            ("$.data.items[?@.price > 10].name", json!("b")),
            ("$.data['$ref']", json!(1)),
            ("$.data.items[?search(@.name, 'b+')].price", json!(15)),
            ("$.data.items[?search(@.name, '') && !match(@.name, 'b|ba')].price", json!(5)),
        ] {
            assert_eq!(of(expression), Ok(found), "{expression}");
        }
        assert!(Extract::parse("  ").unwrap().is_whole());
    }

    #[test]
    fn what_is_not_there_and_what_is_no_expression_is_said() {
        for (expression, words) in [
            ("data.items.7.name", "nothing at"),
            ("data.items.first", "nothing at"),
            ("$.nothing", "finds nothing"),
            ("data..items", "empty"),
            ("$.data[", "not a JSONPath"),
            ("$..*..*", "one `..`"),
            ("$[?@..a]", "filter"),
            ("$[?count($.*) > 1]", "again"),
        ] {
            let problem = of(expression).unwrap_err().to_string();
            assert!(problem.contains(words), "{expression}: {problem}");
        }
        assert!(Extract::parse(&"a".repeat(EXPRESSION_BYTES + 1)).is_err());
    }

    #[test]
    fn no_expression_overflows_the_stack_and_no_answer_is_looked_through_for_ever() {
        for letter in ["(", "[", "[?(", "!", "[?@["] {
            let expression = format!("$[?{}", letter.repeat(EXPRESSION_BYTES / letter.len() - 2));
            assert!(Extract::parse(&expression).is_err());
        }
        let wide = Value::Array(vec![json!(0); ANSWER_VALUES]);
        assert!(Extract::parse("$[*]").unwrap().of(&wide).is_err());
    }

    #[test]
    fn what_is_found_within_what_is_found_is_not_copied_without_end() {
        for inner in
            [json!(vec![0; ANSWER_VALUES / 2]), json!("x".repeat(TEXT_BYTES_PER_VALUE * ANSWER_VALUES / 2))]
        {
            let deep = (0..10).fold(inner, |inner, _| json!([inner]));
            let found = Extract::parse("$..*").unwrap().of(&deep);
            assert!(found.unwrap_err().to_string().contains("finds has more than"));
            assert!(Extract::parse("$[0]").unwrap().of(&deep).is_ok());
        }
    }

    #[test]
    fn the_dearest_expressions_end_soon() {
        let patterns = "$..[?search(@, '\\\\w{3}a') || match(@, '\\\\w{3}b')]";
        let texts = Value::Array(vec![json!("a text"); ANSWER_VALUES - 1]);
        let selectors = format!("$..[{}*]", "0,".repeat(EXPRESSION_SELECTORS - 1));
        let values = Value::Array(vec![json!([0]); ANSWER_VALUES / 2 - 1]);
        for (expression, answer) in [(patterns, texts), (selectors.as_str(), values)] {
            let begun = Instant::now();
            let _ = Extract::parse(expression).unwrap().of(&answer);
            assert!(begun.elapsed() < Duration::from_secs(30), "{expression}: {:?}", begun.elapsed());
        }
    }
}
