//! Texts with wildcards: `*` matches any text; in names of files, there are also `?` and `[a-z]`.

/// The reason why a text with wildcards is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WildError {
    /// A bracket is not closed.
    #[error("a `[` has no `]`; write `\\[` for the character itself")]
    Bracket,
    /// There is a backslash at the end.
    #[error("there is a `\\` at the end; write `\\\\` for the character itself")]
    Backslash,
    /// The path leads out of its folder.
    #[error("`..` can never match, since paths are compared without it; write the path itself")]
    Parent,
}

/// A text with wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wild {
    /// A pattern with only `*`: the literal texts between the stars.
    Stars(Box<[Box<str>]>),
    /// A pattern with `?` and `[a-z]` as well.
    Glob(Box<[Token]>),
}

/// A part of a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// One character.
    Char(char),
    /// Any one character.
    Any,
    /// Any text.
    Star,
    /// One character in these ranges, or outside all of them.
    Class {
        /// True if the character must not be in the ranges.
        negated: bool,
        /// The first and the last character of each range.
        ranges: Vec<(char, char)>,
    },
}

impl Wild {
    /// Reads a text in which `*` is a wildcard, and `\*` is not.
    pub(crate) fn stars(text: &str) -> Self {
        let (mut pieces, mut piece) = (Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if matches!(chars.peek(), Some('*' | '\\')) => piece.extend(chars.next()),
                '*' => pieces.push(std::mem::take(&mut piece).into_boxed_str()),
                _ => piece.push(c),
            }
        }
        pieces.push(piece.into_boxed_str());
        Self::Stars(pieces.into())
    }

    /// Reads the pattern of a file's name.
    pub(crate) fn glob(text: &str) -> Result<Self, WildError> {
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '\\' => Token::Char(chars.next().ok_or(WildError::Backslash)?),
                '*' if tokens.last() == Some(&Token::Star) => continue,
                '*' => Token::Star,
                '?' => Token::Any,
                '[' => class(&mut chars)?,
                _ => Token::Char(c),
            });
        }
        if tokens.iter().any(|token| matches!(token, Token::Any | Token::Class { .. })) {
            return Ok(Self::Glob(tokens.into()));
        }
        let (mut pieces, mut piece) = (Vec::new(), String::new());
        for token in tokens {
            match token {
                Token::Char(c) => piece.push(c),
                _ => pieces.push(std::mem::take(&mut piece).into_boxed_str()),
            }
        }
        pieces.push(piece.into_boxed_str());
        Ok(Self::Stars(pieces.into()))
    }

    /// The pattern's text, if it has no wildcards.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            Self::Stars(pieces) if pieces.len() == 1 => Some(&pieces[0]),
            _ => None,
        }
    }

    /// The text before its first wildcard.
    pub(crate) fn head(&self) -> &str {
        match self {
            Self::Stars(pieces) => &pieces[0],
            Self::Glob(_) => "",
        }
    }

    /// The text after its last wildcard.
    pub(crate) fn tail(&self) -> &str {
        match self {
            Self::Stars(pieces) => &pieces[pieces.len() - 1],
            Self::Glob(_) => "",
        }
    }

    /// True if it matches anything.
    pub(crate) fn is_everything(&self) -> bool {
        matches!(self, Self::Stars(pieces) if pieces.len() > 1 && pieces.iter().all(|piece| piece.is_empty()))
    }

    /// True if it matches a whole text.
    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Stars(pieces) => {
                let (first, last) = (&pieces[0], &pieces[pieces.len() - 1]);
                if pieces.len() == 1 {
                    return **first == *text;
                }
                let inside = text.strip_prefix(&**first).and_then(|rest| rest.strip_suffix(&**last));
                inside.is_some_and(|inside| find_all(&pieces[1..pieces.len() - 1], inside).is_some())
            }
            Self::Glob(tokens) => matches_glob(tokens, text),
        }
    }

    /// True if some text matches both; always false for globs, for which this cannot be determined.
    pub(crate) fn may_meet(&self, other: &Self) -> bool {
        let (Self::Stars(one), Self::Stars(two)) = (self, other) else { return false };
        if one.len() == 1 {
            return other.matches(&one[0]);
        }
        if two.len() == 1 {
            return self.matches(&two[0]);
        }
        // Between their ends, the wildcards of each match what the other one spells out.
        let (heads, tails) = ((self.head(), other.head()), (self.tail(), other.tail()));
        (heads.0.starts_with(heads.1) || heads.1.starts_with(heads.0))
            && (tails.0.ends_with(tails.1) || tails.1.ends_with(tails.0))
    }

    /// True if it matches the beginning of a text, up to the end of a word.
    pub(crate) fn begins(&self, text: &str) -> bool {
        let Self::Stars(pieces) = self else { return false };
        let Some(rest) = text.strip_prefix(&*pieces[0]) else { return false };
        let Some(rest) = find_all(&pieces[1..], rest) else { return false };
        self.tail().is_empty() || rest.is_empty() || rest.starts_with(' ') || self.tail().ends_with(' ')
    }
}

/// The text after the last of the pieces, which occur in a text in this order at any distance.
fn find_all<'a>(pieces: &[Box<str>], mut text: &'a str) -> Option<&'a str> {
    for piece in pieces {
        let at = text.find(&**piece)?;
        text = &text[at + piece.len()..];
    }
    Some(text)
}

fn class(chars: &mut std::str::Chars<'_>) -> Result<Token, WildError> {
    let mut rest = chars.clone();
    let negated = matches!(rest.next(), Some('!' | '^'));
    if negated {
        *chars = rest;
    }
    let mut members = Vec::new();
    loop {
        match chars.next().ok_or(WildError::Bracket)? {
            ']' if !members.is_empty() => break,
            '\\' => members.push((chars.next().ok_or(WildError::Bracket)?, true)),
            c => members.push((c, false)),
        }
    }
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some((from, _)) = members.get(at) {
        match (members.get(at + 1), members.get(at + 2)) {
            (Some(('-', false)), Some((to, _))) => {
                ranges.push((*from, *to));
                at += 3;
            }
            _ => {
                ranges.push((*from, *from));
                at += 1;
            }
        }
    }
    Ok(Token::Class { negated, ranges })
}

fn matches_glob(tokens: &[Token], text: &str) -> bool {
    let (mut token, mut rest) = (0, text.chars());
    // The state to return to if the characters after the last star do not match.
    let mut again: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let before = rest.clone();
        match (tokens.get(token), rest.next()) {
            (Some(Token::Star), _) => {
                token += 1;
                rest = before;
                again = Some((token, rest.clone()));
                continue;
            }
            (None, None) => return true,
            (Some(one), Some(c)) if matches_char(one, c) => {
                token += 1;
                continue;
            }
            _ => {}
        }
        let Some((after, begin)) = again.as_mut() else { return false };
        if begin.next().is_none() {
            return false;
        }
        token = *after;
        rest = begin.clone();
    }
}

fn matches_char(token: &Token, c: char) -> bool {
    match token {
        Token::Char(expected) => *expected == c,
        Token::Any => true,
        Token::Star => false,
        Token::Class { negated, ranges } => {
            ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
        }
    }
}
