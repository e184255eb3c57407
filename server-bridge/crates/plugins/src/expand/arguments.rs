//! The arguments of a command, and their placeholders in a text: `$ARGUMENTS`, `$ARGUMENTS[0]`, `$1`, `$NAME`.

use crate::variables::Variables;

/// The arguments of a command, as they were typed.
pub(super) struct Arguments<'a> {
    typed: &'a str,
    words: Vec<String>,
    names: &'a [String],
    first: usize,
    variables: &'a Variables,
    directory: &'a str,
}

/// A placeholder in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// All arguments.
    All,
    /// One argument, counted from 0.
    One(usize),
    /// A text that is not an argument: a directory of the plugin, or an escaped `$`.
    Fixed(String),
}

impl<'a> Arguments<'a> {
    pub(super) fn read(
        typed: &'a str,
        names: &'a [String],
        first: usize,
        variables: &'a Variables,
        directory: &'a str,
    ) -> Self {
        Self { typed: typed.trim(), words: words(typed), names, first, variables, directory }
    }

    /// The arguments as separate words.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// Replaces all placeholders in a text; returns true if there was one for arguments.
    pub(super) fn fill(&self, text: &str) -> (String, bool) {
        let mut filled = String::with_capacity(text.len());
        let mut uses_any = false;
        let mut rest = text;
        while let Some(at) = rest.find(['$', '\\']) {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let Some((place, length)) = self.place(rest) else {
                filled.push_str(&rest[..1]);
                rest = &rest[1..];
                continue;
            };
            match place {
                Place::All => filled.push_str(self.typed),
                Place::One(number) => filled.push_str(self.words.get(number).map_or("", String::as_str)),
                Place::Fixed(ref text) => filled.push_str(text),
            }
            uses_any |= !matches!(place, Place::Fixed(_));
            rest = &rest[length..];
        }
        filled.push_str(rest);
        (filled, uses_any)
    }

    /// The placeholder at the beginning of a text that starts with `$` or `\`, and its length.
    pub(super) fn place(&self, text: &str) -> Option<(Place, usize)> {
        if let Some(escaped) = text.strip_prefix('\\') {
            // `\$1` means `$1`; before anything else, a backslash is an ordinary character.
            let is_place =
                escaped.starts_with('$') && !escaped.starts_with("${") && self.place(escaped).is_some();
            return is_place.then(|| (Place::Fixed("$".to_owned()), 2));
        }
        let rest = text.strip_prefix('$')?;
        if let Some(braced) = rest.strip_prefix('{') {
            let (name, _) = braced.split_once('}')?;
            let pairs = self.variables.pairs().into_iter().chain([("CLAUDE_SKILL_DIR", self.directory)]);
            let value = pairs.into_iter().find(|(known, _)| *known == name)?.1;
            return (!value.is_empty()).then(|| (Place::Fixed(value.to_owned()), name.len() + 3));
        }
        if let Some(after) = rest.strip_prefix("ARGUMENTS") {
            if let Some((number, _)) = after.strip_prefix('[').and_then(|after| after.split_once(']'))
                && let Ok(index) = number.parse()
            {
                return Some((Place::One(index), "$ARGUMENTS[]".len() + number.len()));
            }
            return (!after.starts_with(is_word)).then_some((Place::All, "$ARGUMENTS".len()));
        }
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        if digits > 0 {
            let number: usize = rest[..digits].parse().ok()?;
            // `$100`, `$5.50` and `$1k` are amounts of money.
            let after = &rest[digits..];
            let is_sum = digits > 2
                || after.starts_with(is_word)
                || after
                    .strip_prefix(['.', ','])
                    .is_some_and(|after| after.starts_with(|letter: char| letter.is_ascii_digit()));
            let number = number.checked_sub(self.first)?;
            return (!is_sum).then_some((Place::One(number), digits + 1));
        }
        let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let number = self.names.iter().position(|name| *name == rest[..length])?;
        Some((Place::One(number), length + 1))
    }
}

/// True if a text counts its arguments from `$0`.
pub(super) fn uses_zero(text: &str) -> bool {
    text.match_indices("$0")
        .any(|(at, _)| !text[at + 2..].starts_with(|letter| is_word(letter) || letter == '.'))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The words of a line, split as in a shell: quotes keep words together. An open quote ends with the line.
fn words(typed: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = typed.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            quote @ ('"' | '\'') => {
                let word = word.get_or_insert_default();
                while let Some(letter) = letters.next().filter(|letter| *letter != quote) {
                    match letter {
                        '\\' if quote == '"' => word.extend(letters.next()),
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
