//! Hiding secrets that a service sends back.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

use crate::limits::MASKED_CHARS;
use crate::template::percent;

/// Secrets in all the forms in which services usually return them: unchanged, escaped for JSON, HTML and addresses, in Base64, and in
/// hexadecimal digits.
#[derive(Clone, Default)]
pub struct Mask {
    /// The forms with the names of their secrets, the longest form first.
    forms: Vec<(String, String)>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Mask({} forms)", self.forms.len())
    }
}

impl Mask {
    /// A mask for these secrets, each given with its name.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        // Many tools may have the same secret.
        let values: BTreeMap<&String, &String> =
            secrets.into_iter().map(|(name, value)| (value, name)).collect();
        let of = |(value, name): (&String, &String)| {
            let name = name.clone();
            forms(value).into_iter().map(move |form| (form, name.clone()))
        };
        let mut forms: Vec<(String, String)> = values.into_iter().flat_map(of).collect();
        forms.sort_by(|(one, _), (two, _)| two.len().cmp(&one.len()).then_with(|| one.cmp(two)));
        Self { forms }
    }

    /// The text with each form of a secret replaced with the secret's name.
    pub fn text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for (form, name) in &self.forms {
            if masked.contains(form.as_str()) {
                masked = masked.replace(form.as_str(), &format!("[secret {name}]"));
            }
        }
        masked
    }

    /// The text with each form of a secret replaced, for a text that was cut: its end is removed if it may be the beginning of a secret.
    pub fn cut_text(&self, text: &str) -> String {
        let mut masked = self.text(text);
        let begins = |length: usize| {
            let from = masked.len() - length;
            let tail = masked.get(from..)?;
            self.forms.iter().any(|(form, _)| form.starts_with(tail)).then_some(from)
        };
        let longest = self.forms.first().map_or(0, |(form, _)| form.len());
        if let Some(from) = (1..=longest.min(masked.len())).rev().find_map(begins) {
            masked.truncate(from);
        }
        masked
    }

    /// A JSON value with the secrets in its texts, names and numbers replaced.
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) => match self.text(&number.to_string()) {
                masked if masked == number.to_string() => value.clone(),
                masked => Value::String(masked),
            },
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(fields) => Value::Object(
                fields.iter().map(|(name, value)| (self.text(name), self.value(value))).collect(),
            ),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::from([secret.to_owned()]);
    let json = Value::from(secret).to_string();
    forms.insert(json[1..json.len() - 1].to_owned());
    forms.insert(json[1..json.len() - 1].replace('/', "\\/"));
    let encoded = percent(secret);
    forms.insert(encoded.replace("%20", "+"));
    forms.insert(lower_hex(&encoded));
    forms.insert(encoded);
    let html = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    forms.insert(html.replace('\'', "&#39;"));
    forms.insert(html.replace('\'', "&#x27;"));
    forms.insert(html);
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    forms.insert(hex.to_uppercase());
    forms.insert(hex);
    forms.extend(base64(secret.as_bytes()));
    forms.retain(|form| form.chars().count() >= MASKED_CHARS);
    forms
}

/// The text with lower-case digits in its percent-encodings.
fn lower_hex(encoded: &str) -> String {
    let mut pieces = encoded.split('%');
    let mut lower = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at(piece.len().min(2));
        lower.push('%');
        lower.push_str(&digits.to_lowercase());
        lower.push_str(rest);
    }
    lower
}

/// The parts of a secret's Base64 forms that depend only on the secret, whatever precedes it in the encoded data.
fn base64(secret: &[u8]) -> impl Iterator<Item = String> {
    (0..3).flat_map(move |before| {
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.iter().copied()).collect();
        let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)].map(|text| text[from..to].to_owned())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET: &str = "k3y/+\"<é>&sécret'x";

    fn mask() -> Mask {
        Mask::new(&BTreeMap::from([("KEY".to_owned(), SECRET.to_owned())]))
    }

    #[test]
    fn a_secret_is_hidden_in_every_usual_form() {
        let mask = mask();
        let escaped = Value::from(SECRET).to_string();
        let basic = STANDARD.encode(format!("user:{SECRET}"));
        let other = URL_SAFE.encode(format!("a:{SECRET}!"));
        for text in [SECRET, escaped.as_str(), &percent(SECRET), &lower_hex(&percent(SECRET)), &basic, &other]
        {
            let masked = mask.text(&format!("before {text} after"));
            assert!(masked.contains("[secret KEY]") && masked.len() < text.len() + 30, "{text}: {masked}");
        }
        assert_eq!(mask.text("nothing here"), "nothing here");
        assert!(!format!("{mask:?}").contains("k3y"));
    }

    #[test]
    fn values_and_names_of_json_are_masked() {
        let mask = Mask::new(&BTreeMap::from([("PIN".to_owned(), "1234567890".to_owned())]));
        let masked = mask.value(&json!({"1234567890": [1234567890u64, "a1234567890b", true, null]}));
        assert_eq!(masked, json!({"[secret PIN]": ["[secret PIN]", "a[secret PIN]b", true, null]}));
    }

    #[test]
    fn the_beginning_of_a_secret_at_a_cut_goes() {
        let mask = Mask::new(&BTreeMap::from([("KEY".to_owned(), "abcdefghij".to_owned())]));
        assert_eq!(mask.cut_text("text abcdefg"), "text ");
        assert_eq!(mask.cut_text("text abcdefghij and"), "text [secret KEY] and");
        assert_eq!(mask.cut_text(""), "");
    }
}
