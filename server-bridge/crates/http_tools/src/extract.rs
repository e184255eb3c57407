//! The part of an answer that a model reads: by JSONPath (RFC 9535) if the expression begins with `$`, else by names and numbers
//! between dots.

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::error::{Problem, Result};
use crate::limits::{ANSWER_VALUES, EXPRESSION_BYTES};

/// What is extracted.
#[derive(Clone, Debug)]
pub enum Extract {
    /// All of it.
    Whole,
    /// What a JSONPath finds.
    Path(Box<JsonPath>),
    /// What these names and numbers lead to.
    Dots(Vec<String>),
}

impl Extract {
    /// Reads an expression; an empty one is the whole answer.
    pub(crate) fn parse(expression: &str) -> Result<Self> {
        let expression = expression.trim();
        if expression.is_empty() {
            return Ok(Self::Whole);
        }
        if expression.len() > EXPRESSION_BYTES {
            return Err(Problem::new(format!(
                "it has {} bytes; {EXPRESSION_BYTES} at most",
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
        check_cost(expression)?;
        let path = JsonPath::parse(expression)
            .map_err(|error| Problem::new(format!("it is no JSONPath of RFC 9535: {error}")))?;
        Ok(Self::Path(Box::new(path)))
    }

    /// True if the whole answer is read.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The extracted part: one value, or a list if a JSONPath finds several.
    ///
    /// # Errors
    /// [`Problem`] if nothing is there, or the answer has too many values to look through.
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
                        Problem::new(format!("the answer has nothing at {:?} of {:?}", name, names.join(".")))
                    })?;
                }
                Ok(value.clone())
            }
            Self::Path(path) => {
                let mut left = ANSWER_VALUES;
                if !counts_within(answer, &mut left) {
                    return Err(Problem::new(format!(
                        "the answer has more than {ANSWER_VALUES} values to look through"
                    )));
                }
                let found = path.query(answer).all();
                match found.as_slice() {
                    [] => Err(Problem::new("the JSONPath finds nothing in the answer")),
                    [one] => Ok((*one).clone()),
                    several => Ok(Value::Array(
                        several.iter().take(ANSWER_VALUES).map(|value| (*value).clone()).collect(),
                    )),
                }
            }
        }
    }
}

/// Refuses expressions whose cost grows faster than an answer: more than one `..`, and filters that look through the whole answer for
/// each value.
fn check_cost(expression: &str) -> Result<()> {
    let (mut quote, mut is_escaped) = (None, false);
    let (mut descents, mut filters, mut roots) = (0, 0, 0);
    let (mut last, mut descents_in_filters) = (' ', 0);
    for letter in expression.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(mark) if letter == mark => quote = None,
            Some(_) => {}
            None => match letter {
                '"' | '\'' => quote = Some(letter),
                '.' if last == '.' => {
                    descents += 1;
                    descents_in_filters += usize::from(filters > 0);
                }
                '?' => filters += 1,
                '$' => roots += 1,
                _ => {}
            },
        }
        last = if quote.is_some() { '"' } else { letter };
    }
    if descents > 1 || descents_in_filters > 0 {
        return Err(Problem::new(
            "it may have one `..`, and none within or after a filter: more would take too long",
        ));
    }
    if roots > 1 {
        return Err(Problem::new(
            "a filter in it looks at the whole answer (`$`) again for each value, which would take too long",
        ));
    }
    if filters > 2 {
        return Err(Problem::new("it may have two filters at most"));
    }
    Ok(())
}

/// Counts values; false if there are more than are left.
fn counts_within(value: &Value, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else { return false };
    *left = less;
    match value {
        Value::Array(items) => items.iter().all(|item| counts_within(item, left)),
        Value::Object(fields) => fields.values().all(|value| counts_within(value, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            ("$.data[", "no JSONPath"),
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
}
