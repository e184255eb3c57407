//! Recognising values with credentials. In doubt, a value counts as a credential: then a setting is missing, but nothing
//! leaks.

/// Prefixes of the tokens of well-known services, in the case they are written in.
const TOKEN_BEGINNINGS: &[&str] = &[
    "AIza",
    "AKIA",
    "ASIA",
    "dckr_pat_",
    "eyJ",
    "ghp_",
    "gho_",
    "ghr_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "hf_",
    "npm_",
    "pypi-",
    "sk-",
    "xoxb-",
    "xoxp-",
];

/// How many characters must follow a token's prefix.
const TOKEN_CHARACTERS: usize = 16;

/// Words that precede a secret, in lower case.
const TELLING: &[&str] = &[
    "-----begin",
    "access_key=",
    "api_key=",
    "apikey=",
    "authorization:",
    "basic ",
    "bearer ",
    "passwd=",
    "password=",
    "private_key",
    "secret=",
    "sig=",
    "signature=",
    "token=",
];

/// True if a value seems to contain a password, a token or a key.
pub(crate) fn holds_secret(value: &str) -> bool {
    // Quotes and escapes may appear anywhere in a value without changing its meaning.
    let plain: String = value.chars().filter(|letter| !matches!(letter, '"' | '\'' | '\\')).collect();
    let small = plain.to_ascii_lowercase();
    TELLING.iter().any(|word| small.contains(word))
        || plain
            .split(|letter: char| letter.is_whitespace() || matches!(letter, ',' | '|' | '[' | ']'))
            .any(|word| has_user_and_password(word) || has_token(word))
}

/// True if a word contains a user with a password, as in a URL or without its scheme.
fn has_user_and_password(word: &str) -> bool {
    let mut rest = word;
    let mut has_scheme = false;
    while let Some((before, after)) = rest.split_once("://") {
        has_scheme = true;
        let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            let is_ssh = before.ends_with("ssh");
            // A lone name may be a token, unless it is the user of a login with a key.
            if user.contains(':') || !is_ssh && user != "git" {
                return true;
            }
        }
        rest = after;
    }
    !has_scheme && word.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

fn has_token(word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    TOKEN_BEGINNINGS.iter().any(|beginning| {
        word.match_indices(beginning).any(|(at, _)| {
            let starts_a_word = !word[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric());
            let rest = &word[at + beginning.len()..];
            starts_a_word && rest.chars().take_while(|letter| is_part(*letter)).count() >= TOKEN_CHARACTERS
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_told_in_every_dress() {
        for value in [
            "https://user:pass@example.com/simple",
            "https://ghp_0123456789012345678901234567890123@github.com/",
            "https://token@example.com",
            "\"https://us\"er:pa'ss'@example.com\"",
            "https://a.example/x,https://u:p@b.example",
            "sparse+https://u:p@example.com/index/",
            "https://good.example/ https://u:p@bad.example/",
            "http://u:p%40q@proxy:3128",
            "u:p@proxy:3128",
            "ssh://git:secret@example.com/x",
            "https://example.com/?token=abc",
            "https://example.com/https://u:p@example.com",
            "AUTHORIZATION: Basic dXNlcjpwYXNz",
            "npm_abcdefghijklmnopqrstuvwxyz0123456789",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ] {
            assert!(holds_secret(value), "{value}");
        }
    }

    #[test]
    fn ordinary_values_are_not() {
        for value in [
            "https://example.com/simple/",
            "git@github.com:me/project.git",
            "ssh://git@github.com/me/project",
            "https://git@github.com/me/project",
            "sparse+https://index.example.com/",
            "https://proxy.example.com|direct",
            "http://proxy:3128",
            "me@example.com",
            "Jane Doe",
            "log --oneline --graph",
            "npm_config",
            "*.internal,10.0.0.0/8",
            "",
        ] {
            assert!(!holds_secret(value), "{value}");
        }
    }
}
