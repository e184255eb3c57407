//! Malformed documents, which no messenger sends, for tests of the code that reads documents.

use serde_json::{Value, json};

/// Returns variants of a document: each value in turn is replaced with values of every kind, or left out.
pub(crate) fn variants(document: &Value) -> Vec<Value> {
    let mut pointers = Vec::new();
    collect(document, String::new(), &mut pointers);
    let strange = [
        json!(null),
        json!(true),
        json!(-1),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("<"),
        json!("💥\u{202e}\u{0}"),
        json!("9".repeat(5000)),
        json!([]),
        json!([null, {"id": 7}]),
        json!({}),
    ];
    let replaced = |pointer: &String, value: &Value| {
        let mut variant = document.clone();
        if let Some(place) = variant.pointer_mut(pointer) {
            *place = value.clone();
        }
        variant
    };
    pointers.iter().flat_map(|pointer| strange.iter().map(move |value| replaced(pointer, value))).collect()
}

fn collect(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), pointers);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                collect(value, format!("{at}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(at);
}
