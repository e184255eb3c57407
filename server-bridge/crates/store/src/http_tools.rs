//! A user's own HTTP tools.

use crate::error::Result;
use crate::limits::{HTTP_TOOL_MAX_BYTES, HTTP_TOOL_NAME_MAX_BYTES, HTTP_TOOLS_PER_USER};
use crate::own::{Own, OwnTable};
use crate::{Store, UserId};

/// A user's own HTTP tool.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpTool {
    /// The tool's name, unique among its user's tools.
    pub name: String,
    /// The tool's document, as JSON.
    pub document_json: String,
    /// The tool's secrets, each with the address it is bound to, as JSON; `None` if it has none, or if the key that sealed them was lost.
    pub secrets_json: Option<String>,
}

impl std::fmt::Debug for HttpTool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "HttpTool({}, …)", self.name)
    }
}

/// The statements and limits for HTTP tools.
const TOOLS: OwnTable = OwnTable {
    what: "HTTP tool",
    list: "SELECT name, document_json, secrets_sealed FROM http_tools WHERE user_id = $1 ORDER BY name",
    others: "SELECT COUNT(*) FROM http_tools WHERE user_id = $1 AND name <> $2",
    put: "INSERT INTO http_tools (user_id, name, document_json, secrets_sealed, updated_at_ms)
          VALUES ($1, $2, $3, $4, $5)
          ON CONFLICT (user_id, name) DO UPDATE SET document_json = excluded.document_json,
              secrets_sealed = excluded.secrets_sealed, updated_at_ms = excluded.updated_at_ms",
    remove: "DELETE FROM http_tools WHERE user_id = $1 AND name = $2",
    place,
    most: HTTP_TOOLS_PER_USER,
    name_max_bytes: HTTP_TOOL_NAME_MAX_BYTES,
    max_bytes: HTTP_TOOL_MAX_BYTES,
};

/// The place to which a tool's secrets are bound when they are sealed.
pub(crate) fn place(user: UserId, name: &str) -> String {
    format!("http-tool/{user}/{name}")
}

impl Store {
    /// A user's own tools, by name.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn http_tools(&self, user: UserId) -> Result<Vec<HttpTool>> {
        let tool = |own: Own| HttpTool {
            name: own.name,
            document_json: own.document_json,
            secrets_json: own.secrets_json,
        };
        Ok(self.own(&TOOLS, user).await?.into_iter().map(tool).collect())
    }

    /// Adds a tool, or replaces the one with this name.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) beyond 500 tools, 256 KiB of document or of secrets;
    /// [`Error::Locked`](crate::Error::Locked).
    pub async fn put_http_tool(&self, user: UserId, tool: &HttpTool) -> Result<()> {
        let HttpTool { name, document_json, secrets_json } = tool;
        self.put_own(&TOOLS, user, name, document_json, secrets_json.as_deref()).await
    }

    /// Removes a tool; returns true if it existed.
    ///
    /// # Errors
    /// [`Error::Database`](crate::Error::Database).
    pub async fn remove_http_tool(&self, user: UserId, name: &str) -> Result<bool> {
        self.remove_own(&TOOLS, user, name).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::query_scalar;
    use crate::{Error, Name, testing};

    fn tool(name: &str, secrets: Option<&str>) -> HttpTool {
        HttpTool {
            name: name.to_owned(),
            document_json: "{\"name\":\"x\"}".to_owned(),
            secrets_json: secrets.map(str::to_owned),
        }
    }

    #[tokio::test]
    async fn a_tool_is_its_users_own_and_its_secrets_lie_sealed() {
        let store = testing::empty().await;
        let mut users = Vec::new();
        for name in ["ada", "eve"] {
            users.push(store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id);
        }
        let [ada, eve] = users[..] else { panic!() };
        store.put_http_tool(ada, &tool("weather", None)).await.unwrap();
        store.put_http_tool(ada, &tool("weather", Some("{\"KEY\":\"s3cret\"}"))).await.unwrap();
        store.put_http_tool(ada, &tool("news", None)).await.unwrap();
        let known = store.http_tools(ada).await.unwrap();
        assert_eq!(known, [tool("news", None), tool("weather", Some("{\"KEY\":\"s3cret\"}"))]);
        assert!(!format!("{known:?}").contains("s3cret"));
        assert_eq!(store.http_tools(eve).await.unwrap(), []);
        let stored: String =
            query_scalar("SELECT secrets_sealed FROM http_tools WHERE secrets_sealed IS NOT NULL")
                .fetch_one(store.database.reader())
                .await
                .unwrap();
        assert!(!stored.contains("s3cret"));
        assert!(!store.remove_http_tool(eve, "weather").await.unwrap());
        assert!(store.remove_http_tool(ada, "weather").await.unwrap());
        let long = HttpTool { document_json: "x".repeat(HTTP_TOOL_MAX_BYTES + 1), ..tool("x", None) };
        assert!(matches!(store.put_http_tool(ada, &long).await, Err(Error::Invalid { .. })));
    }
}
