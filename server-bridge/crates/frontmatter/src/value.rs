//! The values of a head's fields.

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text; numbers and words such as `true` too.
    Text(String),
    /// A list of values.
    List(Vec<Value>),
    /// Fields within the field.
    Map(Map),
}

/// Fields, in their order. If a name occurs twice, the last value counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map(Vec<(String, Value)>);

impl Map {
    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The names of the fields.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, name: String, value: Value) {
        self.0.push((name, value));
    }
}

impl Value {
    /// The value on one line; its texts, if it is a list; empty, if it has fields.
    pub fn line(&self) -> String {
        match self {
            Self::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Self::List(_) => self.list().join(", "),
            Self::Map(_) => String::new(),
        }
    }

    /// The text as it is; `None` if the value is not a text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    /// The value's items: those of a list, or the parts of a text between commas and line ends outside parentheses.
    pub fn list(&self) -> Vec<String> {
        match self {
            Self::Text(text) => split(text, |letter| matches!(letter, ',' | '\n')),
            Self::List(items) => items.iter().map(Self::line).filter(|item| !item.is_empty()).collect(),
            Self::Map(_) => Vec::new(),
        }
    }

    /// The value's items, where blanks may also separate items that contain none: `Read Bash(git add *)`.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) => split(text, |letter| letter == ',' || letter.is_whitespace()),
            Self::List(_) | Self::Map(_) => self.list(),
        }
    }

    /// True for `true`, `yes` and `on`, false for `false`, `no` and `off`; `None` for any other value.
    pub fn truth(&self) -> Option<bool> {
        match self.text()?.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// The value as fields; `None` if it has none.
    pub fn map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            Self::Text(_) | Self::List(_) => None,
        }
    }
}

/// The parts of a text between separators outside parentheses.
fn split(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0usize;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && is_separator(letter) {
            items.push(String::new());
        } else if let Some(item) = items.last_mut() {
            item.push(letter);
        }
    }
    let items = items.iter().map(|item| unquoted(item.trim()).trim().to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

fn unquoted(item: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| item.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(item)
}
