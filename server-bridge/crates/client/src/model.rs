//! `sandbridge model`: the models for the user's chats.

use std::process::ExitCode;

use api::model::{
    ModelDocument, ModelList, PriceDocument, ProviderDocument, SubscriptionDocument, TrialView,
};
use api::usage::{ModelUsageView, Sum, UsageView};
use api::words::{Provider, Tier};
use clap::{Args, Parser};

use super::failure::Failure;
use super::http::Client;
use super::limits::MODELS_SHOWN;
use super::output::{Named, both};
use super::{names, output};
use crate::command::{Command, block_on};
use crate::globals::Globals;

/// Choose, add, try and remove the models that answer in your chats
#[derive(Parser)]
pub(crate) enum ModelCommand {
    /// List the models you can choose
    List,
    /// Add a model of your own; its key comes from standard input, or from a file
    Add(Box<AddOptions>),
    /// Remove a model of your own, and its key
    Remove {
        /// The model's name
        #[arg(add = names::models())]
        name: String,
    },
    /// Choose the model for chats that have none of their own
    Use {
        /// NAME, TIER, NAME/TIER or NAME/MODEL; or `auto`
        #[arg(add = names::models())]
        model: String,
    },
    /// Send a model a short test message, to see whether it answers
    Test {
        /// NAME, NAME/TIER or NAME/MODEL [default: the model that answers now]
        #[arg(add = names::models())]
        model: Option<String>,
    },
    /// Show the tokens and the cost of recent days
    Usage {
        /// How many days, today included
        #[arg(long, value_name = "N", default_value_t = 30)]
        days: u16,
    },
}

