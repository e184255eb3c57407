//! Both databases can prepare every statement in the sources.
//!
//! A statement is a text, or a `concat!` of texts, that begins with an SQL verb. Statements that are built at run time are not checked here; the
//! other tests run them on both databases.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sqlx::postgres::{PgConnectOptions, PgTypeInfo};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, SqlSafeStr};
use store::Store;

use crate::support::postgres_url;

/// The verbs with which statements begin.
const VERBS: [&str; 5] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "];
/// The number of statements passed to the database that are not literals: those of forks, of copies, and those for only one of the databases.
const PUT_TOGETHER: usize = 16;

/// A token of a source file, as far as it matters for statements.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Word(String),
    Sign(char),
}

/// The tokens of a source file, without comments and tests.
fn tokens(source: &str) -> Vec<Token> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut rest = source.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(next) = rest.next() {
        match next {
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|next| *next != '\n').is_some() {},
            '"' => {
                let mut text = String::new();
                while let Some(next) = rest.next_if(|next| *next != '"') {
                    match (next, rest.peek()) {
                        ('\\', Some('\n')) => while rest.next_if(|next| next.is_whitespace()).is_some() {},
                        ('\\', Some(_)) => text.push(match rest.next().unwrap() {
                            'n' => '\n',
                            'r' => '\r',
                            't' => '\t',
                            '0' => '\0',
                            other => other,
                        }),
                        _ => text.push(next),
                    }
                }
                rest.next();
                tokens.push(Token::Text(text));
            }
            '\'' => {
                // A character, or a lifetime, which has no closing quote.
                let ahead: String = rest.clone().take(3).collect();
                let length = if ahead.starts_with('\\') { 3 } else { 2 };
                if ahead.chars().nth(length - 1) == Some('\'') {
                    rest.by_ref().take(length).for_each(drop);
                }
            }
            next if next.is_alphanumeric() || next == '_' => {
                let mut word = String::from(next);
                while let Some(next) = rest.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
            next if !next.is_whitespace() => tokens.push(Token::Sign(next)),
            _ => {}
        }
    }
    tokens
}

/// The index of the bracket that closes the one at `from`.
fn end_of(tokens: &[Token], from: usize) -> usize {
    let mut depth = 0_i32;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::Sign('(' | '{' | '[') => depth += 1,
            Token::Sign(')' | '}' | ']') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("a bracket is never closed");
}

fn is_sign(token: Option<&Token>, sign: char) -> bool {
    token == Some(&Token::Sign(sign))
}

/// The macros that expand to texts, by name: their parameters and their tokens.
type Macros = BTreeMap<String, (Vec<String>, Vec<Token>)>;

fn macros_of(tokens: &[Token]) -> Macros {
    let mut macros = Macros::new();
    for (at, token) in tokens.iter().enumerate() {
        if *token == Token::Word("macro_rules".to_owned())
            && let Token::Word(name) = &tokens[at + 2]
        {
            // `name { ($parameter:kind, …) => { body }; }`
            let parameters = &tokens[at + 4..end_of(tokens, at + 4)];
            let body = end_of(tokens, at + 4) + 3;
            if is_sign(tokens.get(body), '{') {
                let parameters = parameters.windows(2).filter_map(|pair| match pair {
                    [Token::Sign('$'), Token::Word(name)] => Some(name.clone()),
                    _ => None,
                });
                let body = tokens[body + 1..end_of(tokens, body)].to_vec();
                macros.insert(name.clone(), (parameters.collect(), body));
            }
        }
    }
    macros
}

/// The arguments of a macro, which are separated by commas.
fn arguments(tokens: &[Token]) -> Vec<&[Token]> {
    let mut depth = 0_i32;
    let separates = |token: &Token| {
        match token {
            Token::Sign('(' | '{' | '[') => depth += 1,
            Token::Sign(')' | '}' | ']') => depth -= 1,
            _ => {}
        }
        depth == 0 && *token == Token::Sign(',')
    };
    tokens.split(separates).collect()
}

