//! `sandbridge channel`: accounts on messengers, and the links to them.

mod login;
mod routes;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use api::channel::{ChannelKind, ChannelNotices, ChannelPut, ChannelView};
use clap::{Args, Parser};

use self::login::LoginOptions;
use super::failure::Failure;
use super::http::Client;
use super::output::{Named, both};
use super::{names, output};
use crate::command::{Command, block_on};
use crate::extension::document;
use crate::globals::Globals;

/// Manage channels: accounts on messengers through which you reach your chats
#[derive(Parser)]
pub(crate) enum ChannelCommand {
    /// List the messengers, and what an account on each needs
    Kinds,
    /// Add a channel of your own, or change the one with this name
    Add(Box<AddOptions>),
    /// List the channels that you may link to
    List,
    /// Show a channel's status: its name on the messenger, its state and when that changed, and the last error
    Status {
        /// The channel's name
        #[arg(add = names::channels())]
        name: String,
    },
    /// Ask the messenger for the name of a channel's account
    Test {
        /// The channel's name
        #[arg(add = names::channels())]
        name: String,
    },
    /// Get a code that links you when you send it to the bot in a direct message; valid for 10 minutes and one use
    Link {
        /// The channel's name
        #[arg(add = names::channels())]
        name: String,
    },
    /// List your links, and other people's links to your channels
    Links,
    /// Remove a link
    Unlink {
        /// The link's number, as `sandbridge channel links` shows it
        #[arg(value_name = "NUMBER")]
        link: i64,
    },
    /// Send the server's notices to one of your links, and to no other (administrators only)
    Notices {
        /// The link's number, as `sandbridge channel links` shows it
        #[arg(value_name = "NUMBER")]
        link: i64,
        /// Stop sending the notices
        #[arg(long)]
        off: bool,
    },
    /// Log in to a channel's service in a browser, so that your agents can use its tools (Feishu: Bitable, Wiki, documents, Drive) with
    /// your own rights there
    Login(LoginOptions),
    /// Show the channels whose services you can log in to, your login, and the tools that it enables
    Logins,
    /// Forget your login to a channel's service: your agents can no longer use its tools
    Logout {
        /// The channel's name
        #[arg(add = names::channels())]
        name: String,
    },
    /// Remove a channel of your own, with its links; the chats stay
    Remove {
        /// The channel's name
        #[arg(add = names::channels())]
        name: String,
    },
}

/// An account on a messenger.
#[derive(Args)]
pub(crate) struct AddOptions {
    /// The channel's name: a-z, 0-9, '_', '.' and '-'
    name: String,
    /// The messenger, as `sandbridge channel kinds` lists it; not needed when you change a channel
    kind: Option<String>,
    /// A value that is not a secret; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Read the secrets from standard input instead of asking for them: one line KEY=VALUE for each
    #[arg(long)]
    secrets_stdin: bool,
    /// Allow only the person with this id on the messenger, who must also be linked; may be given several times
    #[arg(long, value_name = "ID")]
    allow: Vec<String>,
    /// Let every user link to it (administrators only)
    #[arg(long)]
    shared: bool,
    /// Do not connect it
    #[arg(long)]
    off: bool,
}

