//! Duplicate keys: a JSON reader keeps the last one, and would silently drop the rules of the first.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::rule::Effect;

/// The rule keys that occur twice in a document.
pub(super) fn twice(json: &str) -> Result<Vec<String>, serde_json::Error> {
    let Object { keys, lists } = serde_json::from_str(json)?;
    let all = lists.into_iter().chain([keys]);
    let mut found = Vec::new();
    for keys in all {
        let again = |(at, key): (usize, &String)| keys[..at].contains(key).then(|| key.clone());
        found.extend(keys.iter().enumerate().filter_map(again));
    }
    found.dedup();
    Ok(found)
}

/// The keys of an object, and those of each `permissions` in it.
#[derive(Default)]
struct Object {
    keys: Vec<String>,
    lists: Vec<Vec<String>>,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Object;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Object, A::Error> {
        let mut object = Object::default();
        while let Some(key) = fields.next_key::<String>()? {
            if key == "permissions" {
                object.lists.push(fields.next_value::<Object>()?.keys);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
            // Only these keys matter, and a document may have many others.
            let is_list = || Effect::ALL.iter().any(|effect| effect.as_str() == key);
            if key == "permissions" || is_list() {
                object.keys.push(key);
            }
        }
        Ok(object)
    }
}
