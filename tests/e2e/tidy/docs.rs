//! The commands that README and `docs/` mention: their subcommands and long options exist in the programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::binaries;

/// The minimum number of commands: with fewer, the pages are no longer parsed correctly.
const MIN_COMMANDS: usize = 40;

/// The programs' help texts, by program and subcommands.
#[derive(Default)]
struct Helps(BTreeMap<Vec<String>, String>);

impl Helps {
    fn of(&mut self, words: &[String]) -> &str {
        self.0.entry(words.to_vec()).or_insert_with(|| {
            let program = if words[0] == "sandbridge" { binaries::sandbridge() } else { binaries::runner() };
            let output = Command::new(program).args(&words[1..]).arg("--help").output().unwrap();
            assert!(output.status.success(), "{words:?} has no help");
            String::from_utf8(output.stdout).unwrap()
        })
    }

    fn subcommands(&mut self, words: &[String]) -> Vec<String> {
        let lines = self.of(words).lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = lines.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
        listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    }

    fn has_option(&mut self, words: &[String], option: &str) -> bool {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        self.of(words).split(is_end).any(|word| word == option)
    }

    /// The reason why the programs would refuse a command; `None` if they would accept it.
    fn refusal(&mut self, command: &str) -> Option<String> {
        let own = command.split(" -- ").next().unwrap().split(" # ").next().unwrap();
        let words: Vec<&str> = own.split_whitespace().collect();
        let mut paths = vec![vec![words[0].to_owned()]];
        for word in &words[1..] {
            let known = self.subcommands(&paths[0]);
            let names: Vec<&str> = word.split(['|', '\\']).filter(|name| !name.is_empty()).collect();
            let is_name = names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            if known.is_empty() || !is_name || word.starts_with('-') {
                break;
            }
            if let Some(unknown) = names.iter().find(|name| !known.iter().any(|known| known == *name)) {
                return Some(format!("{:?} has no subcommand {unknown}", paths[0]));
            }
            paths = names.iter().map(|name| [paths[0].as_slice(), &[(*name).to_owned()]].concat()).collect();
        }
        let options = words.iter().map(|word| word.trim_start_matches('['));
        for option in options.filter(|word| word.starts_with("--")) {
            let name = option.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap();
            if !paths.iter().any(|path| self.has_option(path, name)) {
                return Some(format!("{paths:?} has no option {name}"));
            }
        }
        None
    }
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.chain([root.join("README.md")]).collect()
}

/// The commands of a page, from the lines of its code blocks and the text between backticks.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, part) in text.split("```").enumerate() {
        let pieces: Vec<&str> = if index % 2 == 1 {
            part.lines().collect()
        } else {
            part.split('`').skip(1).step_by(2).collect()
        };
        for piece in pieces {
            let mut words = piece.split_whitespace().skip_while(|word| word.contains('=')).peekable();
            if words.peek().is_some_and(|word| ["sandbridge", "sandbridge-runner"].contains(word)) {
                found.push(words.collect::<Vec<_>>().join(" "));
            }
        }
    }
    found
}

#[test]
fn pages_name_only_commands_and_options_that_exist() {
    let mut helps = Helps::default();
    let mut count = 0;
    let mut refused = Vec::new();
    for page in pages() {
        for command in commands(&std::fs::read_to_string(&page).unwrap()) {
            count += 1;
            refused
                .extend(helps.refusal(&command).map(|why| format!("{}: {command}: {why}", page.display())));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(count >= MIN_COMMANDS, "only {count} commands");
}

#[test]
fn commands_that_do_not_exist_are_detected() {
    let mut helps = Helps::default();
    for command in [
        "sandbridge nope",
        "sandbridge runner add x --nope",
        "sandbridge-runner --nope",
        "sandbridge user add|nope",
    ] {
        assert!(helps.refusal(command).is_some(), "{command}");
    }
    assert_eq!(helps.refusal("sandbridge runner add x --ttl 1h"), None);
}
