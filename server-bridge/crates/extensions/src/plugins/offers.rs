//! The offers of marketplaces and of the server's shelf, and which installed plugins have another copy there.

use std::collections::HashMap;

use agent::tool::visible;
use api::plugin::{
    MarketplaceList, MarketplacePlugin, MarketplaceView, NewMarketplace, PluginView, ShelfList, ShelfPlugin,
};
use api::problem::Problem;
use plugins::{Entry, Marketplace};
use store::{MarketplaceRow, PluginRow, SharedPlugin, User};

use super::Plugins;
use super::view::problem;
use crate::{Error, Result, approvals};

/// A marketplace, parsed.
struct Known {
    row: MarketplaceRow,
    market: Marketplace,
    hashes: HashMap<String, String>,
}

impl Known {
    /// Fails with the reason as text if the document, stored by an older version, can no longer be read.
    fn of(row: MarketplaceRow) -> std::result::Result<Self, String> {
        let market = Marketplace::read(row.document.as_bytes()).map_err(|error| error.to_string())?;
        let hashes = serde_json::from_str(&row.hashes_json).unwrap_or_default();
        Ok(Self { row, market, hashes })
    }

    /// The source of one of its plugins.
    fn source(&self, entry: &Entry) -> String {
        format!("{}@{}", entry.manifest.name, self.row.name)
    }

    /// True if the offered copy differs from the installed one: by hash, or by version where the offered hash is not known.
    fn differs(&self, entry: &Entry, installed: &PluginRow) -> bool {
        let version = &entry.manifest.version;
        match self.hashes.get(&entry.manifest.name) {
            Some(hash) => *hash != installed.hash,
            None => !version.is_empty() && *version != installed.version,
        }
    }
}

/// The source of a plugin that a user shares.
fn shelf_source(shared: &SharedPlugin) -> String {
    format!("shelf:{}/{}", shared.owner, shared.plugin.name)
}

