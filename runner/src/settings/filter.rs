//! One filter for all formats: an entry passes if a table allows its name and its value contains no credentials.

use super::secrets::holds_secret;

/// How a file is divided into entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grammar {
    /// Sections with subsections; a backslash at a line's end continues it.
    Git,
    /// Sections; a line that begins with a blank continues the previous one.
    Ini,
    /// No sections: names and values.
    Flat,
    /// The syntax of cargo's configuration.
    Toml,
}

/// The permitted text of a file, and what was withheld from it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Filtered {
    pub(super) text: String,
    /// Names of entries that seem to contain credentials; never their values.
    pub(super) withheld: Vec<String>,
}

/// Names of entries, in lower case with their section as a prefix: `*` matches anything, a leading `!` withholds. The
/// first match decides; without one the entry is withheld.
pub(super) type Rules = &'static [&'static str];

/// Returns the permitted entries.
///
/// # Errors
/// The text does not follow its grammar.
pub(super) fn filter(text: &str, grammar: Grammar, rules: Rules) -> Result<Filtered, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.contains('\0') {
        return Err("it holds NUL bytes".to_owned());
    }
    if grammar == Grammar::Toml {
        let table: toml::Table = text.parse().map_err(|_| "it is not TOML".to_owned())?;
        let mut withheld = Vec::new();
        let table = filter_table(table, "", rules, &mut withheld);
        let text = toml::to_string(&table).map_err(|error| error.to_string())?;
        return Ok(Filtered { text, withheld });
    }
    let mut sieve = Sieve { grammar, rules, section: Some(Section::default()), out: Filtered::default() };
    let mut lines = text.lines().peekable();
    while let Some(first) = lines.next() {
        let mut entry = vec![first];
        while lines.peek().is_some_and(|next| continues(grammar, entry[entry.len() - 1], next)) {
            entry.extend(lines.next());
        }
        sieve.take(&entry);
    }
    Ok(sieve.out)
}

/// True if `next` belongs to the entry whose last line is `line`.
fn continues(grammar: Grammar, line: &str, next: &str) -> bool {
    match grammar {
        Grammar::Git => {
            let slashes = line.trim_end_matches('\r').bytes().rev().take_while(|byte| *byte == b'\\').count();
            slashes % 2 == 1
        }
        Grammar::Ini => next.starts_with([' ', '\t']) && !line.trim().is_empty() && !next.trim().is_empty(),
        Grammar::Flat | Grammar::Toml => false,
    }
}

/// The section that entries belong to.
#[derive(Default)]
struct Section {
    /// The section's name in lower case, with a dot at the end; empty at the top.
    name: String,
    /// The header as written in the file, until it is output.
    header: Option<String>,
    holds_secret: bool,
}

struct Sieve {
    grammar: Grammar,
    rules: Rules,
    /// `None` if the section is not certain.
    section: Option<Section>,
    out: Filtered,
}

impl Sieve {
    fn take(&mut self, lines: &[&str]) {
        let first = lines[0].trim();
        if first.starts_with('[') && self.grammar != Grammar::Flat {
            self.enter(first);
            if lines.len() > 1 {
                self.section = None;
            }
            return;
        }
        if first.starts_with('[') {
            // Names in sections have another meaning.
            self.section = None;
        }
        // A comment may hide where a multi-line entry ends: a line that looks like a section there may be a part of it.
        let may_enter =
            self.grammar == Grammar::Git && lines[1..].iter().any(|line| line.trim().starts_with('['));
        let is_comment = first.is_empty() || first.starts_with(['#', ';']);
        if !is_comment {
            self.entry(lines);
        }
        if may_enter {
            self.section = None;
        }
    }

    /// A header, perhaps followed by an entry.
    fn enter(&mut self, line: &str) {
        let Some((header, rest)) = split_header(line) else {
            self.section = None;
            return;
        };
        let name = header.trim_start_matches('[').trim();
        let name = name.split([' ', '\t', '.', '"', ']']).next().unwrap_or_default().to_ascii_lowercase();
        self.section = Some(Section {
            name: format!("{name}."),
            header: Some(header.to_owned()),
            holds_secret: holds_secret(header),
        });
        let rest = rest.trim();
        if !rest.is_empty() && !rest.starts_with(['#', ';']) {
            self.entry(&[rest]);
        }
    }

    fn entry(&mut self, lines: &[&str]) {
        let Some(section) = &mut self.section else { return };
        let separators: &[char] = if self.grammar == Grammar::Ini { &['=', ':'] } else { &['='] };
        let (name, _) = lines[0].split_once(separators).unwrap_or((lines[0], ""));
        let name = format!("{}{}", section.name, name.trim().to_ascii_lowercase());
        if !passes(self.rules, &name) {
            return;
        }
        // A multi-line entry passes as a whole or not at all; git's own are handled by `take`.
        let is_long = self.grammar == Grammar::Git && lines.len() > 1;
        let tells = lines.iter().any(|line| holds_secret(line));
        if is_long || section.holds_secret || tells {
            if !is_long || tells {
                self.out.withheld.push(if holds_secret(&name) { "an entry".to_owned() } else { name });
            }
            return;
        }
        if let Some(header) = section.header.take() {
            self.out.text.push_str(&format!("{header}\n"));
        }
        for line in lines {
            self.out.text.push_str(line.trim_end());
            self.out.text.push('\n');
        }
    }
}

/// Divides a line at the end of the header it begins with.
fn split_header(line: &str) -> Option<(&str, &str)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, letter) in line.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return Some(line.split_at(at + 1)),
            _ => {}
        }
    }
    None
}

fn filter_table(table: toml::Table, above: &str, rules: Rules, withheld: &mut Vec<String>) -> toml::Table {
    let mut kept = toml::Table::new();
    for (key, value) in table {
        let name = format!("{above}{}", key.to_ascii_lowercase());
        if let toml::Value::Table(inner) = value {
            let inner = filter_table(inner, &format!("{name}."), rules, withheld);
            if !inner.is_empty() {
                kept.insert(key, inner.into());
            }
        } else if passes(rules, &name) {
            if holds_secret(&value.to_string()) || holds_secret(&key) {
                withheld.push(name);
            } else {
                kept.insert(key, value);
            }
        }
    }
    kept
}

fn passes(rules: Rules, name: &str) -> bool {
    let rule = rules.iter().find(|rule| fits(rule.trim_start_matches('!').as_bytes(), name.as_bytes()));
    rule.is_some_and(|rule| !rule.starts_with('!'))
}

/// True if a pattern, in which `*` matches anything, matches a whole name.
pub(super) fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skipped| fits(rest, &name[skipped..])),
        Some((byte, rest)) => {
            name.split_first().is_some_and(|(first, others)| first == byte && fits(rest, others))
        }
    }
}
