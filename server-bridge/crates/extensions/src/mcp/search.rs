//! `search_tools`: finding tools of servers, whose schemas would fill a model's window if all of them were declared.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agent::approval::Access;
use agent::tool::deferred::found_line;
use agent::tool::look::{Ground, Looked};
use agent::tool::{Call, Failure, Live, Outcome, Rules, Tool, ToolContext, visible};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::listing::Definition;
use super::resource::McpResource;
use super::tool::McpTool;
use crate::limits::{MCP_FOUND_DEFAULT, MCP_FOUND_LINE_CHARS, MCP_FOUND_MAX, MCP_MISSING, MCP_MISSING_CHARS};

/// The weight of a word in a tool's name, in its description, and in the names of its arguments.
const WEIGHTS: [f64; 3] = [3.0, 1.0, 0.5];
/// How soon more of the same word counts less, and how much a long text counts less: the usual values of BM25.
const BM25: (f64, f64) = (1.2, 0.4);

/// The tool that finds tools.
pub(super) struct SearchTools {
    index: Arc<Index>,
    /// The lines about servers that cannot be asked.
    missing: Arc<str>,
    description: String,
}

/// The words of tools.
struct Index {
    entries: Vec<Entry>,
    /// In how many tools each word is.
    found_in: HashMap<String, usize>,
    mean_length: f64,
}

struct Entry {
    name: String,
    /// Its description's beginning, as results show it.
    shown: String,
    /// The weight of each word, and of all words.
    words: HashMap<String, f64>,
    length: f64,
}

impl SearchTools {
    /// The tool for these tools of these servers; those that cannot be asked are told with the reason in results.
    pub(super) fn new(
        servers: &[&str],
        tools: &[Arc<McpTool>],
        resources: &[McpResource],
        missing: &[(String, String)],
    ) -> Self {
        let entry = |tool: &Arc<McpTool>| {
            let definition = tool.definition();
            Entry::of(tool.name(), tool.server(), tool.description(), &definition.title, definition)
        };
        let mut entries: Vec<Entry> = tools.iter().map(entry).collect();
        entries.extend(resources.iter().map(|tool| {
            Entry::of(tool.name(), tool.server(), tool.description(), "resources", &Definition::default())
        }));
        Self {
            index: Arc::new(Index::of(entries)),
            missing: told(missing).into(),
            description: described(servers),
        }
    }
}

/// The description for models: the servers that there are. It stays the same while they do, so that a provider's cache holds it.
fn described(servers: &[&str]) -> String {
    format!(
        "Finds tools of connected MCP servers and loads them: after that you can call them. Search whenever the user's request may \
         need one of these servers: {}. Query with a few words for what the tool does, or `select:NAME,NAME` for tools whose names \
         you know.",
        servers.iter().map(|server| visible::line(server)).collect::<Vec<_>>().join(", ")
    )
}

/// The lines about servers that cannot be asked.
fn told(missing: &[(String, String)]) -> String {
    let line = |(server, why): &(String, String)| {
        let why: String = visible::lines(why).chars().take(MCP_MISSING_CHARS).collect();
        format!("\nThe server {} is not available: {why}", visible::line(server))
    };
    missing.iter().take(MCP_MISSING).map(line).collect()
}

impl Tool for SearchTools {
    fn name(&self) -> &str {
        "search_tools"
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words for what the tool does, or `select:` and names"},
                "limit": {"type": "integer", "description": format!("The most tools to find, 1 to {MCP_FOUND_MAX}; {MCP_FOUND_DEFAULT} if absent")},
            },
            "required": ["query"],
        })
    }

    fn rules(&self) -> Rules {
        Rules::of(Access::Read).without_machine().finds_tools()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let Some(Value::String(query)) = arguments.get("query") else {
            return Err("the arguments are invalid: `query` must be a text".to_owned());
        };
        let limit = arguments.get("limit").and_then(Value::as_u64).map_or(MCP_FOUND_DEFAULT, |limit| {
            usize::try_from(limit).unwrap_or(MCP_FOUND_MAX).clamp(1, MCP_FOUND_MAX)
        });
        let (index, missing) = (Arc::clone(&self.index), Arc::clone(&self.missing));
        Ok(Box::new(Search { query: query.clone(), limit, index, missing }))
    }
}

struct Search {
    query: String,
    limit: usize,
    index: Arc<Index>,
    missing: Arc<str>,
}

impl Call for Search {
    fn access(&self) -> Access {
        Access::Read
    }

    fn hint(&self) -> &str {
        &self.query
    }

    fn look<'a>(&'a self, _: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(async { Ok(Looked::words("finds tools", Vec::new())) })
    }

    fn run<'a>(&'a self, _: &'a ToolContext<'_>, _: Live<'a>) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async {
            let found = self.index.find(&self.query, self.limit);
            if found.is_empty() {
                return Ok(Outcome::part(format!(
                    "No tool matches. Try other words for what it does, or go on without one.{}",
                    self.missing
                )));
            }
            let lines: Vec<String> =
                found.iter().map(|entry| found_line(&entry.name, &entry.shown)).collect();
            let found = found.iter().map(|entry| entry.name.clone()).collect();
            let text = format!(
                "These tools are loaded; call them by their names:\n{}{}",
                lines.join("\n"),
                self.missing
            );
            Ok(Outcome { found, ..Outcome::part(text) })
        })
    }
}

