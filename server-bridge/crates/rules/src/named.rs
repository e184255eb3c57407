//! The files that a command names: those that an approval of the command covers, and descriptions of those that it
//! cannot cover.
//!
//! A [`Named`] contains every word of a command that may be a path. Its caller looks up each word in the workspace, and below each word
//! that is a directory there, as in `cd tools && ./check`, `env -C tools ./check` and `PATH=tools check`. Superfluous words do no harm,
//! because the caller drops those that are not files. Files that cannot be found in this way, such as the value of a variable, are
//! described in [`Named::unseen`].

use std::collections::HashSet;

use crate::limits::{NAMED_BYTES, NAMED_WORDS, QUOTED_CHARS};
use crate::shell::{Line, Segment, Word, expanded, parse, parse_words};

/// The words of a command that may be paths, and descriptions of other files that it may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The words that may be paths, without duplicates: relative to the workspace's root or to a directory among them, or absolute.
    /// Directories to which the command changes come first.
    pub words: Vec<String>,
    /// The number of words at the beginning of `words` that are only directories to change to; the rest of their content does not
    /// matter.
    pub places: usize,
    /// Descriptions of what may run and is not among the words: variables, patterns, programs that choose files themselves. Without
    /// duplicates.
    pub unseen: Vec<String>,
}

/// Commands that never run their words, because they only show or compare them.
const SHOWS: &[&str] = &["[", "[[", "echo", "exit", "false", "printf", "return", "sleep", "test", "true"];

/// Commands that only create, write or remove the files among their words.
const WRITES: &[&str] = &["mkdir", "rm", "rmdir", "tee", "touch", "truncate"];

/// Commands that choose the files that they run: targets, packages, tests, configurations that are code.
const CHOOSES: &[&str] = &[
    "ant",
    "bazel",
    "bun",
    "bunx",
    "bundle",
    "cargo",
    "cmake",
    "composer",
    "ctest",
    "docker",
    "docker-compose",
    "eslint",
    "gmake",
    "go",
    "gradle",
    "gradlew",
    "hatch",
    "invoke",
    "jest",
    "just",
    "lefthook",
    "make",
    "meson",
    "mvn",
    "mvnw",
    "ninja",
    "nox",
    "npm",
    "npx",
    "pdm",
    "pipx",
    "pnpm",
    "pnpx",
    "podman",
    "poetry",
    "pre-commit",
    "prettier",
    "pytest",
    "rake",
    "rspec",
    "run-parts",
    "sbt",
    "task",
    "tox",
    "uv",
    "uvx",
    "vite",
    "vitest",
    "webpack",
    "yarn",
];

/// Interpreters of other languages, by the prefix of their names.
const INTERPRETERS: &[&str] =
    &["bun", "deno", "lua", "node", "osascript", "perl", "php", "python", "pypy", "Rscript", "ruby", "tclsh"];

/// Variables that determine where programs, libraries and directories are looked for, or what is loaded first.
const LOOKS: &[&str] =
    &["CDPATH", "GCONV_PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PERL5LIB", "PYTHONPATH", "RUBYLIB"];

/// The names in a shell line. The variables in `roots` are replaced with the workspace's root.
pub fn of_line(line: &str, roots: &[&str]) -> Named {
    let mut names = Names::default();
    let line = names.rooted(line, roots);
    let parsed = parse(&line);
    names.line(&parsed);
    if !parsed.doubts.is_empty() {
        names.parts(&line, true);
    }
    names.end()
}

/// The names in a program, its arguments and the variables that are set for it, without a shell. `${NAME}` is a variable.
pub fn of_words<'a>(
    words: impl IntoIterator<Item = &'a str>,
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    roots: &[&str],
) -> Named {
    let mut names = Names::default();
    let words: Vec<String> = words.into_iter().map(|word| names.rooted(word, roots)).collect();
    names.line(&parse_words(words.iter().map(String::as_str)));
    for (name, value) in variables {
        let assignment = format!("{name}={value}");
        if value.contains("${") || roots.contains(&name) {
            names.tell(&assignment);
        }
        names.assignment(&Word::plain(assignment));
    }
    names.end()
}

