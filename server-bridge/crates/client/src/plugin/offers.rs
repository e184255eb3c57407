//! `sandbridge plugin marketplace` and `sandbridge plugin shelf`: the places that offer plugins. Text from an offer cannot imitate other
//! output: anybody may have written it.

use api::plugin::{MarketplaceList, MarketplaceView, ShelfList};
use clap::Subcommand;

use crate::extension::warning;
use crate::failure::Failure;
use crate::http::Client;
use crate::output::{self, Named, both, one_line, short_line};

/// The marketplaces of a user.
#[derive(Subcommand)]
pub(crate) enum MarketplaceCommand {
    /// Add a marketplace: a list of plugins
    Add {
        /// github:OWNER/REPOSITORY[@REVISION], or the same with gitlab:, codeberg:, gitlab:https://HOST/… or forgejo:https://HOST/…; https://… of
        /// a .tar.gz or .zip archive, or of a marketplace.json; or runner:NAME:DIRECTORY, a directory of the workspace of one of your runners
        source: String,
    },
    /// List your marketplaces, and the plugins that they offer
    List {
        /// Only this marketplace
        name: Option<String>,
    },
    /// Read your marketplaces again; nothing that is installed changes
    Update {
        /// Only this marketplace
        name: Option<String>,
    },
    /// Remove a marketplace; what was installed from it stays
    Remove {
        /// The marketplace's name
        name: String,
    },
}

/// The plugins that users of a server share.
#[derive(Subcommand)]
pub(crate) enum ShelfCommand {
    /// List the plugins that users of this server share
    List,
    /// Stop sharing a plugin, as its owner or an administrator; copies that others installed stay
    Remove {
        /// The plugin's owner and its name
        #[arg(value_name = "OWNER/NAME", value_parser = owner_and_name)]
        plugin: (String, String),
    },
}

fn owner_and_name(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((owner, name)) if !owner.is_empty() && !name.is_empty() => {
            Ok((owner.to_owned(), name.to_owned()))
        }
        _ => Err("write it as OWNER/NAME, as `sandbridge plugin shelf list` shows it".to_owned()),
    }
}

/// Runs a command about marketplaces.
pub(super) async fn marketplace(
    client: &mut Client,
    command: MarketplaceCommand,
) -> Result<(String, String), Failure> {
    Ok(match command {
        MarketplaceCommand::Add { source } => {
            let added = client.add_marketplace(source).await?;
            both(&added, format!("the marketplace {} was added\n{}", short_line(&added.name), offers(&added)))
        }
        MarketplaceCommand::List { name } => {
            let mut list = client.marketplaces().await?;
            if let Some(name) = &name {
                list.marketplaces.retain(|market| market.name == *name);
                if list.marketplaces.is_empty() {
                    return Err(unknown(name));
                }
            }
            both(&list, markets(&list))
        }
        MarketplaceCommand::Update { name } => {
            let names = match name {
                Some(name) => vec![name],
                None => {
                    client.marketplaces().await?.marketplaces.into_iter().map(|market| market.name).collect()
                }
            };
            let mut list = MarketplaceList::default();
            for name in names {
                list.marketplaces.push(client.update_marketplace(&name).await?);
            }
            both(&list, markets(&list))
        }
        MarketplaceCommand::Remove { name } => {
            client.remove_marketplace(&name).await?;
            both(&Named { name: &name }, format!("the marketplace {name} was removed"))
        }
    })
}

/// Runs a command about the shelf.
pub(super) async fn shelf(client: &mut Client, command: ShelfCommand) -> Result<(String, String), Failure> {
    Ok(match command {
        ShelfCommand::List => {
            let list = client.shelf().await?;
            both(&list, shared(&list))
        }
        ShelfCommand::Remove { plugin: (owner, name) } => {
            client.take_off_shelf(&owner, &name).await?;
            let words = format!("{owner}/{name} is no longer shared; copies that others installed stay");
            both(&Named { name: &name }, words)
        }
    })
}

