//! A user's own MCP servers, and the tools that each server listed.

use sqlx::FromRow;

use crate::error::{Result, check_length};
use crate::limits::{
    MCP_CATALOGUES_PER_USER, MCP_ENTRY_MAX_BYTES, MCP_LISTING_MAX_BYTES, MCP_NAME_MAX_BYTES,
    MCP_SERVERS_PER_USER,
};
use crate::own::{Own, OwnTable};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// A user's own MCP server.
#[derive(Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The server's name, unique among its user's servers.
    pub name: String,
    /// The server's definition without secrets, as JSON.
    pub entry_json: String,
    /// The server's secrets, as JSON; `None` if it has none, or if the key that sealed them was lost.
    pub secrets_json: Option<String>,
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "McpServer({}, …)", self.name)
    }
}

/// The tools that a server listed at a place.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct McpCatalogue {
    /// The place from which the MCP server is reached; empty if the Sandbridge server itself reaches it.
    pub place: String,
    /// The server's name.
    pub server: String,
    /// The hash that identifies the MCP server; a server with another hash has a separate list.
    pub hash: String,
    /// The accepted and the changed tools, as JSON.
    pub listing_json: String,
    /// When the server listed its tools, in Unix milliseconds.
    pub listed_at_ms: i64,
}

/// The statements and limits for MCP servers.
const SERVERS: OwnTable = OwnTable {
    what: "MCP server",
    list: "SELECT name, entry_json AS document_json, secrets_sealed FROM mcp_servers WHERE user_id = $1 ORDER BY name",
    others: "SELECT COUNT(*) FROM mcp_servers WHERE user_id = $1 AND name <> $2",
    put: "INSERT INTO mcp_servers (user_id, name, entry_json, secrets_sealed, updated_at_ms)
          VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (user_id, name) DO UPDATE SET entry_json = excluded.entry_json,
              secrets_sealed = excluded.secrets_sealed, updated_at_ms = excluded.updated_at_ms",
    remove: "DELETE FROM mcp_servers WHERE user_id = $1 AND name = $2",
    place,
    most: MCP_SERVERS_PER_USER,
    name_max_bytes: MCP_NAME_MAX_BYTES,
    max_bytes: MCP_ENTRY_MAX_BYTES,
};

/// The place to which a server's secrets are bound when they are sealed.
pub(crate) fn place(user: UserId, name: &str) -> String {
    format!("mcp-server/{user}/{name}")
}

