//! `sandbridge model`: the models that answer in one's chats.

use std::process::ExitCode;

use api::model::PriceDocument;
use clap::{Args, Parser};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::http::{Client, percent_encoded};
use super::limits::MODELS_SHOWN;
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Choose, add, try and remove the models that answer in your chats
#[derive(Parser)]
#[command(name = "model")]
pub(crate) enum ModelCommand {
    /// List the models you can ask
    List,
    /// Add a model of your own; its key comes from standard input, or from a file
    Add(Box<AddOptions>),
    /// Remove a model of your own, and its key
    Remove {
        /// Its name
        #[arg(add = names::models())]
        name: String,
    },
    /// Choose what answers in chats that have no model of their own
    Use {
        /// NAME, TIER, NAME/TIER or NAME/MODEL; or `auto`
        #[arg(add = names::models())]
        model: String,
    },
    /// Ask a model for a word, to see whether it answers
    Test {
        /// NAME, NAME/TIER or NAME/MODEL [default: what answers now]
        #[arg(add = names::models())]
        model: Option<String>,
    },
    /// Show the tokens and the cost of the last days
    Usage {
        /// How many days, today included
        #[arg(long, value_name = "N", default_value_t = 30)]
        days: u16,
    },
}

impl Command for ModelCommand {
    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// A model to be added.
#[derive(Args)]
pub(super) struct AddOptions {
    /// What you call it: a-z, 0-9, '_', '.' and '-'
    name: String,
    /// What its provider speaks
    #[arg(long, value_name = "openai|anthropic", value_parser = ["openai", "anthropic"])]
    provider: String,
    /// Where the provider is [default: the provider's own address]
    #[arg(long, value_name = "URL", conflicts_with = "runner")]
    base_url: Option<String>,
    /// A runner of yours that relays to an endpoint whose key only it holds
    #[arg(long, value_name = "NAME", conflicts_with = "api_key_file", add = names::runners())]
    runner: Option<String>,
    /// The model, as its provider knows it; without any, the provider's models are listed
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The ablest model
    #[arg(long, value_name = "MODEL")]
    vanguard: Option<String>,
    /// A fast and cheap model
    #[arg(long, value_name = "MODEL")]
    swift: Option<String>,
    /// The tier that answers where nothing else is said
    #[arg(long, value_name = "TIER", value_parser = ["vanguard", "balance", "swift"])]
    default_tier: Option<String>,
    /// What answers where it is not there: NAME, TIER, NAME/TIER or NAME/MODEL
    #[arg(long, value_name = "MODEL")]
    fallback: Option<String>,
    /// How many tokens the window holds [default: 200000]
    #[arg(long, value_name = "TOKENS")]
    window_tokens: Option<u32>,
    /// How many tokens an answer may have [default: 16384]
    #[arg(long, value_name = "TOKENS")]
    reply_tokens: Option<u32>,
    /// How much it shall think, in tokens [default: as its provider does]
    #[arg(long, value_name = "TOKENS")]
    thinking_tokens: Option<u32>,
    /// What a model costs, in dollars for a million tokens read and written, and read from and put into a cache; may be repeated
    #[arg(long, value_name = "MODEL=IN/OUT[/CACHED[/CACHING]]", value_parser = PriceDocument::of_model)]
    price: Vec<(String, PriceDocument)>,
    /// Read the provider's key from standard input
    #[arg(long, conflicts_with_all = ["api_key_file", "runner"])]
    api_key_stdin: bool,
    /// File that holds the provider's key
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<std::path::PathBuf>,
    /// Put it in the place of the one of that name
    #[arg(long)]
    replace: bool,
    /// Let it answer from now on
    #[arg(long = "use")]
    is_used: bool,
}

async fn run(globals: &Globals, command: ModelCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (value, words) = match command {
        ModelCommand::List => {
            let answer = client.get("/api/v1/models").await?;
            let words = list_words(&answer);
            (answer, words)
        }
        ModelCommand::Add(options) => add(&mut client, *options).await?,
        ModelCommand::Remove { name } => {
            client.delete(&format!("/api/v1/models/{}", percent_encoded(&name))).await?;
            (json!({"name": name}), format!("model {name} was removed"))
        }
        ModelCommand::Use { model } => choose(&mut client, &model).await?,
        ModelCommand::Test { model } => test(&mut client, model).await?,
        ModelCommand::Usage { days } => {
            let answer = client.get(&format!("/api/v1/usage?days={days}")).await?;
            let words = usage_words(&answer);
            (answer, words)
        }
    };
    if globals.json {
        output::json_line(&value);
    } else {
        output::line(&output::printable(&words));
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(client: &mut Client, options: AddOptions) -> Result<(Value, String), Failure> {
    let key = key(&options)?;
    if [&options.model, &options.vanguard, &options.swift].iter().all(|model| model.is_none()) {
        return Err(no_model(client, &options, key).await);
    }
    let AddOptions { name, replace, is_used, .. } = &options;
    let mut document = document(&options);
    if let Some(key) = key {
        document["api_key"] = json!(key);
    }
    let answer = if *replace {
        client.put(&format!("/api/v1/models/{}", percent_encoded(name)), &document).await?
    } else {
        document["name"] = json!(name);
        client.post("/api/v1/models", &document).await?
    };
    let done = if *replace { "changed" } else { "added" };
    let mut words = format!("model {name} was {done}; `sandbridge model test {name}` asks it for a word");
    if *is_used {
        client.put("/api/v1/models/default", &json!({"model": name})).await?;
        words.push_str(", and it answers from now on");
    } else {
        words.push_str(&format!(", `sandbridge model use {name}` lets it answer"));
    }
    Ok((answer, words))
}

/// Which models could have been named, as far as the provider says so.
async fn no_model(client: &mut Client, options: &AddOptions, key: Option<String>) -> Failure {
    let AddOptions { provider, base_url, runner, .. } = options;
    let place = json!({"provider": provider, "base_url": base_url, "runner": runner, "api_key": key});
    let offered = match client.post("/api/v1/providers/models", &place).await {
        Ok(answer) => offered_words(&answer),
        Err(failure) => format!("its models cannot be listed: {}", failure.message),
    };
    Failure::usage(format!("say which model with --model; {offered}"))
}

fn offered_words(answer: &Value) -> String {
    let names: Vec<&str> =
        answer["models"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() {
        return "this provider does not list its models".to_owned();
    }
    let shown = names[..names.len().min(MODELS_SHOWN)].join(", ");
    let rest = if names.len() > MODELS_SHOWN { ", …" } else { "" };
    format!("this provider has {shown}{rest}")
}

async fn choose(client: &mut Client, model: &str) -> Result<(Value, String), Failure> {
    let choice = if model == "auto" { Value::Null } else { json!(model) };
    let answer = client.put("/api/v1/models/default", &json!({"model": choice})).await?;
    let words = match answer["model"].as_str() {
        Some(model) => {
            format!("{model} answers in your chats now, but for those that have a model of their own")
        }
        None => "the server's model answers now, or your own if it has none".to_owned(),
    };
    Ok((answer, words))
}

/// Asks a model for a word: NAME, NAME/TIER or NAME/MODEL; without one, what answers now.
pub(super) async fn test(client: &mut Client, model: Option<String>) -> Result<(Value, String), Failure> {
    let model = match model {
        Some(model) => model,
        None => {
            let list = client.get("/api/v1/models").await?;
            let chosen = list["chosen"].as_str().or(list["models"][0]["name"].as_str());
            chosen.map(str::to_owned).ok_or_else(|| {
                Failure::other("not_found", "no model is set up; add one with `sandbridge model add`")
            })?
        }
    };
    let (name, which) = match model.split_once('/') {
        Some((name, which)) => (name, json!(which)),
        None => (model.as_str(), Value::Null),
    };
    let path = format!("/api/v1/models/{}/test", percent_encoded(name));
    let answer = client.post(&path, &json!({"model": which})).await?;
    let word = |key: &str| answer[key].as_str().unwrap_or_default().to_owned();
    let words = format!(
        "{}/{} answered in {} ms: {}",
        word("subscription"),
        word("model"),
        answer["duration_ms"],
        word("answer")
    );
    Ok((answer, words))
}

/// The provider's key, as its owner wants to give it.
fn key(options: &AddOptions) -> Result<Option<String>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::other("invalid", format!("cannot read the key: {error}"));
    let text = match &options.api_key_file {
        Some(file) => std::fs::read_to_string(file).map_err(unreadable)?,
        None if options.api_key_stdin => std::io::read_to_string(std::io::stdin()).map_err(unreadable)?,
        None => return Ok(None),
    };
    match text.trim() {
        "" => Err(Failure::other("invalid", "the key is empty")),
        key => Ok(Some(key.to_owned())),
    }
}

fn document(options: &AddOptions) -> Value {
    let price_of = |name: &str| options.price.iter().find(|(known, _)| known == name).map(|(_, price)| price);
    let named = [("vanguard", &options.vanguard), ("balance", &options.model), ("swift", &options.swift)];
    let models: Map<String, Value> = named
        .into_iter()
        .filter_map(|(tier, name)| {
            let name = name.as_ref()?;
            let model = json!({
                "name": name,
                "window_tokens": options.window_tokens,
                "reply_tokens": options.reply_tokens,
                "thinking_tokens": options.thinking_tokens,
                "price": price_of(name),
            });
            Some((tier.to_owned(), model))
        })
        .collect();
    json!({
        "provider": options.provider,
        "base_url": options.base_url,
        "runner": options.runner,
        "models": models,
        "default_tier": options.default_tier,
        "fallback": options.fallback,
    })
}

fn list_words(answer: &Value) -> String {
    let Some(list) = answer["models"].as_array().filter(|list| !list.is_empty()) else {
        return "no model is set up; `sandbridge model add NAME` adds one of your own".to_owned();
    };
    let heading =
        ["NAME", "PROVIDER", "WHERE", "TIER", "MODEL", "KEY", "FALLBACK"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    for subscription in list {
        let word = |key: &str| subscription[key].as_str().unwrap_or("-").to_owned();
        let place = match (subscription["shared"] == true, subscription["runner"].as_str()) {
            (true, _) => "the server's own".to_owned(),
            (false, Some(runner)) => format!("runner {runner}"),
            (false, None) => word("base_url"),
        };
        let key =
            subscription["api_key_end"].as_str().map_or_else(|| "-".to_owned(), |end| format!("…{end}"));
        for (tier, model) in subscription["models"].as_object().into_iter().flatten() {
            let is_default = *tier == word("default_tier");
            let tier = if is_default { format!("{tier} (default)") } else { tier.clone() };
            let model = model["name"].as_str().unwrap_or("-").to_owned();
            rows.push(vec![
                word("name"),
                word("provider"),
                place.clone(),
                tier,
                model,
                key.clone(),
                word("fallback"),
            ]);
        }
    }
    let chosen = match answer["chosen"].as_str() {
        Some(chosen) => format!("{chosen} answers unless a chat says otherwise"),
        None => "the first one answers unless a chat says otherwise".to_owned(),
    };
    format!("{}\n\n{chosen}", output::table(&rows))
}

fn usage_words(answer: &Value) -> String {
    let heading = ["", "ANSWERS", "READ", "CACHED", "WRITTEN", "COST"].map(str::to_owned).to_vec();
    let row = |what: String, sum: &Value| {
        let number = |key: &str| sum[key].as_i64().unwrap_or(0).to_string();
        let dollars = sum["cost_micros"].as_f64().unwrap_or(0.0) / 1_000_000.0;
        let cost = if dollars > 0.0 { format!("${dollars:.4}") } else { "-".to_owned() };
        let [calls, read, cached, written] =
            ["calls", "input_tokens", "cache_read_tokens", "output_tokens"].map(number);
        vec![what, calls, read, cached, written, cost]
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rows = vec![heading];
    for day in answer["days"].as_array().into_iter().flatten() {
        rows.push(row(text(&day["day"]), day));
    }
    for model in answer["models"].as_array().into_iter().flatten() {
        rows.push(row(format!("{}/{}", text(&model["subscription"]), text(&model["model"])), model));
    }
    rows.push(row("in all".to_owned(), &answer["total"]));
    output::table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_model_is_answered_with_those_that_there_are() {
        assert_eq!(offered_words(&json!({"models": ["a", "b"]})), "this provider has a, b");
        let many: Vec<String> = (0..1_000).map(|number| format!("m{number}")).collect();
        let words = offered_words(&json!({"models": many}));
        assert!(words.ends_with(&format!("m{}, …", MODELS_SHOWN - 1)), "{words}");
        assert_eq!(offered_words(&json!({"models": null})), "this provider does not list its models");
    }

    #[test]
    fn the_list_shows_each_model_and_the_end_of_its_key() {
        let words = list_words(&json!({"chosen": "mine/swift", "models": [
            {"name": "mine", "shared": false, "provider": "openai", "base_url": "https://a", "runner": null,
             "models": {"balance": {"name": "m"}, "swift": {"name": "s"}}, "default_tier": "balance",
             "fallback": null, "api_key_end": "abcd"},
        ]}));
        assert!(words.contains("balance (default)  m") && words.contains("…abcd"), "{words}");
        assert!(words.contains("mine/swift answers"), "{words}");
        assert!(list_words(&json!({"chosen": null, "models": []})).contains("model add"));
    }
}
