//! The head of a text: lines of `key: value` between two lines of `---`, as much of YAML as such heads use.

use std::collections::BTreeMap;

use crate::limits::LIBRARY_DESCRIPTION_CHARS;

/// A text's head, and its body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a> {
    fields: BTreeMap<String, String>,
    pub(super) body: &'a str,
}

impl<'a> Text<'a> {
    /// Reads a text; without a head, all of it is the body.
    pub(super) fn read(text: &'a str) -> Self {
        let plain = Self { fields: BTreeMap::new(), body: text.trim() };
        let text = text.trim_start_matches('\u{feff}');
        let Some(rest) = text
            .strip_prefix("---")
            .and_then(|rest| rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n'))
        else {
            return plain;
        };
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                return Self { fields: fields(&rest[..at]), body: rest[at + line.len()..].trim() };
            }
            at += line.len();
        }
        // The head never ends: the text may be cut.
        Self { fields: fields(rest), body: "" }
    }

    /// A value, on one line; empty where there is none.
    pub(super) fn line(&self, key: &str) -> String {
        let value = self.fields.get(key).map(String::as_str).unwrap_or_default();
        let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(LIBRARY_DESCRIPTION_CHARS).collect()
    }

    /// A value as it was written; empty where there is none.
    pub(super) fn whole(&self, key: &str) -> &str {
        self.fields.get(key).map(String::as_str).unwrap_or_default()
    }

    /// A list, as `a, b`, `[a, b]` or lines of `- a`; `None` if the key is missing.
    pub(super) fn list(&self, key: &str) -> Option<Vec<String>> {
        let value = self.fields.get(key)?.trim().trim_start_matches('[').trim_end_matches(']');
        let items =
            value.split([',', '\n']).map(|item| unquoted(item.trim().trim_start_matches("- ").trim()));
        Some(items.filter(|item| !item.is_empty()).map(str::to_owned).collect())
    }
}

fn fields(head: &str) -> BTreeMap<String, String> {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in head.lines() {
        let goes_on = line.starts_with([' ', '\t', '-']);
        match (&last, line.split_once(':')) {
            (Some(key), _) if goes_on => {
                let value = fields.entry(key.clone()).or_default();
                value.push('\n');
                value.push_str(line.trim());
            }
            (_, Some((key, value))) if !goes_on => {
                // A block scalar indicator is not part of the value.
                let value = unquoted(value.trim()).trim_start_matches(['>', '|']);
                fields.insert(key.trim().to_owned(), value.to_owned());
                last = Some(key.trim().to_owned());
            }
            _ => {}
        }
    }
    fields
}

fn unquoted(value: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_in_the_forms_that_people_write() {
        let text = Text::read(
            "---\r\nname: review\ndescription: >\n  Looks at a change\n  with care: always\n\
             tools: [Read, \"Grep\"]\nmodel: 'swift'\n# a remark\n---\n\nBe kind.\n",
        );
        assert_eq!(text.line("name"), "review");
        assert_eq!(text.line("description"), "Looks at a change with care: always");
        assert_eq!(text.list("tools").unwrap(), ["Read", "Grep"]);
        assert_eq!((text.line("model").as_str(), text.body), ("swift", "Be kind."));
        assert_eq!(
            Text::read("---\ntools:\n  - Read\n- Grep\n---\n").list("tools").unwrap(),
            ["Read", "Grep"]
        );
        assert_eq!(Text::read("---\ntools: Read, Grep\n---").list("tools").unwrap(), ["Read", "Grep"]);
        assert_eq!(text.list("none"), None);
    }

    #[test]
    fn what_has_no_head_or_a_broken_one_is_read_all_the_same() {
        assert_eq!(Text::read("plain\n---\n"), Text { body: "plain\n---", ..Text::default() });
        let cut = Text::read("---\nname: x\ndescr");
        assert_eq!((cut.line("name").as_str(), cut.body), ("x", ""));
        assert_eq!(Text::read("---\n\u{0}:::\n- \n ---\n---\nb").body, "b");
        assert_eq!(Text::read("").body, "");
        let long = format!("---\ndescription: {}\n---", "é".repeat(LIBRARY_DESCRIPTION_CHARS + 9));
        assert_eq!(Text::read(&long).line("description").chars().count(), LIBRARY_DESCRIPTION_CHARS);
    }
}