/// The names that were found so far.
#[derive(Default)]
struct Names {
    places: Vec<String>,
    words: Vec<String>,
    known: HashSet<String>,
    unseen: Vec<String>,
    /// The texts that were parsed as shell lines.
    texts: HashSet<String>,
    is_cut: bool,
}

impl Names {
    /// A text in which `.` replaces the variables for the workspace's root and for the command's directory. If the text may set one of
    /// these variables, that is recorded as unseen.
    fn rooted(&mut self, text: &str, roots: &[&str]) -> String {
        let mut text = text.replace("$(pwd)", ".").replace("`pwd`", ".");
        for name in roots.iter().chain(&["PWD"]) {
            let is_name =
                |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            text = text.replace(&format!("${{{name}}}"), ".");
            let mut parts = text.split(*name);
            let mut rooted = parts.next().unwrap_or_default().to_owned();
            let mut is_set = false;
            for part in parts {
                let ends = !is_name(part.as_bytes().first());
                if ends && rooted.ends_with('$') {
                    rooted.pop();
                    rooted.push('.');
                } else {
                    is_set |= ends && !is_name(rooted.as_bytes().last());
                    rooted.push_str(name);
                }
                rooted.push_str(part);
            }
            if is_set {
                self.tell(&format!("the value of {name}"));
            }
            text = rooted;
        }
        text
    }

    fn end(mut self) -> Named {
        if self.is_cut {
            self.unseen.push(format!("more than {NAMED_WORDS} words"));
        }
        // A directory that the command also uses in another way is more than a place to change to.
        self.places.retain(|place| !self.known.contains(place));
        self.places.sort_unstable();
        self.places.dedup();
        let places = self.places.len();
        self.places.append(&mut self.words);
        Named { words: self.places, places, unseen: self.unseen }
    }

    fn line(&mut self, line: &Line) {
        // The texts that were parsed as lines are recorded: their words are already among the commands.
        let of_text =
            line.segments.iter().filter_map(|segment| segment.within.filter(|within| within.word.is_none()));
        for within in of_text {
            let words = line.segments.get(within.segment).map_or(&[][..], |segment| &segment.words);
            self.texts.extend(
                words.iter().map(|word| word.text.clone()).filter(|text| text.contains(char::is_whitespace)),
            );
        }
        for segment in &line.segments {
            self.segment(segment);
        }
        for doubt in &line.doubts {
            self.tell(&doubt.to_string());
        }
    }

    fn segment(&mut self, segment: &Segment) {
        let name = segment.base_name();
        for word in &segment.assigned {
            self.assignment(word);
        }
        for redirect in segment.redirects.iter().filter(|redirect| !redirect.writes) {
            self.word(&redirect.target, false);
        }
        let Some((first, rest)) = segment.words.split_first() else { return };
        self.word(first, false);
        match name {
            "cd" | "pushd" => return rest.iter().for_each(|word| self.place(word)),
            _ if WRITES.contains(&name) => return,
            _ => {}
        }
        for word in rest {
            self.word(word, SHOWS.contains(&name));
        }
        if CHOOSES.contains(&name) {
            self.tell(&format!("`{name}`, which chooses files itself"));
        }
        let interpreter = INTERPRETERS.iter().find(|begin| name.starts_with(**begin));
        if interpreter.is_some() && has_code(rest) {
            self.tell(&format!("code for `{name}`"));
        }
    }

    /// A directory to which the command changes.
    fn place(&mut self, word: &Word) {
        match literal(word) {
            Some(text) if word.text != "-" => {
                self.places.extend(path_of(text).into_iter().flat_map(both));
            }
            _ => self.tell(&format!("the directory {}", word.text)),
        }
    }

    fn assignment(&mut self, word: &Word) {
        let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let name = name.trim_end_matches('+');
        if LOOKS.contains(&name) {
            self.tell(&word.text);
        }
        self.parts(value, true);
    }

