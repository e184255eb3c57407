//! The database of the nodes: a real PostgreSQL whose clock the test advances, and which records every commit that a node makes for a user whose home
//! is elsewhere.

use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection, Row};
use store::{Name, PostgresUrl, Store, UserId};

use crate::clockwork::Clockwork;

/// The migrations of the schema.
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/migrations-postgres");
/// The PostgreSQL setting with which a process identifies itself.
const SETTING: &str = "sandbridge.process";

/// Deferred triggers that record commits for a user by a node that is not the user's home.
///
/// They run just before the commit. The lock of the user's changes is held until after it, and each claim takes that lock, so the home
/// cannot change in between.
const WATCH: &str = "
CREATE TABLE processes (number BIGINT PRIMARY KEY, node_id TEXT NOT NULL);
CREATE TABLE strays (what TEXT NOT NULL);
CREATE FUNCTION note_stray(what TEXT, owner BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO strays
    SELECT what || ' of user ' || owner || ' by process ' || p.number || ', whose node is not the home'
    FROM processes p
    WHERE p.number = NULLIF(current_setting('sandbridge.process', TRUE), '')::BIGINT
      AND NOT EXISTS (SELECT 1 FROM homes h WHERE h.user_id = owner AND h.node_id = p.node_id)
      -- A node that leaves may have begun the change before: no other node can claim the home until the change is made.
      AND NOT EXISTS (SELECT 1 FROM homes h JOIN nodes n ON n.id = p.node_id
                      WHERE h.user_id = owner AND h.node_id IS NULL AND n.state = 'gone');
END $$;
CREATE FUNCTION watch_owned() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_stray(TG_OP || ' in ' || TG_TABLE_NAME, NEW.user_id);
    RETURN NULL;
END $$;
CREATE FUNCTION watch_messages() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_stray(TG_OP || ' in messages', c.user_id) FROM chats c WHERE c.id = NEW.chat_id;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER watch_execs AFTER INSERT OR UPDATE ON execs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION watch_owned();
CREATE CONSTRAINT TRIGGER watch_epochs AFTER UPDATE OF epoch ON runners DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.epoch <> NEW.epoch) EXECUTE FUNCTION watch_owned();
CREATE CONSTRAINT TRIGGER watch_messages AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION watch_messages();
";

/// Plans each statement once per connection, because planning would take most of the database's time.
const SETTINGS: &str = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database()); END $$";

/// Removes the rows that the last schedule left.
const CLEAR: &str = "
DELETE FROM execs; DELETE FROM messages; DELETE FROM chats; DELETE FROM runner_tokens; DELETE FROM runners; DELETE FROM homes;
DELETE FROM nodes; DELETE FROM audit; DELETE FROM processes; DELETE FROM strays;
";

/// The database is vacuumed after this many schedules.
const VACUUM_EVERY: u64 = 50;

pub(crate) struct Database {
    url: String,
    connection: PgConnection,
    /// A store that belongs to no node, so it can see and change everything.
    pub(crate) store: Store,
    cleared: u64,
}

/// An exec on record.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) status: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) bytes: [u64; 2],
    pub(crate) runner: Option<String>,
    /// The outcomes recorded in the audit entries of the exec.
    pub(crate) entries: Vec<String>,
}

impl Database {
    /// Creates a database with these users.
    pub(crate) fn new(clockwork: &Clockwork, people: &[&str]) -> Self {
        let url = testkit::postgres::database_of(SCHEMA, |url| {
            clockwork.finish(async { Store::connect(&url).await.unwrap().close().await });
        });
        clockwork.finish(async {
            let store = Store::at_as_node(&PostgresUrl::parse(&url).unwrap()).await.unwrap();
            let mut connection = PgConnection::connect(&url).await.unwrap();
            connection.execute(WATCH).await.unwrap();
            connection.execute(SETTINGS).await.unwrap();
            for person in people {
                // Inserted directly: hashing each password would take a tenth of a second.
                sqlx::query(
                    "INSERT INTO users (name, password_hash, admin, created_at_ms) VALUES ($1, '', FALSE, 0)",
                )
                .bind(person)
                .execute(&mut connection)
                .await
                .unwrap();
            }
            Self { url, connection, store, cleared: 0 }
        })
    }