/// The texts of an expression, joined; `given` has the texts of the parameters.
fn joined(tokens: &[Token], macros: &Macros, given: &BTreeMap<&str, String>) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            Token::Text(piece) => text.push_str(piece),
            Token::Sign('$') => {
                if let Some(Token::Word(name)) = tokens.get(at + 1) {
                    text.push_str(given.get(name.as_str()).map_or("", String::as_str));
                }
                at += 1;
            }
            Token::Word(name) if is_sign(tokens.get(at + 1), '!') => {
                let end = end_of(tokens, at + 2);
                let inner = &tokens[at + 3..end];
                match macros.get(name) {
                    Some((parameters, body)) => {
                        let values = arguments(inner).into_iter().map(|value| joined(value, macros, given));
                        let given = parameters.iter().map(String::as_str).zip(values).collect();
                        text.push_str(&joined(body, macros, &given));
                    }
                    None => text.push_str(&joined(inner, macros, given)),
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    text
}

/// The statements of a source file, and the number of statements that it passes to the database.
fn statements_of(tokens: &[Token], macros: &Macros) -> (BTreeSet<String>, usize) {
    let (mut statements, mut handed) = (BTreeSet::new(), 0);
    let mut at = 0;
    while at < tokens.len() {
        let text = match &tokens[at] {
            Token::Word(word) if word == "macro_rules" => {
                at = end_of(tokens, at + 3);
                String::new()
            }
            Token::Word(name)
                if is_sign(tokens.get(at + 1), '!') && (name == "concat" || macros.contains_key(name)) =>
            {
                let end = end_of(tokens, at + 2);
                let text = joined(&tokens[at..=end], macros, &BTreeMap::new());
                at = end;
                text
            }
            Token::Word(name) if ["query", "query_as", "query_scalar"].contains(&name.as_str()) => {
                let is_made = at > 0 && tokens[at - 1] == Token::Word("fn".to_owned());
                handed += usize::from(!is_made && is_call(&tokens[at + 1..]));
                String::new()
            }
            Token::Text(text) => text.clone(),
            _ => String::new(),
        };
        if VERBS.iter().any(|verb| text.trim_start().starts_with(verb)) {
            statements.insert(text);
        }
        at += 1;
    }
    (statements, handed)
}

/// True if the arguments of a call follow, perhaps after its types.
fn is_call(tokens: &[Token]) -> bool {
    let mut after =
        tokens.iter().skip_while(|token| !matches!(token, Token::Sign('(' | ';' | ',' | '}' | '=')));
    matches!(after.next(), Some(Token::Sign('(')))
        && !matches!(tokens.first(), Some(Token::Word(_) | Token::Sign('.')))
}

/// True if PostgreSQL was not given the type of an argument, and the statement does not imply it.
fn has_unused_argument(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "42P18")
}

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.file_name().unwrap() != "tests.rs" {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

#[tokio::test]
async fn every_statement_prepares_on_both_databases() {
    let mut texts = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts);
    let sources: Vec<_> = texts.iter().map(|text| tokens(text)).collect();
    let macros: Macros = sources.iter().flat_map(|tokens| macros_of(tokens)).collect();
    let (mut statements, mut handed) = (BTreeSet::new(), 0);
    for tokens in &sources {
        let (of_source, count) = statements_of(tokens, &macros);
        statements.extend(of_source);
        handed += count;
    }
    // A statement that this test cannot see would never be prepared.
    assert!(statements.len() + PUT_TOGETHER >= handed, "{} statements of {handed}", statements.len());

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    Store::open(&file).await.unwrap().close().await;
    let mut sqlite = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let mut postgres = postgres_url().parse::<PgConnectOptions>().unwrap().connect().await.unwrap();
    let mut failed = Vec::new();
    for statement in &statements {
        let of_one = [
            "tsvector",
            "tsquery",
            "/* sqlite_",
            "pg_",
            "sqlite_",
            "pragma_",
            "information_schema",
            "current_setting",
        ];
        if statement.contains('{') || of_one.iter().any(|name| statement.contains(name)) {
            continue;
        }
        let text = || AssertSqlSafe(statement.clone()).into_sql_str();
        if let Err(error) = sqlite.prepare(text()).await {
            failed.push(format!("SQLite: {error}\n{statement}"));
        }
        let mut prepared = postgres.prepare(text()).await.map(drop);
        if prepared.as_ref().is_err_and(has_unused_argument) {
            // Statements from the same macro have the same arguments; the first is a conversation's id.
            prepared = postgres.prepare_with(text(), &[PgTypeInfo::with_name("text")]).await.map(drop);
        }
        if let Err(error) = prepared {
            failed.push(format!("PostgreSQL: {error}\n{statement}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
