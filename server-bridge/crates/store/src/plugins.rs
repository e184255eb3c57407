//! The plugins that users installed: each is a copy, identified by the hash of its files.

use futures_util::future::try_join_all;
use sqlx::FromRow;

use crate::blobs::Blob;
use crate::error::{Error, Result, check_length};
use crate::limits::{BLOBS_AT_ONCE, PLUGIN_BYTES_PER_USER, PLUGIN_SOURCE_MAX_BYTES, PLUGINS_PER_USER};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A plugin, without its files.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct PluginRow {
    /// The plugin's name, unique among its user's plugins.
    pub name: String,
    /// The hash of the plugin's files.
    pub hash: String,
    /// The version that the plugin states; empty if it states none.
    pub version: String,
    /// A description of the plugin's source, for people.
    pub source: String,
    /// True if it is enabled.
    pub is_enabled: bool,
    /// True if every user may install a copy.
    pub is_shared: bool,
    /// When this copy was installed, in Unix milliseconds; set when it is stored.
    pub installed_at_ms: i64,
}

/// A plugin that its owner shares with every user.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct SharedPlugin {
    /// The owner's name.
    pub owner: String,
    /// The owner's id.
    pub owner_id: UserId,
    /// The shared plugin.
    #[sqlx(flatten)]
    pub plugin: PluginRow,
}

/// A file of a plugin.
#[derive(Clone, PartialEq, Eq)]
pub struct PluginFile {
    /// The file's path in the plugin.
    pub path: String,
    /// True if the file is executable.
    pub is_executable: bool,
    /// The file's content.
    pub content: Vec<u8>,
}

/// A file of a plugin in the form in which its row stores it.
#[derive(FromRow)]
struct Stored {
    path: String,
    is_executable: bool,
    content: Option<Vec<u8>>,
    #[sqlx(flatten)]
    blob: Blob,
}

impl Store {
    /// The plugins of a user, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn plugins(&self, user: UserId) -> Result<Vec<PluginRow>> {
        Ok(query_as(
            "SELECT name, hash, version, source, is_enabled, is_shared, installed_at_ms FROM plugins
             WHERE user_id = $1 ORDER BY name",
        )
        .bind(user)
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The files of a user's plugin, by path; empty if the plugin with this hash no longer exists.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn plugin_files(&self, user: UserId, name: &str, hash: &str) -> Result<Vec<PluginFile>> {
        let stored: Vec<Stored> = query_as(
            "SELECT f.path, f.is_executable, f.content, b.object, b.size_bytes AS object_bytes
             FROM plugin_files f JOIN plugins p ON p.id = f.plugin_id LEFT JOIN blobs b ON b.object = f.blob
             WHERE p.user_id = $1 AND p.name = $2 AND p.hash = $3 ORDER BY f.path",
        )
        .bind(user)
        .bind(name)
        .bind(hash)
        .fetch_all(self.database.reader())
        .await?;
        let (mut stored, mut files) = (stored.into_iter(), Vec::new());
        while stored.len() > 0 {
            let some = stored.by_ref().take(BLOBS_AT_ONCE);
            files.extend(try_join_all(some.map(|file| self.plugin_file(file))).await?);
        }
        Ok(files)
    }

    async fn plugin_file(&self, stored: Stored) -> Result<PluginFile> {
        let Stored { path, is_executable, content, blob } = stored;
        Ok(PluginFile { path, is_executable, content: self.bring(content, blob).await? })
    }

