//! The arguments of calls in both dialects.

use serde_json::{Map, Number, Value};

use super::tools::{Argument, Unit, find, find_peer};

/// The argument that contains a command line, in both dialects.
const COMMAND: &str = "command";
/// Our argument for a command as a list of words, which peers do not have.
const WORDS: &str = "argv";

/// Converts a call's arguments to those that peers' hooks expect.
pub fn to_peer(tool: &str, input: &Map<String, Value>, cwd: &str) -> Map<String, Value> {
    let arguments = find(tool).map_or(&[][..], |known| known.arguments);
    let mut sent: Map<String, Value> = input
        .iter()
        .map(|(name, value)| match arguments.iter().find(|(own, ..)| own == name) {
            Some((_, peer, unit)) => ((*peer).to_owned(), value_to_peer(value, *unit, cwd)),
            None => (name.clone(), value.clone()),
        })
        .collect();
    if let Some(line) = line_of_words(tool, input) {
        sent.insert(COMMAND.to_owned(), Value::String(line));
    }
    sent
}

/// A peer's new arguments as our tool expects them. An argument that the hook did not change keeps our value.
pub fn to_own(
    tool: &str,
    original: &Map<String, Value>,
    sent: &Map<String, Value>,
    updated: &Map<String, Value>,
) -> Map<String, Value> {
    let arguments = find(tool).map_or(&[][..], |known| known.arguments);
    let mut own = Map::new();
    for (name, value) in updated {
        let known: Option<&Argument> = arguments.iter().find(|(_, peer, _)| peer == name);
        let (target, unit) = known.map_or((name.as_str(), Unit::Same), |(target, _, unit)| (*target, *unit));
        let is_unchanged = sent.get(name) == Some(value);
        let value = match original.get(target).filter(|_| is_unchanged) {
            Some(kept) => kept.clone(),
            None => value_to_own(value, unit),
        };
        own.insert(target.to_owned(), value);
    }
    if let Some(line) = line_of_words(tool, original) {
        // Only one of the two may be present: the line, if the hook rewrote it.
        if own.get(COMMAND).and_then(Value::as_str) == Some(line.as_str()) {
            own.remove(COMMAND);
        } else if own.contains_key(COMMAND) {
            own.remove(WORDS);
        }
    }
    own
}

/// Converts a call in either dialect to ours: the tool's name, and its arguments.
pub fn own_call(name: &str, input: &Map<String, Value>) -> (String, Map<String, Value>) {
    match find_peer(name) {
        Some(tool) if find(name).is_none() || input.keys().any(|argument| tool.is_of_peer(argument)) => {
            (tool.own.to_owned(), to_own(tool.own, &Map::new(), &Map::new(), input))
        }
        _ => (name.to_owned(), input.clone()),
    }
}

fn value_to_peer(value: &Value, unit: Unit, cwd: &str) -> Value {
    match (unit, value) {
        (Unit::Seconds, Value::Number(seconds)) => match (seconds.as_u64(), seconds.as_f64()) {
            (Some(seconds), _) => Value::from(seconds.saturating_mul(1000)),
            (None, Some(seconds)) => Value::from((seconds * 1000.0).round()),
            (None, None) => value.clone(),
        },
        (Unit::Path, Value::String(path)) => Value::String(absolute(path, cwd)),
        _ => value.clone(),
    }
}

fn value_to_own(value: &Value, unit: Unit) -> Value {
    match (unit, value) {
        (Unit::Seconds, Value::Number(ms)) => match (whole(ms), ms.as_f64()) {
            // Rounded up: never less time than was requested.
            (Some(ms), _) => Value::from(ms.div_ceil(1000)),
            (None, Some(ms)) => Value::from(ms / 1000.0),
            (None, None) => value.clone(),
        },
        _ => value.clone(),
    }
}

/// A whole number; a program may have written it as `5000.0`.
fn whole(number: &Number) -> Option<u64> {
    let float = || number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float));
    number.as_u64().or_else(|| float().map(|float| float as u64))
}

/// A path joined to the current directory as text only, because the directory is on another machine.
fn absolute(path: &str, cwd: &str) -> String {
    if path.starts_with(['/', '~']) || cwd.is_empty() {
        return path.to_owned();
    }
    let mut rest = path;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter;
    }
    format!("{}/{rest}", cwd.trim_end_matches('/'))
}

/// The command line that is equivalent to a list of words, for a tool that takes either form.
fn line_of_words(tool: &str, input: &Map<String, Value>) -> Option<String> {
    let takes_commands = find(tool).is_some_and(|known| known.peers.contains(&"Bash"));
    if !takes_commands || input.contains_key(COMMAND) {
        return None;
    }
    let words = input.get(WORDS)?.as_array()?;
    let quoted: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
    quoted.map(|words| words.join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
