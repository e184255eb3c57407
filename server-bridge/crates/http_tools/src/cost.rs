//! Limits the cost of a JSONPath. Crate `serde_json_path` builds a whole list for each segment, and a pattern may come from the response: an
//! expression is refused if its lists could grow faster than the response, or if it takes a pattern from the response.

use crate::error::{Problem, Result};
use crate::limits::{EXPRESSION_SELECTORS, PATTERNS};
use crate::patterns;

/// An open bracket or parenthesis.
struct Group<'a> {
    /// The function whose arguments it contains; empty if there is none.
    function: &'a str,
    is_bracket: bool,
    /// The selectors or arguments in it so far.
    parts: Vec<&'a str>,
    /// The offset of the next part, in bytes.
    begin: usize,
}

/// The counts that limit an expression's cost.
#[derive(Default)]
struct Counted {
    descents: usize,
    descents_in_filters: usize,
    filters: usize,
    roots: usize,
    patterns: usize,
    /// The number of times that the expression may select one value.
    copies: usize,
}

/// Refuses expressions whose cost grows faster than the response. A text that is not a JSONPath may pass.
pub(crate) fn check(expression: &str) -> Result<()> {
    let (mut quote, mut is_escaped, mut last) = (None, false, ' ');
    let mut counted = Counted { copies: 1, ..Counted::default() };
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (at, letter) in expression.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if letter == '\\' => is_escaped = true,
            Some(mark) if letter == mark => quote = None,
            Some(_) => {}
            None => match letter {
                '"' | '\'' => quote = Some(letter),
                '.' if last == '.' => {
                    counted.descents += 1;
                    counted.descents_in_filters += usize::from(counted.filters > 0);
                }
                '?' => counted.filters += 1,
                '$' => counted.roots += 1,
                '[' | '(' => groups.push(Group {
                    function: name_before(&expression[..at]),
                    is_bracket: letter == '[',
                    parts: Vec::new(),
                    begin: at + 1,
                }),
                ',' => {
                    if let Some(group) = groups.last_mut() {
                        group.parts.push(expression[group.begin..at].trim());
                        group.begin = at + 1;
                    }
                }
                ']' | ')' => {
                    if let Some(mut group) = groups.pop() {
                        group.parts.push(expression[group.begin..at].trim());
                        counted.group(&group)?;
                    }
                }
                _ => {}
            },
        }
        last = if quote.is_some() { '"' } else { letter };
    }
    counted.check()
}

/// The name at the end of a text.
fn name_before(text: &str) -> &str {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    &text[text.trim_end_matches(is_of_name).len()..]
}

impl Counted {
    /// Counts the content of a bracket or a parenthesis.
    fn group(&mut self, group: &Group<'_>) -> Result<()> {
        if group.is_bracket {
            self.copies = self.copies.saturating_mul(group.parts.len());
            if group.parts.iter().filter(|selector| selects_several(selector)).count() > 1 {
                return Err(Problem::new(
                    "a bracket in it can have only one wildcard, slice or filter: more would select the same values again",
                ));
            }
        } else if matches!(group.function, "match" | "search") {
            self.patterns += 1;
            let pattern = group.parts.get(1).and_then(|argument| literal(argument)).ok_or_else(|| {
                Problem::new(format!(
                    "the second argument of `{}` must be a pattern between quotes, not one from the response",
                    group.function
                ))
            })?;
            patterns::compile(&pattern, group.function == "match")
                .map_err(|error| Problem::new(format!("its pattern {pattern:?} cannot be used: {error}")))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.descents > 1 || self.descents_in_filters > 0 {
            return Err(Problem::new(
                "it can have only one `..`, and none within or after a filter: more would take too long",
            ));
        }
        if self.roots > 1 {
            return Err(Problem::new(
                "a filter in it looks at the whole response (`$`) again for each value, which would take too long",
            ));
        }
        if self.filters > 2 {
            return Err(Problem::new("it can have at most two filters"));
        }
        if self.copies > EXPRESSION_SELECTORS {
            return Err(Problem::new(format!(
                "the selectors of its brackets, multiplied, are more than {EXPRESSION_SELECTORS}; name fewer in each"
            )));
        }
        if self.patterns > PATTERNS {
            return Err(Problem::new(format!("it can use `match` and `search` {PATTERNS} times at most")));
        }
        Ok(())
    }
}

/// True for a wildcard, a slice or a filter.
fn selects_several(selector: &str) -> bool {
    match selector.chars().next() {
        Some('*' | '?') => true,
        Some('"' | '\'') | None => false,
        Some(_) => selector.contains(':'),
    }
}

/// The text of a literal between quotes; `None` if it is something else.
fn literal(argument: &str) -> Option<String> {
    let inner = argument.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let json = match inner {
        // JSON has the same escapes except one, and no single quotes.
        Some(inner) => format!("\"{}\"", inner.replace("\\'", "'").replace('"', "\\\"")),
        None => argument.to_owned(),
    };
    serde_json::from_str(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(expression: &str) -> String {
        check(expression).expect_err(expression).to_string()
    }

    #[test]
    fn no_expression_selects_the_same_values_over_and_over() {
        for (expression, words) in [
            ("$[*,*]", "one wildcard"),
            ("$[0:1, *]", "one wildcard"),
            ("$[?@.a,?@.a]", "one wildcard"),
            ("$[?@[*,*]]", "one wildcard"),
            (&format!("${}", "['a','a']".repeat(5)), "multiplied"),
            (&format!("$[?@{}]", "[0,0]".repeat(5)), "multiplied"),
            (&format!("$..[{}0]", "0,".repeat(EXPRESSION_SELECTORS)), "multiplied"),
        ] {
            let problem = refusal(expression);
            assert!(problem.contains(words), "{expression}: {problem}");
        }
        for fine in
            ["$[*][*][*]", "$['a','b:*',\"c,]\"]", "$..['id', 'name']", "$[0,1]['a','b'][?@.x == ',' && @.y]"]
        {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
    }

    #[test]
    fn patterns_are_few_small_and_the_authors_own() {
        for (expression, words) in [
            ("$[?search(@.a, @.p)]", "between quotes"),
            ("$[?match(@.a, value(@['x', 'y']))]", "between quotes"),
            ("$[?match(@.a)]", "between quotes"),
            ("$[?!search( @['a,'] , @.p )]", "between quotes"),
            ("$[?search(@.a, 'a{1000}{1000}')]", "cannot be used"),
            ("$[?search(@.a, 'a\\u007b1000}{1000}')]", "cannot be used"),
            ("$[?search(@.a, '(')]", "cannot be used"),
            ("$[?search(@, 'a') || search(@, 'b') || search(@, 'c')]", "times at most"),
        ] {
            let problem = refusal(expression);
            assert!(problem.contains(words), "{expression}: {problem}");
        }
        for fine in [
            "$[?search(@.a, '^\\\\d{4}-\\\\w+@')]",
            "$[?match(@.a, \"it's, (a) 'b'\") && search(@.b,'it\\'s \"b\"')]",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
            assert!(serde_json_path::JsonPath::parse(fine).is_ok(), "{fine}");
        }
    }
}