impl Command for ModelCommand {
    const NAME: &'static str = "model";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

/// The model to add.
#[derive(Args)]
pub(super) struct AddOptions {
    /// The name that you give it: a-z, 0-9, '_', '.' and '-'
    name: String,
    /// The API that its provider offers
    #[arg(long, value_name = "openai|anthropic", value_parser = ["openai", "anthropic"])]
    provider: String,
    /// The address of the provider's API [default: the provider's own address]
    #[arg(long, value_name = "URL", conflicts_with = "runner")]
    base_url: Option<String>,
    /// A runner of yours that relays requests to the endpoint; the endpoint's key stays on the runner's machine
    #[arg(long, value_name = "NAME", conflicts_with = "api_key_file", add = names::runners())]
    runner: Option<String>,
    /// The model's name at its provider; without it, the provider's models are listed
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The most capable model, for `/model vanguard`
    #[arg(long, value_name = "MODEL")]
    vanguard: Option<String>,
    /// A fast and cheap model, for `/model swift`
    #[arg(long, value_name = "MODEL")]
    swift: Option<String>,
    /// The tier that answers unless another one is chosen
    #[arg(long, value_name = "TIER", value_parser = ["vanguard", "balance", "swift"])]
    default_tier: Option<String>,
    /// The fallback if it is unavailable: NAME, TIER, NAME/TIER or NAME/MODEL
    #[arg(long, value_name = "MODEL")]
    fallback: Option<String>,
    /// The size of its context window, in tokens [default: 200000]
    #[arg(long, value_name = "TOKENS")]
    window_tokens: Option<u32>,
    /// How many tokens an answer may have [default: 16384]
    #[arg(long, value_name = "TOKENS")]
    reply_tokens: Option<u32>,
    /// How much it may think, in tokens [default: the provider's own]
    #[arg(long, value_name = "TOKENS")]
    thinking_tokens: Option<u32>,
    /// What a model's tokens cost, in dollars per million: input, output and, optionally, reads from and writes to its cache;
    /// may be repeated
    #[arg(long, value_name = "MODEL=IN/OUT[/CACHED[/CACHING]]", value_parser = PriceDocument::of_model)]
    price: Vec<(String, PriceDocument)>,
    /// Read the provider's key from standard input
    #[arg(long, conflicts_with_all = ["api_key_file", "runner"])]
    api_key_stdin: bool,
    /// File that contains the provider's key
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<std::path::PathBuf>,
    /// Replace the model of that name
    #[arg(long)]
    replace: bool,
    /// Make it the default model from now on
    #[arg(long = "use")]
    is_used: bool,
}

async fn run(globals: &Globals, command: ModelCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        ModelCommand::List => {
            let models = client.models(None).await?;
            both(&models, list_words(&models))
        }
        ModelCommand::Add(options) => add(&mut client, *options).await?,
        ModelCommand::Remove { name } => {
            client.remove_model(&name).await?;
            both(&Named { name: &name }, format!("model {name} was removed"))
        }
        ModelCommand::Use { model } => choose(&mut client, model).await?,
        ModelCommand::Test { model } => {
            let trial = test(&mut client, model).await?;
            both(&trial, trial_words(&trial))
        }
        ModelCommand::Usage { days } => {
            let usage = client.usage(days).await?;
            both(&usage, usage_words(&usage))
        }
    };
    if globals.json {
        output::line(&line);
    } else {
        output::line(&output::printable(&words));
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(client: &mut Client, options: AddOptions) -> Result<(String, String), Failure> {
    let key = key(&options)?;
    if [&options.model, &options.vanguard, &options.swift].iter().all(|model| model.is_none()) {
        return Err(no_model(client, &options, key).await);
    }
    let AddOptions { name, replace, is_used, .. } = &options;
    let document = SubscriptionDocument { api_key: key, ..document(&options) };
    let kept = if *replace {
        client.replace_model(name, &document).await?
    } else {
        client.add_model(&SubscriptionDocument { name: Some(name.clone()), ..document }).await?
    };
    let done = if *replace { "changed" } else { "added" };
    let mut words = format!("model {name} was {done}; `sandbridge model test {name}` tests it");
    if *is_used {
        client.choose_model(Some(name.clone())).await?;
        words.push_str(", and it answers from now on");
    } else {
        words.push_str(&format!("; `sandbridge model use {name}` makes it the default"));
    }
    Ok(both(&kept, words))
}

/// The error if no model was named; it lists the provider's models, if the provider offers a list.
async fn no_model(client: &mut Client, options: &AddOptions, key: Option<String>) -> Failure {
    let place = ProviderDocument {
        provider: Provider::from(options.provider.as_str()),
        base_url: options.base_url.clone(),
        runner: options.runner.clone(),
        api_key: key,
        name: None,
    };
    let offered = match client.offered_models(&place).await {
        Ok(offered) => offered_words(&offered.models.unwrap_or_default()),
        Err(failure) => format!("this provider's models cannot be listed: {}", failure.message),
    };
    Failure::usage(format!("name the model with --model; {offered}"))
}

fn offered_words(names: &[String]) -> String {
    if names.is_empty() {
        return "this provider does not list its models".to_owned();
    }
    let shown = names[..names.len().min(MODELS_SHOWN)].join(", ");
    let rest = if names.len() > MODELS_SHOWN { ", …" } else { "" };
    format!("this provider has {shown}{rest}")
}

async fn choose(client: &mut Client, model: String) -> Result<(String, String), Failure> {
    let choice = client.choose_model(Some(model).filter(|model| model != "auto")).await?;
    let words = match &choice.model {
        Some(model) => {
            format!("{model} answers in your chats now, except in those that have a model of their own")
        }
        None => "the server's model answers now, or your own if the server has none".to_owned(),
    };
    Ok(both(&choice, words))
}

/// Asks a model for one word. The model is given as NAME, NAME/TIER or NAME/MODEL; without a name, the current model is asked.
pub(super) async fn test(client: &mut Client, model: Option<String>) -> Result<TrialView, Failure> {
    let model = match model {
        Some(model) => model,
        None => {
            let ModelList { chosen, models } = client.models(None).await?;
            chosen.or(models.into_iter().next().map(|first| first.name)).ok_or_else(|| {
                Failure::other("not_found", "no model is set up; add one with `sandbridge model add`")
            })?
        }
    };
    match model.split_once('/') {
        Some((name, which)) => client.test_model(name, Some(which.to_owned())).await,
        None => client.test_model(&model, None).await,
    }
}

/// The answer of a tested model.
pub(super) fn trial_words(trial: &TrialView) -> String {
    let TrialView { subscription, model, answer, duration_ms } = trial;
    format!("{subscription}/{model} answered in {duration_ms} ms: {answer}")
}

/// The provider's key, from the source that its owner chose.
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

fn document(options: &AddOptions) -> SubscriptionDocument {
    let price_of =
        |name: &str| options.price.iter().find(|(known, _)| known == name).map(|(_, price)| price.clone());
    let named = [("vanguard", &options.vanguard), ("balance", &options.model), ("swift", &options.swift)];
    let models = named.into_iter().filter_map(|(tier, name)| {
        let model = ModelDocument {
            name: name.clone()?,
            window_tokens: options.window_tokens,
            reply_tokens: options.reply_tokens,
            thinking_tokens: options.thinking_tokens,
            price: price_of(name.as_ref()?),
        };
        Some((tier.to_owned(), model))
    });
    SubscriptionDocument {
        provider: Provider::from(options.provider.as_str()),
        base_url: options.base_url.clone(),
        runner: options.runner.clone(),
        models: models.collect(),
        default_tier: options.default_tier.as_deref().map(Tier::from),
        fallback: options.fallback.clone(),
        ..SubscriptionDocument::default()
    }
}

fn list_words(ModelList { chosen, models }: &ModelList) -> String {
    if models.is_empty() {
        return "no model is set up; `sandbridge model add NAME` adds one of your own".to_owned();
    }
    let heading =
        ["NAME", "PROVIDER", "WHERE", "TIER", "MODEL", "KEY", "FALLBACK"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    for subscription in models {
        let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "-".to_owned());
        let place = match (subscription.shared, &subscription.runner) {
            (true, _) => "the server's own".to_owned(),
            (false, Some(runner)) => format!("runner {runner}"),
            (false, None) => word(&subscription.base_url),
        };
        let key = subscription.api_key_end.as_ref().map_or_else(|| "-".to_owned(), |end| format!("…{end}"));
        for (tier, model) in &subscription.models {
            let is_default = subscription.default_tier == tier.as_str();
            let tier = if is_default { format!("{tier} (default)") } else { tier.clone() };
            let (name, provider) = (subscription.name.clone(), subscription.provider.to_string());
            let fallback = word(&subscription.fallback);
            rows.push(vec![name, provider, place.clone(), tier, model.name.clone(), key.clone(), fallback]);
        }
    }
    let chosen = match chosen {
        Some(chosen) => format!("{chosen} answers unless a chat chooses another"),
        None => "the first one answers unless a chat chooses another".to_owned(),
    };
    format!("{}\n\n{chosen}", output::table(&rows))
}

fn usage_words(usage: &UsageView) -> String {
    let heading = ["", "REQUESTS", "INPUT", "CACHED", "OUTPUT", "COST"].map(str::to_owned).to_vec();
    let row = |what: String, sum: &Sum| {
        let dollars = sum.cost_micros as f64 / 1_000_000.0;
        let cost = if dollars > 0.0 { format!("${dollars:.4}") } else { "-".to_owned() };
        let [calls, read, cached, written] =
            [sum.calls, sum.input_tokens, sum.cache_read_tokens, sum.output_tokens]
                .map(|sum| sum.to_string());
        vec![what, calls, read, cached, written, cost]
    };
    let mut rows = vec![heading];
    rows.extend(usage.days.iter().map(|day| row(day.day.clone(), &day.sum)));
    let of_model = |of: &ModelUsageView| row(format!("{}/{}", of.subscription, of.model), &of.sum);
    rows.extend(usage.models.iter().map(of_model));
    rows.push(row("total".to_owned(), &usage.total));
    output::table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> ModelList {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_missing_model_is_answered_with_those_that_there_are() {
        assert_eq!(offered_words(&["a".to_owned(), "b".to_owned()]), "this provider has a, b");
        let many: Vec<String> = (0..1_000).map(|number| format!("m{number}")).collect();
        let words = offered_words(&many);
        assert!(words.ends_with(&format!("m{}, …", MODELS_SHOWN - 1)), "{words}");
        assert_eq!(offered_words(&[]), "this provider does not list its models");
    }

    #[test]
    fn the_list_shows_each_model_and_the_end_of_its_key() {
        let words = list_words(&read(
            r#"{"chosen": "mine/swift", "models": [
            {"name": "mine", "shared": false, "provider": "openai", "base_url": "https://a", "runner": null,
             "models": {"balance": {"name": "m"}, "swift": {"name": "s"}}, "default_tier": "balance",
             "fallback": null, "api_key_end": "abcd"}
        ]}"#,
        ));
        assert!(words.contains("balance (default)  m") && words.contains("…abcd"), "{words}");
        assert!(words.contains("mine/swift answers"), "{words}");
        assert!(list_words(&read(r#"{"chosen": null, "models": []}"#)).contains("model add"));
    }
}