    /// The plugins that users share, by owner and name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn shared_plugins(&self) -> Result<Vec<SharedPlugin>> {
        Ok(query_as(
            "SELECT u.name AS owner, u.id AS owner_id, p.name, p.hash, p.version, p.source, p.is_enabled, p.is_shared,
                    p.installed_at_ms
             FROM plugins p JOIN users u ON u.id = p.user_id WHERE p.is_shared ORDER BY u.name, p.name",
        )
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Shares a plugin with every user, or stops sharing it; returns true if the plugin exists. Copies that others installed stay.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn share_plugin(&self, user: UserId, name: &str, is_shared: bool) -> Result<bool> {
        let changed = query("UPDATE plugins SET is_shared = $3 WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .bind(is_shared)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(changed.rows_affected() == 1)
    }

    /// Stores a plugin in place of any plugin with the same name; it stays shared if that one was.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 100 plugins, or beyond 256 MiB for all of a user's plugins.
    pub async fn put_plugin(&self, user: UserId, plugin: &PluginRow, files: &[PluginFile]) -> Result<()> {
        let PluginRow { name, hash, version, source, is_enabled, is_shared, installed_at_ms: _ } = plugin;
        check_length("source", source, PLUGIN_SOURCE_MAX_BYTES)?;
        let invalid = |rule: String| Error::Invalid { what: "plugin", rule };
        let mut blobs = Vec::with_capacity(files.len());
        for some in files.chunks(BLOBS_AT_ONCE) {
            blobs.extend(try_join_all(some.iter().map(|file| self.put_away(&file.content))).await?);
        }
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let was_shared: Option<bool> =
            query_scalar("DELETE FROM plugins WHERE user_id = $1 AND name = $2 RETURNING is_shared")
                .bind(user)
                .bind(name.as_str())
                .fetch_optional(&mut transaction)
                .await?;
        let others: i64 = query_scalar("SELECT COUNT(*) FROM plugins WHERE user_id = $1")
            .bind(user)
            .fetch_one(&mut transaction)
            .await?;
        if others >= PLUGINS_PER_USER {
            return Err(invalid(format!("exceeds the limit: you already have {others}; remove one first")));
        }
        let stored: i64 = query_scalar(
            "SELECT COALESCE(CAST(SUM(COALESCE(b.size_bytes, LENGTH(f.content))) AS BIGINT), 0) FROM plugin_files f
             JOIN plugins p ON p.id = f.plugin_id LEFT JOIN blobs b ON b.object = f.blob WHERE p.user_id = $1",
        )
        .bind(user)
        .fetch_one(&mut transaction)
        .await?;
        let new: usize = files.iter().map(|file| file.content.len()).sum();
        if stored.saturating_add_unsigned(new as u64) > PLUGIN_BYTES_PER_USER {
            let most = PLUGIN_BYTES_PER_USER / (1024 * 1024);
            return Err(invalid(format!(
                "is too large: your plugins can have at most {most} MiB in total; remove one first"
            )));
        }
        let id: i64 = query_scalar(
            "INSERT INTO plugins (user_id, name, hash, version, source, is_enabled, is_shared, installed_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
        )
        .bind(user)
        .bind(name.as_str())
        .bind(hash.as_str())
        .bind(version.as_str())
        .bind(source.as_str())
        .bind(*is_enabled)
        .bind(was_shared.unwrap_or(*is_shared))
        .bind(self.now_ms())
        .fetch_one(&mut transaction)
        .await?;
        for (file, blob) in files.iter().zip(blobs) {
            query(
                "INSERT INTO plugin_files (plugin_id, path, is_executable, content, blob) VALUES ($1, $2, $3, $4, $5)",
            )
            .bind(id)
            .bind(file.path.as_str())
            .bind(file.is_executable)
            .bind(blob.is_none().then_some(file.content.as_slice()))
            .bind(&blob)
            .execute(&mut transaction)
            .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// Enables or disables a plugin; returns true if the plugin exists.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn enable_plugin(&self, user: UserId, name: &str, is_enabled: bool) -> Result<bool> {
        let changed = query("UPDATE plugins SET is_enabled = $3 WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .bind(is_enabled)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(changed.rows_affected() == 1)
    }

    /// Removes a plugin with its files; returns true if it existed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_plugin(&self, user: UserId, name: &str) -> Result<bool> {
        let gone = query("DELETE FROM plugins WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::testing;

    fn plugin(name: &str, hash: &str) -> PluginRow {
        PluginRow {
            name: name.to_owned(),
            hash: hash.to_owned(),
            version: "1.0".to_owned(),
            source: "a directory".to_owned(),
            is_enabled: true,
            is_shared: false,
            installed_at_ms: 0,
        }
    }

    fn file(path: &str, content: &[u8]) -> PluginFile {
        PluginFile { path: path.to_owned(), is_executable: path.ends_with(".sh"), content: content.to_vec() }
    }

    #[tokio::test]
    async fn a_plugin_is_its_users_and_another_copy_replaces_it_whole() {
        let store = testing::empty().await;
        let (ada, eve) = (Name::parse("ada").unwrap(), Name::parse("eve").unwrap());
        let ada = store.add_user(&ada, "correct horse", false).await.unwrap().id;
        let eve = store.add_user(&eve, "correct horse", false).await.unwrap().id;
        let files = [file("a.md", b"one\0\xff"), file("b/run.sh", b"true")];
        store.put_plugin(ada, &plugin("lint", "h1"), &files).await.unwrap();
        assert!(store.plugin_files(ada, "lint", "h1").await.unwrap() == files);
        assert!(store.plugins(eve).await.unwrap().is_empty());
        assert!(store.plugin_files(eve, "lint", "h1").await.unwrap().is_empty());
        store.put_plugin(ada, &plugin("lint", "h2"), &files[..1]).await.unwrap();
        assert!(store.plugin_files(ada, "lint", "h1").await.unwrap().is_empty(), "the old copy was removed");
        assert_eq!(store.plugin_files(ada, "lint", "h2").await.unwrap().len(), 1);
        assert!(!store.enable_plugin(eve, "lint", false).await.unwrap());
        assert!(store.enable_plugin(ada, "lint", false).await.unwrap());
        let known = store.plugins(ada).await.unwrap();
        assert_eq!((known.len(), known[0].is_enabled, known[0].hash.as_str()), (1, false, "h2"));
        assert!(!store.remove_plugin(eve, "lint").await.unwrap());
        assert!(
            store.remove_plugin(ada, "lint").await.unwrap()
                && !store.remove_plugin(ada, "lint").await.unwrap()
        );
        assert!(store.plugin_files(ada, "lint", "h2").await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_shared_plugin_is_listed_for_all_and_stays_shared_when_it_is_replaced() {
        let store = testing::empty().await;
        let ada = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        store.put_plugin(ada, &plugin("lint", "h1"), &[]).await.unwrap();
        assert!(store.shared_plugins().await.unwrap().is_empty());
        assert!(store.share_plugin(ada, "lint", true).await.unwrap());
        assert!(!store.share_plugin(ada, "other", true).await.unwrap());
        store.put_plugin(ada, &plugin("lint", "h2"), &[]).await.unwrap();
        let shared = store.shared_plugins().await.unwrap();
        assert_eq!((shared.len(), shared[0].owner.as_str(), shared[0].owner_id), (1, "ada", ada));
        assert_eq!((shared[0].plugin.name.as_str(), shared[0].plugin.hash.as_str()), ("lint", "h2"));
        assert!(store.share_plugin(ada, "lint", false).await.unwrap());
        assert!(store.shared_plugins().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_number_of_plugins_is_bounded() {
        let store = testing::empty().await;
        let ada = store.add_user(&Name::parse("ada").unwrap(), "correct horse", false).await.unwrap().id;
        for at in 0..PLUGINS_PER_USER {
            store.put_plugin(ada, &plugin(&format!("p{at}"), "h"), &[]).await.unwrap();
        }
        let more = store.put_plugin(ada, &plugin("more", "h"), &[]).await;
        assert!(matches!(more, Err(Error::Invalid { .. })));
        store.put_plugin(ada, &plugin("p0", "h2"), &[]).await.unwrap();
        assert_eq!(store.plugins(ada).await.unwrap().len() as i64, PLUGINS_PER_USER);
    }
}