fn unknown(name: &str) -> Failure {
    let message =
        format!("you have no marketplace {name:?}; `sandbridge plugin marketplace list` lists yours");
    Failure::other("not_found", message)
}

fn markets(list: &MarketplaceList) -> String {
    if list.marketplaces.is_empty() {
        return "you have no marketplaces; `sandbridge plugin marketplace add SOURCE` adds one".to_owned();
    }
    let market = |market: &MarketplaceView| {
        let about = [short_line(&market.name), one_line(&market.description)].join("  ");
        let place = format!("from {}, read {}", one_line(&market.source), output::ago(market.updated_at));
        format!("{}\n{place}\n{}", about.trim_end(), offers(market))
    };
    list.marketplaces.iter().map(market).collect::<Vec<_>>().join("\n\n")
}

fn offers(market: &MarketplaceView) -> String {
    let mut parts = Vec::new();
    if !market.plugins.is_empty() {
        let heading = ["INSTALL", "VERSION", "STATE", "DESCRIPTION"].map(str::to_owned).to_vec();
        let rows = market.plugins.iter().map(|plugin| {
            let state = state(plugin.installed, plugin.has_update);
            vec![
                short_line(&plugin.source),
                short_line(&plugin.version),
                state.to_owned(),
                short_line(&plugin.description),
            ]
        });
        parts.push(output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>()));
    }
    parts.extend(market.problems.iter().map(warning));
    if parts.is_empty() {
        parts.push("it offers no plugins".to_owned());
    }
    parts.join("\n")
}

fn shared(list: &ShelfList) -> String {
    if list.plugins.is_empty() {
        return "no user of this server shares a plugin; `sandbridge plugin share NAME` shares one of yours"
            .to_owned();
    }
    let heading = ["INSTALL", "VERSION", "STATE", "DESCRIPTION"].map(str::to_owned).to_vec();
    let rows = list.plugins.iter().map(|plugin| {
        let state = if plugin.own { "yours" } else { state(plugin.installed, plugin.has_update) };
        vec![
            short_line(&plugin.source),
            short_line(&plugin.version),
            state.to_owned(),
            short_line(&plugin.description),
        ]
    });
    output::table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

fn state(is_installed: bool, has_update: bool) -> &'static str {
    match (is_installed, has_update) {
        (false, _) => "",
        (true, false) => "installed",
        (true, true) => "another copy",
    }
}

#[cfg(test)]
mod tests {
    use api::plugin::{MarketplacePlugin, ShelfPlugin};
    use api::problem::Problem;

    use super::*;

    #[test]
    fn an_offer_is_shown_with_the_source_to_install_it_from() {
        let plugin = MarketplacePlugin {
            name: "lint".to_owned(),
            version: "2".to_owned(),
            description: "Lints\nINSTALL me".to_owned(),
            source: "lint@tools".to_owned(),
            installed: true,
            has_update: true,
            ..MarketplacePlugin::default()
        };
        let market = MarketplaceView {
            name: "tools".to_owned(),
            source: "github:o/r".to_owned(),
            plugins: vec![plugin],
            problems: vec![Problem::new("has no source").at("plugins[1]")],
            ..MarketplaceView::default()
        };
        let words = markets(&MarketplaceList { marketplaces: vec![market] });
        let lines: Vec<&str> = words.lines().collect();
        assert_eq!(lines.len(), 5, "{words}");
        assert!(lines[3].starts_with("lint@tools  2") && lines[3].contains("another copy"), "{words}");
        assert_eq!(lines[4], "warning: plugins[1]: has no source");
        assert!(markets(&MarketplaceList::default()).contains("marketplace add"));
        let own = ShelfPlugin { source: "shelf:ada/lint".to_owned(), own: true, ..ShelfPlugin::default() };
        assert!(shared(&ShelfList { plugins: vec![own] }).contains("yours"));
        assert!(owner_and_name("ada/lint").is_ok() && owner_and_name("lint").is_err());
    }
}
