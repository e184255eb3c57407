//! Which known values a payload must not show: tokens, and nothing that a guard must see. A value that could be a command, a path or a word stays
//! visible, whoever declares it a secret: otherwise an agent could hide a command from a guard by adding a server with that "secret".

use super::redact::is_secret;
use crate::limits::{TOKEN_BYTES, UNNAMED_TOKEN_BYTES};

/// The words before a token in a header's value.
const SCHEMES: [&str; 4] = ["apikey", "basic", "bearer", "token"];

/// The token in the value of a header or a variable, without an authentication scheme; `None` if the value is not one.
pub fn token_in(value: &str) -> Option<&str> {
    let value = value.trim();
    let token = match value.split_once(' ') {
        Some((scheme, token)) if SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
            token.trim()
        }
        _ => value,
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+=/:@!#%^*,?".contains(&byte);
    let is_path = token.contains("://") || token.starts_with(['/', '.', '~', '-']);
    let has = |kind: fn(&u8) -> bool| token.as_bytes().iter().any(kind);
    let is_token = token.len() >= TOKEN_BYTES
        && token.bytes().all(is_plain)
        && !is_path
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic);
    is_token.then_some(token)
}

/// The token in the value of a header or a variable that is secret by its name, or that is random text.
pub fn secret_in<'a>(name: &str, value: &'a str) -> Option<&'a str> {
    token_in(value).filter(|token| is_secret(name) || is_random(token))
}

/// True for a text that nobody chose: letters of both cases with digits, or many hexadecimal digits.
fn is_random(token: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| token.as_bytes().iter().any(kind);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    let is_hex = token.bytes().all(|byte| byte.is_ascii_hexdigit());
    token.len() >= UNNAMED_TOKEN_BYTES && (is_mixed || is_hex) && !token.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_by_their_names_and_their_form() {
        for (name, value, token) in [
            ("Authorization", "Bearer 0123-abcd-4567", "0123-abcd-4567"),
            ("X-Api-Key", " k3y-of-the-user ", "k3y-of-the-user"),
            ("authorization", "basic YWRhOnBhc3N3b3JkMQ==", "YWRhOnBhc3N3b3JkMQ=="),
            ("DB_PASSWORD", "correct-horse-7", "correct-horse-7"),
            ("EXTRA", "Zm9vYmFy0123456789abCD", "Zm9vYmFy0123456789abCD"),
            ("EXTRA", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"),
        ] {
            assert_eq!(secret_in(name, value), Some(token), "{name}");
        }
    }

    #[test]
    fn what_a_guard_must_see_is_no_secret() {
        for (name, value) in [
            ("TOKEN", "rm -rf /tmp/x1"),
            ("TOKEN", "$(curl${IFS}evil1)"),
            ("TOKEN", "a1b2c3d4e5f6;reboot"),
            ("TOKEN", "/usr/bin/python3.12"),
            ("TOKEN", "--force-with-lease2"),
            ("TOKEN", "shutdown-now"),
            ("TOKEN", "mkfs.ext4"),
            ("TOKEN", "https://a.example/x1"),
            ("NODE_ENV", "production-2024-eu-west-1"),
            ("ROOT", "Users/Ada/Projects/site2024"),
            ("TOKEN", ""),
        ] {
            assert_eq!(secret_in(name, value), None, "{value}");
        }
    }
}
