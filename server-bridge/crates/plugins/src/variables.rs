//! Variables for a plugin's directories: `${CLAUDE_PLUGIN_ROOT}`, `${PLUGIN_DATA}` and similar ones.

use serde_json::Value;

/// The directories of a plugin on the machine where its parts run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables {
    /// The directory with the plugin's files.
    pub root: String,
    /// The directory for the plugin's own data.
    pub data: String,
}

impl Variables {
    /// The names and values of the variables, also for the environment of the plugin's programs.
    pub fn pairs(&self) -> [(&'static str, &str); 4] {
        [
            ("CLAUDE_PLUGIN_ROOT", &self.root),
            ("CLAUDE_PLUGIN_DATA", &self.data),
            ("PLUGIN_ROOT", &self.root),
            ("PLUGIN_DATA", &self.data),
        ]
    }

    /// Replaces the variables in a text. The inserted values are not searched again, and other variables stay.
    pub fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let found = self.pairs().into_iter().find_map(|(name, value)| {
                let after = rest[2..].strip_prefix(name)?.strip_prefix('}')?;
                Some((value, after))
            });
            match found {
                Some((value, after)) => {
                    filled.push_str(value);
                    rest = after;
                }
                None => {
                    filled.push_str("${");
                    rest = &rest[2..];
                }
            }
        }
        filled.push_str(rest);
        filled
    }

    /// Replaces the variables in every string of a document, except in names of fields.
    pub fn fill_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.fill(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill_json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.fill_json(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in_once_and_other_variables_stay() {
        let variables = Variables { root: "/p/${PLUGIN_DATA}".to_owned(), data: "/d".to_owned() };
        let filled =
            variables.fill("${CLAUDE_PLUGIN_ROOT}/x ${PLUGIN_DATA} $PLUGIN_DATA ${PLUGIN_DATA ${HOME} ${");
        assert_eq!(filled, "/p/${PLUGIN_DATA}/x /d $PLUGIN_DATA ${PLUGIN_DATA ${HOME} ${");
        let mut document = serde_json::json!({"${PLUGIN_ROOT}": ["${PLUGIN_DATA}/é", 1, null]});
        variables.fill_json(&mut document);
        assert_eq!(document, serde_json::json!({"${PLUGIN_ROOT}": ["/d/é", 1, null]}));
    }
}
