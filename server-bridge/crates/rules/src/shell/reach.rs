//! The paths that a line reads and writes, as far as they can be determined.

use super::{Line, Segment, Word};
use crate::paths::resolve;

/// A path that a line reads or writes.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// The absolute paths that it may mean; there are several if the line changes its directory.
    pub(crate) paths: Vec<String>,
    /// True if the line may change the file.
    pub(crate) writes: bool,
    /// True if the path is exactly the one in `paths`.
    pub(crate) is_certain: bool,
    /// True if the shell itself opens it, not the command.
    pub(crate) is_redirect: bool,
    /// The path as it was written.
    pub(crate) shown: String,
}

/// Files that are safe to write to.
const HARMLESS: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];

/// Commands that show or copy the files among their operands.
const READERS: &[&str] = &[
    ".",
    "ag",
    "awk",
    "base32",
    "base64",
    "bat",
    "cat",
    "cmp",
    "comm",
    "cp",
    "cut",
    "diff",
    "egrep",
    "emacs",
    "fgrep",
    "fold",
    "gawk",
    "grep",
    "gzip",
    "head",
    "hexdump",
    "join",
    "jq",
    "less",
    "ln",
    "md5sum",
    "more",
    "mv",
    "nano",
    "nl",
    "od",
    "paste",
    "rev",
    "rg",
    "rsync",
    "scp",
    "sed",
    "sha1sum",
    "sha256sum",
    "sort",
    "source",
    "strings",
    "tac",
    "tail",
    "tar",
    "uniq",
    "vi",
    "view",
    "vim",
    "wc",
    "xxd",
    "yq",
    "zip",
];

/// Commands that change the files among their operands.
const WRITERS: &[&str] = &[
    "chattr", "chmod", "chown", "emacs", "install", "ln", "mkdir", "mv", "nano", "patch", "rm", "rmdir",
    "shred", "tee", "touch", "truncate", "unlink", "vi", "vim",
];

/// The paths that a line reads and writes, when it runs in `cwd`.
pub(crate) fn reached(line: &Line, cwd: &str, home: Option<&str>) -> Vec<Reached> {
    let (bases, moves) = bases(line, cwd, home);
    let place = Place { bases, moves, home };
    let mut found = Vec::new();
    for segment in &line.segments {
        for redirect in &segment.redirects {
            let target = &redirect.target;
            let is_harmless = target.is_literal() && HARMLESS.contains(&target.text.as_str());
            let opens_network =
                ["/dev/tcp/", "/dev/udp/"].iter().any(|folder| target.text.starts_with(folder));
            if !(is_harmless && redirect.writes) {
                found.push(Reached {
                    is_redirect: true,
                    ..place.reached(target, redirect.writes || opens_network)
                });
            }
        }
        operands(segment, &place, &mut found);
    }
    found
}

/// The directories that relative paths may be relative to.
struct Place<'a> {
    bases: Vec<String>,
    moves: bool,
    home: Option<&'a str>,
}

impl Place<'_> {
    fn reached(&self, word: &Word, writes: bool) -> Reached {
        let paths = paths(word, &self.bases, self.home);
        let is_home = word.text == "~" || word.text.starts_with("~/");
        let is_plain = !(word.is_dynamic || word.has_glob || word.is_odd || word.has_braces());
        let is_absolute = word.text.starts_with('/') || word.has_tilde;
        let is_certain = is_plain
            && (!word.has_tilde || is_home)
            && (is_absolute || !self.moves)
            && paths.len() == 1
            && !word.text.contains(|c: char| c.is_control());
        Reached { paths, writes, is_certain, is_redirect: false, shown: word.text.clone() }
    }
}

/// The absolute paths that a word may mean.
fn paths(word: &Word, bases: &[String], home: Option<&str>) -> Vec<String> {
    let from_home = ["${HOME}", "$HOME"]
        .iter()
        .find_map(|prefix| word.text.strip_prefix(prefix))
        .filter(|rest| word.is_dynamic && (rest.is_empty() || rest.starts_with('/')) && !rest.contains('$'));
    let from_home = from_home.or_else(|| {
        word.text
            .strip_prefix('~')
            .filter(|rest| word.has_tilde && (rest.is_empty() || rest.starts_with('/')))
    });
    if let Some(rest) = from_home {
        return home.map(|home| resolve(home, rest.trim_start_matches('/'))).into_iter().collect();
    }
    if word.is_dynamic {
        return Vec::new();
    }
    let mut found: Vec<String> = bases.iter().map(|base| resolve(base, &word.text)).collect();
    found.dedup();
    found
}

/// The directories that the line may be in; also returns true if it changes its directory.
fn bases(line: &Line, cwd: &str, home: Option<&str>) -> (Vec<String>, bool) {
    /// The largest number of these directories; lines that change their directory more often are rare.
    const MOST: usize = 16;
    let mut bases = vec![resolve("/", cwd)];
    let mut moves = false;
    for segment in
        line.segments.iter().filter(|segment| matches!(segment.base_name(), "cd" | "pushd" | "popd"))
    {
        moves = true;
        let target = segment.words.iter().skip(1).find(|word| !word.text.starts_with('-'));
        let new = match target {
            Some(word) => paths(word, &bases, home),
            None => home.map(str::to_owned).into_iter().collect(),
        };
        bases.extend(new);
        bases.truncate(MOST);
    }
    (bases, moves)
}

/// Adds the paths among the operands of a command that is known to read or write them.
fn operands(segment: &Segment, place: &Place<'_>, found: &mut Vec<Reached>) {
    let name = segment.base_name();
    let operands: Vec<&Word> =
        segment.words.iter().skip(1).filter(|word| !word.text.starts_with('-')).collect();
    let edits = matches!(name, "sed" | "perl")
        && segment
            .words
            .iter()
            .any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place"));
    if READERS.contains(&name) {
        found.extend(operands.iter().map(|word| place.reached(word, false)));
    }
    if WRITERS.contains(&name) || edits {
        found.extend(operands.iter().map(|word| place.reached(word, true)));
    }
    if matches!(name, "cp" | "rsync" | "scp") {
        found.extend(operands.last().map(|word| place.reached(word, true)));
    }
    if name == "dd" {
        for word in operands {
            for (prefix, writes) in [("if=", false), ("of=", true)] {
                if let Some(path) = word.text.strip_prefix(prefix) {
                    found.push(place.reached(&Word { text: path.to_owned(), ..word.clone() }, writes));
                }
            }
        }
    }
}