impl Index {
    fn of(entries: Vec<Entry>) -> Self {
        let mut found_in: HashMap<String, usize> = HashMap::new();
        for word in entries.iter().flat_map(|entry| entry.words.keys()) {
            *found_in.entry(word.clone()).or_default() += 1;
        }
        let total: f64 = entries.iter().map(|entry| entry.length).sum();
        let mean_length = if entries.is_empty() { 1.0 } else { (total / count(entries.len())).max(1.0) };
        Self { entries, found_in, mean_length }
    }

    /// The best tools for a query, the best first.
    fn find(&self, query: &str, limit: usize) -> Vec<&Entry> {
        if let Some(names) = query.trim().strip_prefix("select:") {
            let names: HashSet<&str> = names.split(',').map(str::trim).collect();
            return self
                .entries
                .iter()
                .filter(|entry| names.contains(entry.name.as_str()))
                .take(limit)
                .collect();
        }
        let words: HashSet<String> = words(query).collect();
        let mut scored: Vec<(f64, &Entry)> = self
            .entries
            .iter()
            .map(|entry| (self.score(entry, &words), entry))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored
            .sort_by(|(one, left), (two, right)| two.total_cmp(one).then_with(|| left.name.cmp(&right.name)));
        scored.into_iter().take(limit).map(|(_, entry)| entry).collect()
    }

    /// BM25 over words with weights.
    fn score(&self, entry: &Entry, words: &HashSet<String>) -> f64 {
        let (soon, long) = BM25;
        let all = count(self.entries.len());
        let of = |word: &String| {
            let weight = *entry.words.get(word)?;
            let found_in = count(*self.found_in.get(word)?);
            let rare = (1.0 + (all - found_in + 0.5) / (found_in + 0.5)).ln();
            let length = 1.0 - long + long * entry.length / self.mean_length;
            Some(rare * weight * (soon + 1.0) / (weight + soon * length))
        };
        words.iter().filter_map(of).sum()
    }
}

impl Entry {
    fn of(name: &str, server: &str, description: &str, title: &str, definition: &Definition) -> Self {
        let properties = definition.schema.get("properties").and_then(Value::as_object);
        let arguments: Vec<&str> =
            properties.into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
        let names = format!("{server} {} {title}", definition.name);
        let texts = [names.as_str(), description, &arguments.join(" ")];
        let mut weights: HashMap<String, f64> = HashMap::new();
        for (text, weight) in texts.into_iter().zip(WEIGHTS) {
            for word in words(text) {
                *weights.entry(word).or_default() += weight;
            }
        }
        let first = description.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let shown = first.trim().chars().take(MCP_FOUND_LINE_CHARS).collect();
        Self { name: name.to_owned(), shown, length: weights.values().sum(), words: weights }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of tools")]
fn count(count: usize) -> f64 {
    count as f64
}

/// Words that say nothing about a tool.
const EMPTY: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "for",
    "from", "have", "how", "i", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our",
    "please", "some", "that", "the", "their", "them", "this", "to", "tool", "tools", "us", "use", "used",
    "using", "want", "we", "what", "which", "will", "with", "you", "your",
];

/// The words of a text in lower case, each reduced to its stem: `createIssues` gives `creat` and `issu`. A character of a script
/// without blanks is a word together with the next one.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut last: Option<char> = None;
    for letter in text.chars() {
        let is_wide =
            ('\u{2e80}'..='\u{9fff}').contains(&letter) || ('\u{ac00}'..='\u{d7af}').contains(&letter);
        let begins_hump = letter.is_uppercase() && last.is_some_and(char::is_lowercase);
        if !letter.is_alphanumeric() || is_wide || begins_hump {
            words.push(std::mem::take(&mut word));
        }
        if is_wide {
            if let Some(before) = last.filter(|before| ('\u{2e80}'..='\u{d7af}').contains(before)) {
                words.push(format!("{before}{letter}"));
            }
        } else if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        last = Some(letter);
    }
    words.push(word);
    words
        .into_iter()
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()))
        .map(|word| stem(&word))
}

/// A word without its common endings, so that `listing`, `listed` and `lists` are `list`.
fn stem(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    for (ending, instead, least) in
        [("ies", "y", 5), ("sses", "ss", 5), ("ss", "ss", 3), ("s", "", 4), ("ing", "", 6), ("ed", "", 5)]
    {
        if word.len() >= least && word.ends_with(ending) {
            word.truncate(word.len() - ending.len());
            word.push_str(instead);
            break;
        }
    }
    // `creating`, `created` and `create` meet without their last letter.
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests;