impl Command for ChannelCommand {
    const NAME: &'static str = "channel";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: ChannelCommand) -> Result<ExitCode, Failure> {
    let mut client = Client::new(&globals.session()?)?;
    let mut code = ExitCode::SUCCESS;
    let (line, words) = match command {
        ChannelCommand::Kinds => {
            let list = client.channels().await?;
            both(&list.kinds, words::kinds(&list.kinds))
        }
        ChannelCommand::Add(options) => {
            let list = client.channels().await?;
            let known = list.channels.iter().find(|known| known.is_own && known.name == options.name);
            let (name, put) = put(*options, &list.kinds, known)?;
            let saved = client.put_channel(&name, &put).await?;
            both(&saved, words::saved(&saved))
        }
        ChannelCommand::List => {
            let list = client.channels().await?;
            both(&list.channels, words::list(&list.channels))
        }
        ChannelCommand::Status { name } => {
            let list = client.channels().await?;
            let found = list.channels.iter().find(|channel| channel.name == name);
            let channel = found.ok_or_else(|| {
                let text =
                    format!("there is no channel {name}; `sandbridge channel list` lists the channels");
                Failure::other("not_found", text)
            })?;
            both(channel, words::status(channel))
        }
        ChannelCommand::Test { name } => {
            let tested = client.test_channel(&name).await?;
            if !tested.ok {
                code = ExitCode::from(FAILED);
            }
            both(&tested, words::tested(&name, &tested))
        }
        ChannelCommand::Link { name } => {
            let linking = client.link_channel(&name).await?;
            both(&linking, words::linking(&name, &linking))
        }
        ChannelCommand::Links => {
            let list = client.channels().await?;
            both(&list.links, words::links(&list.links))
        }
        ChannelCommand::Unlink { link } => {
            client.unlink_channel(link).await?;
            both(&Named { name: &link.to_string() }, format!("the link {link} was removed"))
        }
        ChannelCommand::Notices { link, off } => {
            client.set_channel_notices(link, ChannelNotices { enabled: !off }).await?;
            let words = match off {
                true => format!("the server's notices are no longer sent to the link {link}"),
                false => {
                    format!(
                        "the server's notices are now sent to the link {link}, and to none of your other links"
                    )
                }
            };
            both(&Named { name: &link.to_string() }, words)
        }
        ChannelCommand::Login(options) => login::log_in(&mut client, &options, globals.json).await?,
        ChannelCommand::Logins => {
            let list = client.channel_logins().await?;
            both(&list, words::logins(&list))
        }
        ChannelCommand::Logout { name } => {
            client.forget_channel_login(&name).await?;
            both(&Named { name: &name }, words::logged_out(&name))
        }
        ChannelCommand::Remove { name } => {
            client.remove_channel(&name).await?;
            both(&Named { name: &name }, format!("the channel {name} was removed; its chats stay"))
        }
    };
    output::line(if globals.json { &line } else { &words });
    Ok(code)
}

/// The exit code of an account that the messenger does not know.
const FAILED: u8 = 1;

/// The document to send for an account. Values that are not given keep their stored value if the account exists.
fn put(
    options: AddOptions,
    kinds: &[ChannelKind],
    known: Option<&ChannelView>,
) -> Result<(String, ChannelPut), Failure> {
    let AddOptions { name, kind, set, secrets_stdin, allow, shared, off } = options;
    let usage = |text: String| Failure::other("usage", text);
    let kind = kind.or_else(|| known.map(|known| known.kind.clone())).ok_or_else(|| {
        usage(
            "write the messenger after the channel's name; `sandbridge channel kinds` lists the messengers"
                .to_owned(),
        )
    })?;
    let mut values: BTreeMap<String, String> = known.map(|known| known.values.clone()).unwrap_or_default();
    let mut lines = set;
    if secrets_stdin {
        lines.extend(
            document(Path::new("-"))?.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned),
        );
    }
    for line in lines {
        // The error does not repeat the line, because it may contain a secret.
        let (key, value) =
            line.split_once('=').ok_or_else(|| usage("a value has the form KEY=VALUE".to_owned()))?;
        values.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    let secrets = kinds.iter().filter(|known| known.name == kind).flat_map(|kind| &kind.setup);
    for setup in secrets.filter(|setup| setup.is_secret && setup.default.is_none()) {
        let is_kept = known.is_some_and(|known| known.secrets.contains(&setup.key));
        if !values.contains_key(&setup.key) && !is_kept && super::ask::is_possible() {
            let unread = |error| Failure::other("io", format!("cannot read the secret: {error}"));
            let value = rpassword::prompt_password(format!("{}: ", setup.label)).map_err(unread)?;
            values.insert(setup.key.clone(), value);
        }
    }
    let allow = match known {
        Some(known) if allow.is_empty() => known.allow.clone(),
        _ => allow,
    };
    Ok((name, ChannelPut { kind, values, allow, enabled: !off, shared }))
}
