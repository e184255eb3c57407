//! Looking at plugins, installing and removing them.

use api::plugin::{NewPlugin, PluginList, PluginView};
use api::problem::Problem;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plugins::{PluginPath, Tree};
use store::{PluginRow, User};

use super::fetch::Fetched;
use super::installed::{Installed, files_of};
use super::view::{replaced, view};
use super::{End, Plugins};
use crate::{Error, Result, approvals};

/// A plugin that was examined and is not necessarily installed.
struct Looked {
    tree: Tree,
    plugin: Installed,
    /// The plugin's origin, as text.
    source: String,
    problems: Vec<Problem>,
}

impl Plugins {
    /// The plugins of a user, enabled or not.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn list(&self, user: &User) -> Result<PluginList> {
        let mut list = PluginList::default();
        let rows = self.0.store.plugins(user.id).await?;
        let updates = self.updates(user, &rows).await?;
        for row in rows {
            let has_update = updates.contains(&row.name);
            let shown = match self.0.installed(user.id, &row).await {
                Ok(installed) => view(&installed, Some(&row), ""),
                Err(why) => PluginView {
                    name: row.name,
                    version: row.version,
                    hash: row.hash,
                    source: row.source,
                    enabled: row.is_enabled,
                    shared: row.is_shared,
                    installed_at: Some(row.installed_at_ms),
                    problems: vec![Problem::new(why)],
                    ..PluginView::default()
                },
            };
            list.plugins.push(PluginView { has_update, ..shown });
        }
        Ok(list)
    }

    /// Examines a plugin without keeping anything of it: returns its content, and what it would replace.
    ///
    /// # Errors
    /// [`Error::Refused`] if it cannot be fetched, or is not a plugin; [`Error::Store`].
    pub async fn look(&self, user: &User, new: &NewPlugin) -> Result<PluginView> {
        let looked = self.looked(user, new).await?;
        let mut shown = view(&looked.plugin, None, &looked.source);
        shown.problems.extend(looked.problems);
        let rows = self.0.store.plugins(user.id).await?;
        if let Some(row) = rows.iter().find(|row| row.name == looked.plugin.name)
            && let Ok(before) = self.0.installed(user.id, row).await
        {
            shown.replaces = Some(replaced(&before, row, &looked.plugin));
        }
        Ok(shown)
    }

    /// Installs a plugin that was examined; replaces another copy of it. It is used from the next turn on; a turn in progress continues with the
    /// copy with which it began. Audited.
    ///
    /// # Errors
    /// Those of [`Plugins::look`]; [`Error::Refused`] if its files do not have the hash that the user looked at.
    pub async fn install(&self, user: &User, new: &NewPlugin) -> Result<PluginView> {
        let looked = self.looked(user, new).await?;
        let plugin = looked.plugin;
        if new.hash.as_deref() != Some(plugin.hash.as_str()) {
            return Err(Error::refused(
                "conflict",
                format!("the plugin {} has changed since you looked at it; look at it again", plugin.name),
            ));
        }
        let row = PluginRow {
            name: plugin.name.clone(),
            hash: plugin.hash.clone(),
            version: plugin.plugin.manifest.version.clone(),
            source: looked.source,
            is_enabled: true,
            is_shared: false,
            installed_at_ms: 0,
        };
        self.0.keep(user.id, &row.name).await?;
        self.0.store.put_plugin(user.id, &row, &files_of(&looked.tree)).await?;
        self.ended(user.id, &row.name, End::Replaced);
        approvals::note(&self.0.store, user, "plugin.install", &row.name, &row.hash).await;
        self.view_of(user, &row.name).await
    }

    /// Enables or disables a plugin, from the next turn on. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn enable(&self, user: &User, name: &str, is_enabled: bool) -> Result<PluginView> {
        if !self.0.store.enable_plugin(user.id, name, is_enabled).await? {
            return Err(unknown(name));
        }
        self.ended(user.id, name, End::Taken);
        let outcome = if is_enabled { "enabled" } else { "disabled" };
        approvals::note(&self.0.store, user, "plugin.change", name, outcome).await;
        self.view_of(user, name).await
    }

    /// Removes a plugin. Its files on machines stay, and are no longer used. Audited.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is none; [`Error::Store`].
    pub async fn remove(&self, user: &User, name: &str) -> Result<()> {
        self.0.keep(user.id, name).await?;
        if !self.0.store.remove_plugin(user.id, name).await? {
            return Err(unknown(name));
        }
        self.ended(user.id, name, End::Taken);
        approvals::note(&self.0.store, user, "plugin.remove", name, "").await;
        Ok(())
    }

    pub(super) async fn view_of(&self, user: &User, name: &str) -> Result<PluginView> {
        let list = self.list(user).await?;
        list.plugins.into_iter().find(|plugin| plugin.name == name).ok_or_else(|| unknown(name))
    }

    async fn looked(&self, user: &User, new: &NewPlugin) -> Result<Looked> {
        let refused =
            |why: String| Error::refused("invalid", format!("the plugin cannot be installed: {why}"));
        let name = new.name.clone().unwrap_or_default();
        let decoded =
            |text: &str| STANDARD.decode(text).map_err(|_| refused("its content is not base64".to_owned()));
        let (fetched, source) = match new {
            NewPlugin { source: Some(source), archive: None, files: None, .. } => {
                (self.0.fetch(user, source.trim()).await.map_err(refused)?, source.trim().to_owned())
            }
            NewPlugin { source: None, archive: Some(archive), files: None, .. } => {
                let tree = Tree::of_archive(&decoded(archive)?, &PluginPath::default());
                let tree = tree.map_err(|error| refused(error.to_string()))?;
                (Fetched { tree, name: name.clone(), said: Vec::new() }, format!("the archive {name}"))
            }
            NewPlugin { source: None, archive: None, files: Some(files), .. } => {
                let mut tree = plugins::TreeBuilder::default();
                for file in files {
                    let added = tree.add(&file.path, decoded(&file.content)?, file.executable);
                    added.map_err(|error| refused(error.to_string()))?;
                }
                let tree = tree.build().map_err(|error| refused(error.to_string()))?;
                (Fetched { tree, name: name.clone(), said: Vec::new() }, format!("the directory {name}"))
            }
            _ => return Err(refused("give a source, an archive or the plugin's files".to_owned())),
        };
        let plugin = Installed::read(&fetched.tree, &fetched.name).map_err(refused)?;
        let said = fetched
            .said
            .iter()
            .map(|field| Problem::new(format!("what the marketplace adds is not used: {field}")));
        Ok(Looked { problems: said.collect(), tree: fetched.tree, plugin, source })
    }
}

pub(super) fn unknown(name: &str) -> Error {
    Error::refused("not_found", format!("you have no plugin {name:?}; see `sandbridge plugin list`"))
}
