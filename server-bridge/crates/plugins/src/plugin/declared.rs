//! The parts that a manifest declares: paths, lists of them, or the parts themselves.

use serde_json::{Map, Value};

use super::reader::Reader;
use crate::json::type_of;
use crate::limits::LIST_ITEMS;
use crate::text::quoted;
use crate::tree::PluginPath;

/// Determines where a field may contain the parts themselves, and not only paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inline {
    Never,
    /// Only as the whole field, not in a list.
    Whole,
    /// Also in a list.
    Items,
}

/// One declared part.
pub(super) enum Declared {
    /// A file or directory that exists.
    Path(PluginPath),
    /// A part that is defined in the field itself.
    Inline(Map<String, Value>),
}

impl Reader<'_> {
    /// The usable parts that a field declares, each with its place. A part that cannot be used is reported as a
    /// problem.
    pub(super) fn declared(&mut self, place: &str, value: &Value, inline: Inline) -> Vec<(String, Declared)> {
        let (items, is_list) = match value {
            Value::Array(items) => (items.as_slice(), true),
            other => (std::slice::from_ref(other), false),
        };
        let allows_inline = inline == Inline::Items || (inline == Inline::Whole && !is_list);
        let mut found = Vec::new();
        for (at, item) in items.iter().take(LIST_ITEMS).enumerate() {
            let place = if is_list { format!("{place}[{at}]") } else { place.to_owned() };
            match item {
                Value::String(path) => {
                    found.extend(self.declared_path(&place, path).map(|path| (place, Declared::Path(path))))
                }
                Value::Object(fields) if allows_inline => {
                    found.push((place, Declared::Inline(fields.clone())))
                }
                other => {
                    let expected = if allows_inline { "a path or an object" } else { "a path" };
                    self.refused(place, format!("must be {expected}, not {}", type_of(other)));
                }
            }
        }
        if items.len() > LIST_ITEMS {
            self.refused(place, format!("has more than {LIST_ITEMS} entries; the others are left out"));
        }
        found
    }

    /// A declared path, if it stays within the plugin and exists.
    pub(super) fn declared_path(&mut self, place: &str, written: &str) -> Option<PluginPath> {
        let relative = written.strip_prefix("${CLAUDE_PLUGIN_ROOT}/").unwrap_or(written);
        match PluginPath::parse(relative) {
            Ok(path) if self.tree.file(&path).is_some() || self.tree.has_directory(&path) => Some(path),
            Ok(_) => {
                self.refused(place, format!("names {}, which is not in the plugin", quoted(written)));
                None
            }
            Err(error) => {
                self.refused(place, format!("is left out: {error}"));
                None
            }
        }
    }
}