    /// A word of a command; `is_shown` is true if the command only shows it.
    fn word(&mut self, word: &Word, is_shown: bool) {
        if word.has_braces() {
            let (texts, is_cut) = expanded(word, NAMED_WORDS);
            self.is_cut |= is_cut;
            texts.iter().for_each(|text| self.add(text));
        }
        match literal(word) {
            Some(text) => {
                self.add(text);
                self.parts(text, false);
            }
            None => {
                if !is_shown {
                    self.tell(&word.text);
                }
                self.parts(&word.text, false);
            }
        }
    }

    /// Adds the parts of a text that may be paths: in `--config=a.js`, `-fmakefile`, `a:b`, or a program in another language.
    fn parts(&mut self, text: &str, is_value: bool) {
        if !is_value && self.texts.contains(text) {
            return;
        }
        let is_end = |letter: char| letter.is_whitespace() || "`;&|<>()=,:\"'{}[]@!\\".contains(letter);
        let mut parts = text.split(is_end).filter(|part| !part.is_empty()).peekable();
        // If the word has only one part, it was already added.
        if !is_value && !text.starts_with('-') && parts.peek().is_none_or(|part| part.len() == text.len()) {
            return;
        }
        for part in parts {
            self.add(part);
            if let Some(option) = part.strip_prefix('-') {
                self.add(option.trim_start_matches('-'));
                // The value of a one-letter option.
                self.add(option.get(1..).unwrap_or_default());
            }
        }
    }

    fn add(&mut self, text: &str) {
        for path in path_of(text).into_iter().flat_map(both) {
            if self.known.contains(&path) {
                continue;
            }
            if self.words.len() >= NAMED_WORDS {
                self.is_cut = true;
                return;
            }
            self.known.insert(path.clone());
            self.words.push(path);
        }
    }

    fn tell(&mut self, text: &str) {
        let line = text.replace(char::is_control, " ");
        let mut shown: String = line.chars().take(QUOTED_CHARS).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        if !self.unseen.contains(&shown) && self.unseen.len() < NAMED_WORDS {
            self.unseen.push(shown);
        }
    }
}

/// A word's value, if it is known before it runs.
fn literal(word: &Word) -> Option<&str> {
    let is_unknown = word.is_unknown() || word.is_odd || word.has_tilde;
    (!is_unknown).then_some(word.text.as_str())
}

/// True if the words of an interpreter contain code or the name of a module, or refer to its standard input.
fn has_code(words: &[Word]) -> bool {
    /// The largest number of characters in a group of short options, such as `-xec`; a longer word is one long option with a
    /// single dash.
    const LONGEST_CLUSTER: usize = 4;
    let options = words.iter().take_while(|word| word.text.starts_with('-'));
    let is_code = |word: &Word| {
        let text = word.text.as_str();
        let is_short = !text.starts_with("--") && text.len() <= LONGEST_CLUSTER;
        text == "-"
            || text.starts_with("--eval")
            || text.starts_with("--print")
            || (is_short && text.contains(['c', 'e', 'E', 'm', 'p']))
            || ["-c", "-e", "-m"].iter().any(|option| text.starts_with(option))
    };
    let mut options = options.peekable();
    // Without a file, the code is read from standard input.
    words.iter().all(|word| word.text.starts_with('-') && word.text.len() > 2) || options.any(is_code)
}

/// A path, and the path to which a shell changes: `cd` resolves `..` before it follows links.
fn both(path: String) -> impl Iterator<Item = String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            ".." if names.last().is_some_and(|last| !matches!(*last, "" | "..")) => drop(names.pop()),
            "." if !names.is_empty() => {}
            _ => names.push(name),
        }
    }
    let logical = if names.is_empty() { ".".to_owned() } else { names.join("/") };
    let logical = (logical != path && !logical.is_empty()).then_some(logical);
    std::iter::once(path).chain(logical)
}

/// A word as a path that a machine can resolve; `None` if it cannot be one.
fn path_of(text: &str) -> Option<String> {
    let mut path = text.to_owned();
    while path.contains("//") {
        path = path.replace("//", "/");
    }
    let mut path = path.as_str();
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    let path = if path.is_empty() && text.starts_with('.') { "." } else { path };
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let is_one = !path.is_empty() && path != "/" && path.len() <= NAMED_BYTES && !path.contains('\0');
    is_one.then(|| path.to_owned())
}

#[cfg(test)]
mod tests;
