//! A server of the user's own, from the options of `add`. Values may be secrets: no error repeats them.

use std::collections::BTreeMap;

use api::mcp::{McpOAuth, McpServerEntry};
use clap::Args;

use crate::failure::Failure;
use crate::names;

/// A server to be added.
#[derive(Args)]
pub(crate) struct AddOptions {
    /// The name that you give it
    pub(super) name: String,
    /// Set an environment variable of the program; may be given many times. ${NAME} stands for the value of NAME in commands on the same machine
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    env: Vec<String>,
    /// The address of a server that is reached over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// Connect from the network of your runner NAME instead of the server's; __docker__ for your container
    #[arg(long, value_name = "RUNNER", requires = "url", conflicts_with = "command", add = names::places())]
    via: Option<String>,
    /// Get tokens with client credentials, using this client ID, instead of a login; the secret is asked for, or read from standard input
    #[arg(long, value_name = "ID", requires = "url", conflicts_with = "command")]
    client_id: Option<String>,
    /// Request this scope with the client credentials; may be given several times [default: the scopes that the server names]
    #[arg(long, value_name = "SCOPE", requires = "client_id")]
    scope: Vec<String>,
    /// Send a header with each request; may be given many times
    #[arg(long, value_name = "NAME: VALUE", requires = "url", conflicts_with = "command")]
    header: Vec<String>,
    /// How long a call may take without a report of progress, in seconds [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    timeout: Option<u32>,
    /// Add it without checking it
    #[arg(long)]
    pub(super) no_check: bool,
    /// The program that is run on your machine, and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl AddOptions {
    /// True if its client's secret is needed.
    pub(super) fn has_client(&self) -> bool {
        self.client_id.is_some()
    }

    /// The definition of the server, with the secret of its client if it has one.
    ///
    /// # Errors
    /// `usage` if a variable or a header has no name.
    pub(super) fn entry(&self, client_secret: Option<String>) -> Result<McpServerEntry, Failure> {
        let (command, args) = match self.command.split_first() {
            Some((command, args)) => (Some(command.clone()), args.to_vec()),
            None => (None, Vec::new()),
        };
        Ok(McpServerEntry {
            transport: None,
            command,
            args,
            env: pairs("--env", "NAME=VALUE", '=', &self.env)?,
            url: self.url.clone(),
            headers: pairs("--header", "'NAME: VALUE'", ':', &self.header)?
                .into_iter()
                .map(|(name, value)| (name, value.trim().to_owned()))
                .collect(),
            via: self.via.clone(),
            oauth: self.client_id.clone().map(|client_id| McpOAuth {
                grant_type: Some("client_credentials".to_owned()),
                client_id: Some(client_id),
                client_secret,
                scopes: self.scope.clone(),
                ..McpOAuth::default()
            }),
            timeout: self.timeout.map(|seconds| u64::from(seconds) * 1000),
        })
    }
}

fn pairs(
    option: &str,
    form: &str,
    separator: char,
    texts: &[String],
) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(separator)?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    let wrong = |index: usize| {
        let number = index + 1;
        Failure::usage(format!(
            "{option} number {number} is not of the form {form}; its text is not shown, since it may be a secret"
        ))
    };
    texts.iter().enumerate().map(|(index, text)| pair(text).ok_or_else(|| wrong(index))).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    #[command(name = "add")]
    struct Add {
        #[command(flatten)]
        options: AddOptions,
    }

    fn parsed(arguments: &[&str]) -> Result<AddOptions, clap::Error> {
        Add::try_parse_from([&["add"], arguments].concat()).map(|add| add.options)
    }

    fn entry(arguments: &[&str]) -> McpServerEntry {
        parsed(arguments).unwrap().entry(None).unwrap()
    }

    fn pair(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn a_program_keeps_its_own_options() {
        let git = entry(&["git", "--env", "A=b=c", "--timeout", "90", "--", "npx", "-y", "--url", "server"]);
        let expected = McpServerEntry {
            command: Some("npx".to_owned()),
            args: ["-y", "--url", "server"].map(str::to_owned).to_vec(),
            env: pair("A", "b=c"),
            timeout: Some(90_000),
            ..McpServerEntry::default()
        };
        assert_eq!(git, expected);
        assert_eq!(entry(&["git", "--env", "EMPTY=", "--", "x"]).env, pair("EMPTY", ""));
    }

    #[test]
    fn an_address_has_headers() {
        let remote =
            entry(&["far", "--url", "https://mcp.example/x", "--header", "Authorization: Bearer a:b"]);
        let expected = McpServerEntry {
            url: Some("https://mcp.example/x".to_owned()),
            headers: pair("Authorization", "Bearer a:b"),
            ..McpServerEntry::default()
        };
        assert_eq!(remote, expected);
    }

    #[test]
    fn an_address_may_be_reached_through_a_runner_and_by_a_client_of_its_own() {
        let words = ["far", "--url", "http://10.0.0.5/mcp", "--via", "laptop"];
        assert_eq!(entry(&words).via.as_deref(), Some("laptop"));
        assert_eq!(entry(&words).oauth, None);
        let client = [&words[..], &["--client-id", "me", "--scope", "a", "--scope", "b"]].concat();
        let options = parsed(&client).unwrap();
        assert!(options.has_client());
        let oauth = options.entry(Some("s3cret".to_owned())).unwrap().oauth.unwrap();
        assert_eq!(
            (oauth.client_id.as_deref(), oauth.client_secret.as_deref()),
            (Some("me"), Some("s3cret"))
        );
        assert_eq!((oauth.grant_type.as_deref(), oauth.scopes.len()), (Some("client_credentials"), 2));
        for wrong in [
            &["x", "--via", "laptop", "--", "npx"][..],
            &["x", "--client-id", "me", "--", "npx"],
            &["x", "--url", "https://a.example", "--scope", "a"],
        ] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn errors_repeat_no_value() {
        for arguments in [
            &["x", "--env", "s3cret", "--", "npx"][..],
            &["x", "--env", "A=b", "--env", "=s3cret", "--", "npx"],
            &["x", "--url", "https://mcp.example", "--header", "s3cret"],
            &["x", "--url", "https://mcp.example", "--header", ":s3cret"],
            // A header without quotes.
            &["x", "--url", "https://mcp.example", "--header", "Authorization:", "s3cret"],
            &["x", "--env", "A=s3cret", "--url", "https://mcp.example"],
            &["x", "--header", "A: s3cret", "--", "npx"],
            &["x", "--header", "A: s3cret"],
            &["x", "--env", "A=s3cret"],
            &["x", "--env", "A=s3cret", "--timeout", "0", "--", "npx"],
        ] {
            let message = match parsed(arguments).map(|options| options.entry(None)) {
                Ok(entry) => {
                    let failure = entry.unwrap_err();
                    assert_eq!(failure.kind, "usage", "{arguments:?}");
                    failure.message
                }
                Err(error) => {
                    assert_eq!(error.exit_code(), 2, "{arguments:?}");
                    error.to_string()
                }
            };
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
