//! Names that shells complete: the user's runners, chats, models, keys, commands, MCP servers, HTTP tools, automations and channels, as the
//! server lists them. If the server does not answer within a second, no names are offered.

use std::ffi::OsStr;

use api::chat::ChatView;
use api::exec::ExecView;
use api::http_tools::HttpToolView;
use api::key::KeyView;
use api::mcp::McpServerView;
use api::model::SubscriptionView;
use api::runner::{AUTO, DOCKER, NONE, RunnerView};
use api::words::{HttpToolState, McpServerState};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::extension::layer_words;
use super::failure::Failure;
use super::http::Client;
use super::limits::COMPLETION_PATIENCE;
use super::output::{Colour, ago};
use crate::globals::{Globals, SERVER_VARIABLES};

/// The kind of names to complete.
#[derive(Clone, Copy)]
enum Kind {
    Runners,
    Chats,
    Models,
    Keys,
    Commands,
    McpServers,
    HttpTools,
    Automations,
    Channels,
}

/// Completes names of runners.
pub(super) fn runners() -> ArgValueCompleter {
    completer(Kind::Runners, &[])
}

/// Completes names of places where commands can run.
pub(super) fn places() -> ArgValueCompleter {
    completer(Kind::Runners, &[DOCKER, NONE, AUTO])
}

/// Completes ids of chats.
pub(super) fn chats() -> ArgValueCompleter {
    completer(Kind::Chats, &[])
}

/// Completes names of models.
pub(super) fn models() -> ArgValueCompleter {
    completer(Kind::Models, &[])
}

/// Completes names of API keys.
pub(super) fn keys() -> ArgValueCompleter {
    completer(Kind::Keys, &[])
}

/// Completes ids of running commands.
pub(super) fn commands() -> ArgValueCompleter {
    completer(Kind::Commands, &[])
}

/// Completes names of MCP servers.
pub(super) fn mcp_servers() -> ArgValueCompleter {
    completer(Kind::McpServers, &[])
}

/// Completes names of HTTP tools.
pub(super) fn http_tools() -> ArgValueCompleter {
    completer(Kind::HttpTools, &[])
}

/// Completes names of schedules and triggers.
pub(super) fn automations() -> ArgValueCompleter {
    completer(Kind::Automations, &[])
}

/// Completes names of channels.
pub(super) fn channels() -> ArgValueCompleter {
    completer(Kind::Channels, &[])
}

fn completer(kind: Kind, always: &'static [&'static str]) -> ArgValueCompleter {
    ArgValueCompleter::new(move |begun: &OsStr| {
        let begun = begun.to_string_lossy();
        // Errors must not appear during completion.
        let asked = ask(kind).map(printable).unwrap_or_default();
        let fixed = always.iter().map(|name| ((*name).to_owned(), String::new()));
        let fitting = asked.into_iter().chain(fixed).filter(|(name, _)| name.starts_with(begun.as_ref()));
        fitting
            .map(|(name, about)| {
                let about = Some(about).filter(|about| !about.is_empty());
                CompletionCandidate::new(name).help(about.map(Into::into))
            })
            .collect()
    })
}

/// Names, each with a description.
type Offered = Vec<(String, String)>;

fn ask(kind: Kind) -> Result<Offered, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let [server, home, ca_cert] = SERVER_VARIABLES.map(variable);
    let globals = Globals {
        server: server.and_then(|server| server.into_string().ok()),
        home: home.map(Into::into),
        ca_cert: ca_cert.map(Into::into),
        json: false,
        color: Colour::Never,
    };
    let asking = async {
        let mut client = Client::new(&globals.session()?)?;
        Ok(match kind {
            Kind::Runners => client.runners().await?.into_iter().map(of_runner).collect(),
            Kind::Chats => client.chats().await?.into_iter().map(of_chat).collect(),
            Kind::Models => client.models(None).await?.models.into_iter().flat_map(of_subscription).collect(),
            Kind::Keys => client.keys().await?.into_iter().map(of_key).collect(),
            Kind::Commands => client.execs(true).await?.into_iter().map(of_exec).collect(),
            Kind::McpServers => {
                client.mcp_servers(None).await?.servers.into_iter().filter_map(of_mcp_server).collect()
            }
            Kind::Automations => {
                let all = client.automations().await?.into_iter();
                all.map(|one| (one.name, one.kind.to_string())).collect()
            }
            Kind::Channels => {
                let all = client.channels().await?.channels.into_iter();
                all.map(|one| (one.name, one.kind)).collect()
            }
            Kind::HttpTools => {
                client.http_tools(None).await?.tools.into_iter().filter_map(of_http_tool).collect()
            }
        })
    };
    let patience = || Failure::other("unreachable", "the server did not respond in time");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|_| patience())?;
    let answer = runtime.block_on(async { tokio::time::timeout(COMPLETION_PATIENCE, asking).await });
    answer.map_err(|_| patience())?
}

fn of_runner(runner: RunnerView) -> (String, String) {
    (runner.name, if runner.online { "online" } else { "offline" }.to_owned())
}

fn of_chat(chat: ChatView) -> (String, String) {
    (chat.id, format!("{}, {}", chat.title, ago(chat.updated_at)))
}

fn of_key(key: KeyView) -> (String, String) {
    (key.name, key.scope.to_string())
}

fn of_exec(exec: ExecView) -> (String, String) {
    (exec.exec_id, exec.command)
}

/// The name of an MCP server, unless it is shadowed: a shadowed server has the same name as the one that is used.
fn of_mcp_server(server: McpServerView) -> Option<(String, String)> {
    let about = format!("{}, {}", server.state, layer_words(&server.layer));
    (server.state != McpServerState::Shadowed).then_some((server.name, about))
}

/// The name of an HTTP tool, unless it is shadowed: a shadowed tool has the same name as the one that is used.
fn of_http_tool(tool: HttpToolView) -> Option<(String, String)> {
    let about = format!("{}, {}", tool.state, layer_words(&tool.layer));
    (tool.state != HttpToolState::Shadowed).then_some((tool.name, about))
}

/// The names of a subscription and of each of its tiers.
fn of_subscription(of: SubscriptionView) -> Offered {
    let tiers = of.models.iter().map(|(tier, model)| (format!("{}/{tier}", of.name), model.name.clone()));
    std::iter::once((of.name.clone(), of.provider.to_string())).chain(tiers).collect()
}

/// The offered names. Those with control characters are left out: a shell would print them.
fn printable(offered: Offered) -> Offered {
    let word = |text: &str| text.chars().filter(|character| !character.is_control()).collect::<String>();
    let words = offered.iter().map(|(name, about)| (word(name), word(about)));
    words.filter(|(name, _)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: serde::de::DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn names_are_offered_with_what_they_are_and_nothing_a_terminal_obeys() {
        let runners = [r#"{"name": "laptop", "online": true}"#, r#"{"name": "", "online": false}"#];
        let runners = runners.map(|runner| of_runner(read(runner)));
        assert_eq!(printable(runners.to_vec()), [("laptop".to_owned(), "online".to_owned())]);
        let chat = of_chat(read(r#"{"id": "ab12", "title": "a\u001b[2Jb\n"}"#));
        let (name, about) = printable(vec![chat]).remove(0);
        assert!(name == "ab12" && about.starts_with("a[2Jb, "), "{name} {about}");
        let models = r#"{"name": "mine", "provider": "openai", "models": {"swift": {"name": "s"}}}"#;
        let names: Vec<String> = of_subscription(read(models)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["mine", "mine/swift"]);
    }
}