impl Plugins {
    /// The marketplaces of a user, with what each offers.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn marketplaces(&self, user: &User) -> Result<MarketplaceList> {
        let installed = self.0.store.plugins(user.id).await?;
        let rows = self.0.store.marketplaces(user.id).await?;
        Ok(MarketplaceList { marketplaces: rows.into_iter().map(|row| view(row, &installed)).collect() })
    }

    /// Adds a marketplace, after reading it. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if it cannot be read, or another one has its name; [`Error::Store`].
    pub async fn add_marketplace(&self, user: &User, new: &NewMarketplace) -> Result<MarketplaceView> {
        let source = new.source.trim();
        let row = self.0.read_market(user, source).await.map_err(|why| refused(&why))?;
        let others = self.0.store.marketplaces(user.id).await?;
        if let Some(other) = others.iter().find(|other| other.name == row.name && other.source != source) {
            let text = format!(
                "you have a marketplace {} from {}; remove it first: `sandbridge plugin marketplace remove {}`",
                other.name, other.source, other.name
            );
            return Err(Error::refused("conflict", text));
        }
        self.keep(user, row, "marketplace.add").await
    }

    /// Reads a marketplace again. Nothing that is installed changes. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none, it cannot be read, or it has another name now; [`Error::Store`].
    pub async fn update_marketplace(&self, user: &User, name: &str) -> Result<MarketplaceView> {
        let rows = self.0.store.marketplaces(user.id).await?;
        let before = rows.into_iter().find(|row| row.name == name).ok_or_else(|| unknown(name))?;
        let row = self.0.read_market(user, &before.source).await.map_err(|why| refused(&why))?;
        if row.name != name {
            let text =
                format!("the marketplace {name} calls itself {} now: remove it, and add it again", row.name);
            return Err(Error::refused("conflict", text));
        }
        self.keep(user, row, "marketplace.update").await
    }

    /// Removes a marketplace. What was installed from it stays. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn remove_marketplace(&self, user: &User, name: &str) -> Result<()> {
        if !self.0.store.remove_marketplace(user.id, name).await? {
            return Err(unknown(name));
        }
        approvals::note(&self.0.store, user, "marketplace.remove", name, "").await;
        Ok(())
    }

    async fn keep(&self, user: &User, row: MarketplaceRow, action: &str) -> Result<MarketplaceView> {
        self.0.store.put_marketplace(user.id, &row).await?;
        approvals::note(&self.0.store, user, action, &row.name, &row.source).await;
        let list = self.marketplaces(user).await?;
        let kept = list.marketplaces.into_iter().find(|market| market.name == row.name);
        kept.ok_or_else(|| unknown(&row.name))
    }

    /// The plugins that users share, as a user sees them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn shelf(&self, user: &User) -> Result<ShelfList> {
        let installed = self.0.store.plugins(user.id).await?;
        let mut list = ShelfList::default();
        for shared in self.0.store.shared_plugins().await? {
            let SharedPlugin { owner, owner_id, plugin } = &shared;
            let read = self.0.installed(*owner_id, plugin).await;
            let description = read.map(|read| read.plugin.manifest.description.clone()).unwrap_or_default();
            let source = shelf_source(&shared);
            let copy = installed.iter().find(|row| row.source == source);
            list.plugins.push(ShelfPlugin {
                owner: owner.clone(),
                name: plugin.name.clone(),
                version: plugin.version.clone(),
                description: visible::lines(&description),
                hash: plugin.hash.clone(),
                own: *owner_id == user.id,
                installed: copy.is_some(),
                has_update: copy.is_some_and(|copy| copy.hash != plugin.hash),
                source,
            });
        }
        Ok(list)
    }

    /// Shares a plugin with every user of the server, or stops sharing it. Copies that others installed stay. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn share(&self, user: &User, name: &str, is_shared: bool) -> Result<PluginView> {
        if !self.0.store.share_plugin(user.id, name, is_shared).await? {
            return Err(super::manage::unknown(name));
        }
        let outcome = if is_shared { "shared" } else { "private" };
        approvals::note(&self.0.store, user, "plugin.share", name, outcome).await;
        self.view_of(user, name).await
    }

    /// Stops the sharing of a plugin, on behalf of its owner or an administrator. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is not shared, or if the user may not do this; [`Error::Store`].
    pub async fn take_off_shelf(&self, user: &User, owner: &str, name: &str) -> Result<()> {
        if !user.admin && user.name != owner {
            return Err(Error::refused(
                "denied",
                "only its owner and administrators can stop the sharing of a plugin",
            ));
        }
        let shared = self.0.store.shared_plugins().await?;
        let Some(found) = shared.iter().find(|shared| shared.owner == owner && shared.plugin.name == name)
        else {
            return Err(Error::refused("not_found", format!("{owner} shares no plugin {name:?}")));
        };
        self.0.store.share_plugin(found.owner_id, name, false).await?;
        approvals::note(&self.0.store, user, "shelf.remove", &format!("{owner}/{name}"), "").await;
        Ok(())
    }

    /// The names of a user's plugins whose source now has another copy.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(super) async fn updates(&self, user: &User, rows: &[PluginRow]) -> Result<Vec<String>> {
        let is_from = |mark: &str| rows.iter().any(|row| row.source.contains(mark));
        let shared = if is_from("shelf:") { self.0.store.shared_plugins().await? } else { Vec::new() };
        let markets = if is_from("@") { self.0.store.marketplaces(user.id).await? } else { Vec::new() };
        let of_rows = |name: &str| rows.iter().any(|row| row.source.ends_with(&format!("@{name}")));
        let markets: Vec<Known> = markets
            .into_iter()
            .filter(|row| of_rows(&row.name))
            .filter_map(|row| Known::of(row).ok())
            .collect();
        let is_old = |row: &&PluginRow| {
            let on_shelf = shared.iter().find(|shared| shelf_source(shared) == row.source);
            on_shelf.is_some_and(|shared| shared.plugin.hash != row.hash)
                || markets.iter().any(|known| {
                    let entry = known.market.plugins.iter().find(|entry| known.source(entry) == row.source);
                    entry.is_some_and(|entry| known.differs(entry, row))
                })
        };
        Ok(rows.iter().filter(is_old).map(|row| row.name.clone()).collect())
    }
}

fn view(row: MarketplaceRow, installed: &[PluginRow]) -> MarketplaceView {
    let (name, source, updated_at) = (row.name.clone(), row.source.clone(), row.updated_at_ms);
    let base = MarketplaceView { name, source, updated_at, ..MarketplaceView::default() };
    let known = match Known::of(row) {
        Ok(known) => known,
        Err(why) => return MarketplaceView { problems: vec![Problem::new(why)], ..base },
    };
    let plugin = |entry: &Entry| {
        let source = known.source(entry);
        let copy = installed.iter().find(|row| row.source == source);
        MarketplacePlugin {
            name: entry.manifest.name.clone(),
            version: entry.manifest.version.clone(),
            description: visible::lines(&entry.manifest.description),
            category: visible::line(&entry.category),
            installed: copy.is_some(),
            has_update: copy.is_some_and(|copy| known.differs(entry, copy)),
            source,
        }
    };
    MarketplaceView {
        description: visible::lines(&known.market.description),
        owner: visible::line(&known.market.owner.name),
        plugins: known.market.plugins.iter().map(plugin).collect(),
        problems: known.market.problems.iter().map(problem).collect(),
        ..base
    }
}

fn refused(why: &str) -> Error {
    Error::refused("invalid", format!("the marketplace cannot be read: {why}"))
}

fn unknown(name: &str) -> Error {
    let text = format!("you have no marketplace {name:?}; see `sandbridge plugin marketplace list`");
    Error::refused("not_found", text)
}