    /// Returns the database URL for the process with this number.
    pub(crate) fn url_of(&self, process: u64) -> PostgresUrl {
        PostgresUrl::parse(&format!("{}&options[{SETTING}]={process}", self.url)).unwrap()
    }

    pub(crate) async fn user(&self, name: &str) -> UserId {
        Name::parse(name).unwrap();
        self.store.user_by_name(name).await.unwrap().unwrap().id
    }

    /// Records that the process with this number runs as this node.
    pub(crate) async fn introduce(&mut self, process: u64, node: &str) {
        let introduce = "INSERT INTO processes (number, node_id) VALUES ($1, $2) ON CONFLICT (number) DO UPDATE SET node_id = $2";
        sqlx::query(introduce).bind(process as i64).bind(node).execute(&mut self.connection).await.unwrap();
    }

    /// Advances the database's clock, by which leases expire.
    pub(crate) async fn advance(&mut self, time: Duration) {
        sqlx::query("UPDATE nodes SET lease_until_ms = lease_until_ms - $1")
            .bind(time.as_millis() as i64)
            .execute(&mut self.connection)
            .await
            .unwrap();
    }

    /// Expires the lease of the node at a URL, as if it had stopped renewing it.
    pub(crate) async fn end_lease(&mut self, url: &str) {
        sqlx::query("UPDATE nodes SET lease_until_ms = 0 WHERE url = $1")
            .bind(url)
            .execute(&mut self.connection)
            .await
            .unwrap();
    }

    /// Returns the recorded commits of nodes for users whose home they were not.
    pub(crate) async fn strays(&mut self) -> Vec<String> {
        sqlx::query_scalar("SELECT what FROM strays").fetch_all(&mut self.connection).await.unwrap()
    }

    /// Returns true if any exec has no end on record.
    pub(crate) async fn is_anything_running(&mut self) -> bool {
        let running = "SELECT EXISTS (SELECT 1 FROM execs WHERE status = 'running')";
        sqlx::query_scalar(running).fetch_one(&mut self.connection).await.unwrap()
    }

    /// Reads an exec; `None` if it is not on record. The exec's audit entries are found by its command.
    pub(crate) async fn recorded(&mut self, id: &str) -> Option<Recorded> {
        let row = sqlx::query(
            "SELECT status, exit_code, stdout_bytes, stderr_bytes, runner,
               ARRAY(SELECT outcome FROM audit a WHERE a.action IN ('exec', 'exec.corrected') AND a.target = e.command) AS entries
             FROM execs e WHERE exec_id = $1",
        )
        .bind(id)
        .fetch_optional(&mut self.connection)
        .await
        .unwrap()?;
        let bytes = ["stdout_bytes", "stderr_bytes"].map(|name| row.get::<i64, _>(name) as u64);
        Some(Recorded {
            status: row.get("status"),
            exit_code: row.get("exit_code"),
            bytes,
            runner: row.get("runner"),
            entries: row.get("entries"),
        })
    }

    /// Returns how many times users' homes have changed.
    pub(crate) async fn changes_of_homes(&mut self) -> u64 {
        let changes = "SELECT COALESCE(SUM(fence), 0)::BIGINT FROM homes";
        let changes: i64 = sqlx::query_scalar(changes).fetch_one(&mut self.connection).await.unwrap();
        changes as u64
    }

    /// Describes the nodes, homes and execs, for the output of a failure.
    pub(crate) async fn describe(&mut self) -> String {
        let lines = "SELECT n::TEXT FROM nodes n UNION ALL SELECT h::TEXT FROM homes h UNION ALL SELECT e::TEXT FROM execs e";
        let lines: Vec<String> = sqlx::query_scalar(lines).fetch_all(&mut self.connection).await.unwrap();
        lines.join("\n")
    }

    /// Prepares the next schedule.
    pub(crate) async fn clear(&mut self) {
        self.connection.execute(CLEAR).await.unwrap();
        self.cleared += 1;
        if self.cleared.is_multiple_of(VACUUM_EVERY) {
            self.connection.execute("VACUUM").await.unwrap();
        }
    }
}