impl Store {
    /// A user's own servers, by name.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn mcp_servers(&self, user: UserId) -> Result<Vec<McpServer>> {
        let server = |own: Own| McpServer {
            name: own.name,
            entry_json: own.document_json,
            secrets_json: own.secrets_json,
        };
        Ok(self.own(&SERVERS, user).await?.into_iter().map(server).collect())
    }

    /// Adds a server, or replaces the one with this name.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) beyond 100 servers, 64 KiB of definition or of secrets; [`Error::Locked`](crate::Error::Locked).
    pub async fn put_mcp_server(&self, user: UserId, server: &McpServer) -> Result<()> {
        let McpServer { name, entry_json, secrets_json } = server;
        self.put_own(&SERVERS, user, name, entry_json, secrets_json.as_deref()).await
    }

    /// Removes a server; returns true if it existed. The record of its tools stays, since a server with this name may return
    /// with other tools.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn remove_mcp_server(&self, user: UserId, name: &str) -> Result<bool> {
        self.remove_own(&SERVERS, user, name).await
    }

    /// The tools that a server with this hash listed at a place.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn mcp_catalogue(
        &self,
        user: UserId,
        place: &str,
        server: &str,
        hash: &str,
    ) -> Result<Option<McpCatalogue>> {
        Ok(query_as(
            "SELECT place, server, hash, listing_json, listed_at_ms FROM mcp_catalogues
             WHERE user_id = $1 AND place = $2 AND server = $3 AND hash = $4",
        )
        .bind(user)
        .bind(place)
        .bind(server)
        .bind(hash)
        .fetch_optional(self.database.latest())
        .await?)
    }

    /// The tools that MCP servers listed at a place, and those of the servers that the Sandbridge server itself reaches; without a place, only the
    /// latter.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn mcp_catalogues(&self, user: UserId, place: Option<&str>) -> Result<Vec<McpCatalogue>> {
        Ok(query_as(
            "SELECT place, server, hash, listing_json, listed_at_ms FROM mcp_catalogues
             WHERE user_id = $1 AND place IN ('', $2) ORDER BY server, place",
        )
        .bind(user)
        .bind(place.unwrap_or_default())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// Replaces the tools that a server listed at a place, unless another caller has replaced them since they were read: `before` is the listing
    /// that was read. Returns false if the stored listing differs. Beyond 200 listings, deletes the oldest.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a listing beyond 2 MiB.
    pub async fn put_mcp_catalogue(
        &self,
        user: UserId,
        catalogue: &McpCatalogue,
        before: Option<&str>,
    ) -> Result<bool> {
        let McpCatalogue { place, server, hash, listing_json, listed_at_ms: _ } = catalogue;
        check_length("list of tools", listing_json, MCP_LISTING_MAX_BYTES)?;
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let known: Option<String> = query_scalar(
            "SELECT listing_json FROM mcp_catalogues
             WHERE user_id = $1 AND place = $2 AND server = $3 AND hash = $4",
        )
        .bind(user)
        .bind(place.as_str())
        .bind(server.as_str())
        .bind(hash.as_str())
        .fetch_optional(&mut transaction)
        .await?;
        if known.as_deref() != before {
            return Ok(false);
        }
        query(
            "INSERT INTO mcp_catalogues (user_id, place, server, hash, listing_json, listed_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (user_id, place, server, hash) DO UPDATE SET
                 listing_json = excluded.listing_json, listed_at_ms = excluded.listed_at_ms",
        )
        .bind(user)
        .bind(place.as_str())
        .bind(server.as_str())
        .bind(hash.as_str())
        .bind(listing_json.as_str())
        .bind(self.now_ms())
        .execute(&mut transaction)
        .await?;
        query(
            "DELETE FROM mcp_catalogues WHERE user_id = $1 AND listed_at_ms <
                 (SELECT listed_at_ms FROM mcp_catalogues WHERE user_id = $1
                  ORDER BY listed_at_ms DESC LIMIT 1 OFFSET $2)",
        )
        .bind(user)
        .bind(MCP_CATALOGUES_PER_USER - 1)
        .execute(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, Name, testing};

    async fn user(store: &Store, name: &str) -> UserId {
        store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id
    }

    fn server(name: &str, secrets: Option<&str>) -> McpServer {
        McpServer {
            name: name.to_owned(),
            entry_json: "{\"command\":\"uvx\"}".to_owned(),
            secrets_json: secrets.map(str::to_owned),
        }
    }

    #[tokio::test]
    async fn a_server_is_its_users_own_and_its_secrets_lie_sealed() {
        let store = testing::empty().await;
        let (ada, eve) = (user(&store, "ada").await, user(&store, "eve").await);
        store.put_mcp_server(ada, &server("time", None)).await.unwrap();
        store.put_mcp_server(ada, &server("time", Some("{\"TOKEN\":\"s3cret\"}"))).await.unwrap();
        store.put_mcp_server(ada, &server("git", None)).await.unwrap();
        let known = store.mcp_servers(ada).await.unwrap();
        assert_eq!(known, [server("git", None), server("time", Some("{\"TOKEN\":\"s3cret\"}"))]);
        assert!(!format!("{known:?}").contains("s3cret"));
        assert_eq!(store.mcp_servers(eve).await.unwrap(), []);
        let stored: String =
            query_scalar("SELECT secrets_sealed FROM mcp_servers WHERE secrets_sealed IS NOT NULL")
                .fetch_one(store.database.reader())
                .await
                .unwrap();
        assert!(!stored.contains("s3cret"));
        assert!(!store.remove_mcp_server(eve, "time").await.unwrap());
        assert!(store.remove_mcp_server(ada, "time").await.unwrap());
        assert!(!store.remove_mcp_server(ada, "time").await.unwrap());
        let long = "x".repeat(MCP_ENTRY_MAX_BYTES + 1);
        let refused = store.put_mcp_server(ada, &McpServer { entry_json: long, ..server("x", None) }).await;
        assert!(matches!(refused, Err(Error::Invalid { .. })));
    }

    #[tokio::test]
    async fn what_a_server_listed_is_of_one_place_and_changes_only_from_what_was_read() {
        let store = testing::empty().await;
        let ada = user(&store, "ada").await;
        let catalogue = |place: &str, listing: &str| McpCatalogue {
            place: place.to_owned(),
            server: "time".to_owned(),
            hash: "ab".to_owned(),
            listing_json: listing.to_owned(),
            listed_at_ms: 0,
        };
        assert!(store.put_mcp_catalogue(ada, &catalogue("laptop", "[1]"), None).await.unwrap());
        assert!(!store.put_mcp_catalogue(ada, &catalogue("laptop", "[2]"), None).await.unwrap());
        assert!(store.put_mcp_catalogue(ada, &catalogue("laptop", "[3]"), Some("[1]")).await.unwrap());
        assert!(store.put_mcp_catalogue(ada, &catalogue("", "[4]"), None).await.unwrap());
        let read = |place| {
            let store = &store;
            async move {
                let found = store.mcp_catalogues(ada, place).await.unwrap();
                found.into_iter().map(|found| found.listing_json).collect::<Vec<_>>()
            }
        };
        assert_eq!(read(Some("laptop")).await, ["[4]", "[3]"]);
        assert_eq!(read(Some("desk")).await, ["[4]"]);
        assert_eq!(read(None).await, ["[4]"]);
        let one = store.mcp_catalogue(ada, "laptop", "time", "ab").await.unwrap();
        assert_eq!(one.map(|found| found.listing_json).as_deref(), Some("[3]"));
        assert_eq!(store.mcp_catalogue(ada, "laptop", "time", "cd").await.unwrap(), None);
    }
}
