//! `sandbridge plugin`: skills, roles, commands, hooks and MCP servers that are installed together.

mod files;
mod offers;
mod words;

use std::path::Path;
use std::process::ExitCode;

use api::plugin::{NewPlugin, PluginChange, PluginSharing, PluginView};
use clap::Parser;

use super::extension::agree;
use super::failure::Failure;
use super::http::Client;
use super::output;
use super::output::{Named, both};
use crate::command::{Command, block_on};
use crate::globals::Globals;
use offers::{MarketplaceCommand, ShelfCommand};

/// Manage plugins: packages of skills, roles, slash commands, hooks and MCP servers
#[derive(Parser)]
pub(crate) enum PluginCommand {
    /// List your plugins
    List,
    /// Show a plugin: what is in it, what it runs, and which parts are not used
    Show {
        /// The plugin's name
        name: String,
    },
    /// Install a plugin, or another copy of it: shows what is in it, then asks
    Install {
        /// A directory, an archive or a role (a .md file) on this machine; https://…, npm:NAME[@VERSION],
        /// github:OWNER/REPOSITORY[@REVISION][#DIRECTORY], or the same with gitlab:, codeberg:, gitlab:https://HOST/… or
        /// forgejo:https://HOST/…; PLUGIN@MARKETPLACE or PLUGIN@github:OWNER/REPOSITORY; or shelf:OWNER/NAME, which a user of this server shares
        source: String,
        /// Install it without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Use a plugin again, from the next turn on
    Enable {
        /// The plugin's name
        name: String,
    },
    /// Keep a plugin without using it, from the next turn on
    Disable {
        /// The plugin's name
        name: String,
    },
    /// Remove a plugin
    Remove {
        /// The plugin's name
        name: String,
    },
    /// Share a plugin with every user of this server: they can install a copy of it
    Share {
        /// The plugin's name
        name: String,
        /// Stop sharing it; copies that others installed stay
        #[arg(long)]
        stop: bool,
    },
    /// Manage the plugins that users of this server share
    #[command(subcommand)]
    Shelf(ShelfCommand),
    /// Manage your marketplaces: lists of plugins
    #[command(subcommand)]
    Marketplace(MarketplaceCommand),
}

impl Command for PluginCommand {
    const NAME: &'static str = "plugin";

    fn run(self, globals: &Globals) -> Result<ExitCode, Failure> {
        block_on(run(globals, self))
    }
}

async fn run(globals: &Globals, command: PluginCommand) -> Result<ExitCode, Failure> {
    let session = globals.session()?;
    let mut client = Client::new(&session)?;
    let (line, words) = match command {
        PluginCommand::List => {
            let list = client.plugins().await?;
            both(&list, words::list(&list))
        }
        PluginCommand::Show { name } => {
            let list = client.plugins().await?;
            let plugin = named(&list.plugins, &name)?;
            both(plugin, words::show(plugin))
        }
        PluginCommand::Install { source, yes } => {
            let mut new = of(&source)?;
            let looked = client.look_at_plugin(&new).await?;
            if !yes || !globals.json {
                eprintln!("{}", words::show(&looked));
            }
            let question = match &looked.replaces {
                Some(replaced) if replaced.hash == looked.hash => "Install the same copy again?",
                Some(_) => "Install this copy in place of the installed one?",
                None => "Install this plugin?",
            };
            agree(&format!("the plugin {}", words::name(&looked)), question, yes).await?;
            new.hash = Some(looked.hash);
            let installed = client.install_plugin(&new).await?;
            let words = format!(
                "the plugin {} was installed; it is used from the next turn on",
                words::name(&installed)
            );
            both(&installed, words)
        }
        PluginCommand::Enable { name } => change(&mut client, &name, true).await?,
        PluginCommand::Disable { name } => change(&mut client, &name, false).await?,
        PluginCommand::Remove { name } => {
            client.remove_plugin(&name).await?;
            both(&Named { name: &name }, format!("the plugin {name} was removed"))
        }
        PluginCommand::Share { name, stop } => {
            let plugin = client.share_plugin(&name, &PluginSharing { shared: !stop }).await?;
            let words = match stop {
                false => format!("every user of this server can install {}", words::name(&plugin)),
                true => {
                    format!("{} is no longer shared; copies that others installed stay", words::name(&plugin))
                }
            };
            both(&plugin, words)
        }
        PluginCommand::Shelf(command) => offers::shelf(&mut client, command).await?,
        PluginCommand::Marketplace(command) => offers::marketplace(&mut client, command).await?,
    };
    output::line(if globals.json { &line } else { &words });
    Ok(ExitCode::SUCCESS)
}

async fn change(client: &mut Client, name: &str, enabled: bool) -> Result<(String, String), Failure> {
    let changed = client.change_plugin(name, &PluginChange { enabled }).await?;
    let done = if enabled { "is used" } else { "is not used" };
    Ok(both(&changed, format!("the plugin {} {done}, from the next turn on", words::name(&changed))))
}

/// The plugin that a source names: one on this machine, or one that the server fetches.
fn of(source: &str) -> Result<NewPlugin, Failure> {
    let path = Path::new(source);
    if path.is_dir() {
        return files::of_directory(path);
    }
    if path.is_file() {
        if files::is_role(path) {
            return files::of_role(path);
        }
        return files::of_archive(path);
    }
    if source.starts_with(['.', '/', '~']) {
        return Err(Failure::other("not_found", format!("{source} does not exist on this machine")));
    }
    Ok(NewPlugin { source: Some(source.to_owned()), ..NewPlugin::default() })
}

fn named<'a>(plugins: &'a [PluginView], name: &str) -> Result<&'a PluginView, Failure> {
    plugins.iter().find(|plugin| plugin.name == name).ok_or_else(|| {
        Failure::other(
            "not_found",
            format!("you have no plugin {name:?}; `sandbridge plugin list` lists your plugins"),
        )
    })
}
