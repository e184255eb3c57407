//! Homes: a user's home is the one node that works for the user. The home's fence number increases each time the node changes.
//!
//! A claim takes the lock of the user's changes, as each change of a node does. So it either waits for a change by the earlier home to end, or that
//! home sees the claim. Only the database's clock decides when a node is dead.

use sqlx::FromRow;

use crate::error::{Error, Result};
use crate::membership::NodeId;
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{Store, UserId};

/// The result of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// This node is the user's home, with this fence number.
    Home(i64),
    /// A live node at this URL is the user's home.
    Elsewhere(String),
}

/// The home of a user, with the state of its node.
#[derive(FromRow)]
struct Home {
    node_id: Option<String>,
    fence: i64,
    /// The URL of the node, if the node is live.
    live_url: Option<String>,
}

/// A condition that is true if the server works alone, or if the node in the parameter `$node` is the home of the user in the column `$user`. Work
/// that was not begun by a request is done at the home of its user.
macro_rules! at_home {
    ($user:literal, $node:literal) => {
        concat!(
            "(CAST(",
            $node,
            " AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM homes at_home WHERE at_home.user_id = ",
            $user,
            " AND at_home.node_id = ",
            $node,
            "))"
        )
    };
}
pub(crate) use at_home;

/// The users with unfinished or due work; the argument is the time now.
macro_rules! work {
    ($now:literal) => {
        concat!(
            "SELECT c.user_id FROM turns t JOIN chats c ON c.id = t.chat_id WHERE t.status IN ('queued', 'running')
             UNION SELECT e.user_id FROM execs e WHERE e.status = 'running'
             UNION SELECT f.user_id FROM chats f WHERE f.is_copying
             UNION SELECT d.user_id FROM jobs d WHERE d.next_ms <= ",
            $now,
            " UNION SELECT d.user_id FROM job_runs r JOIN jobs d ON d.id = r.job_id WHERE r.state = 'due'
             UNION SELECT a.user_id FROM channel_accounts a WHERE a.is_enabled
             UNION SELECT p.user_id FROM group_calls g JOIN group_people p ON p.group_id = g.group_id WHERE g.ended_at_ms IS NULL
             UNION SELECT p.user_id FROM group_runs r JOIN group_people p ON p.group_id = r.group_id WHERE r.ended_at_ms IS NULL
             UNION SELECT i.user_id FROM index_jobs j JOIN collections i ON i.id = j.collection_id"
        )
    };
}

/// Pairs of users who share something that one node works on: a group, or an account on a messenger and a link with it. Pairs may repeat, so that
/// the database looks up one user's pairs by index instead of computing all of them.
macro_rules! bonds {
    () => {
        "bonds (one, other) AS NOT MATERIALIZED (
           SELECT p.user_id, q.user_id FROM group_people p JOIN group_people q ON q.group_id = p.group_id AND q.user_id <> p.user_id
           UNION ALL SELECT l.user_id, a.user_id FROM channel_links l JOIN channel_accounts a ON a.id = l.account_id
             WHERE l.user_id <> a.user_id
           UNION ALL SELECT a.user_id, l.user_id FROM channel_links l JOIN channel_accounts a ON a.id = l.account_id
             WHERE l.user_id <> a.user_id)"
    };
}

impl Store {
    /// The user whose home is shared by everyone who is connected with this user by groups and messengers: the one with the lowest id. A user who
    /// shares nothing is their own leader.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn home_leader(&self, user: UserId) -> Result<UserId> {
        let leader: Option<UserId> = query_scalar(concat!(
            "WITH RECURSIVE ",
            bonds!(),
            ", bound (id) AS (SELECT CAST($1 AS BIGINT) UNION SELECT b.other FROM bound JOIN bonds b ON b.one = bound.id)
             SELECT MIN(id) FROM bound"
        ))
        .bind(user)
        .fetch_one(self.database.latest())
        .await?;
        Ok(leader.unwrap_or(user))
    }

    /// The users of a node who share something with a user of another live node.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn torn_homes(&self, node: &NodeId) -> Result<Vec<UserId>> {
        let mut transaction = self.database.snapshot().await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        Ok(query_scalar(concat!(
            "WITH ",
            bonds!(),
            " SELECT DISTINCT h.user_id FROM homes h JOIN bonds b ON b.one = h.user_id JOIN homes o ON o.user_id = b.other
                JOIN nodes n ON n.id = o.node_id
              WHERE h.node_id = $1 AND o.node_id <> $1 AND n.state <> 'gone' AND n.lease_until_ms > $2 ORDER BY h.user_id"
        ))
        .bind(node.as_str())
        .bind(now_ms)
        .fetch_all(&mut transaction)
        .await?)
    }

    /// Makes a node the home of a user who has no home, or whose node is dead.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who was removed, [`Error::Fenced`] if the node itself is considered dead, [`Error::Database`].
    pub async fn claim_home(&self, user: UserId, node: &NodeId) -> Result<Claim> {
        let mut transaction = self.database.unfenced().write(Scope::User(user)).await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        let is_up: Option<(i64,)> =
            query_as("SELECT started_at_ms FROM nodes WHERE id = $1 AND state <> 'gone'")
                .bind(node.as_str())
                .fetch_optional(&mut transaction)
                .await?;
        if is_up.is_none() {
            return Err(Error::Fenced);
        }
        let home: Option<Home> = query_as(
            "SELECT h.node_id, h.fence, n.url AS live_url FROM homes h
             LEFT JOIN nodes n ON n.id = h.node_id AND n.state <> 'gone' AND n.lease_until_ms > $1 WHERE h.user_id = $2",
        )
        .bind(now_ms)
        .bind(user)
        .fetch_optional(&mut transaction)
        .await?;
        let fence = match home {
            Some(Home { node_id: Some(id), fence, .. }) if id == node.as_str() => {
                return Ok(Claim::Home(fence));
            }
            Some(Home { live_url: Some(url), .. }) => return Ok(Claim::Elsewhere(url)),
            Some(Home { node_id, fence, .. }) => {
                // From this, the dead node learns that it has to join again.
                query("UPDATE nodes SET state = 'gone' WHERE id = $1")
                    .bind(node_id)
                    .execute(&mut transaction)
                    .await?;
                fence + 1
            }
            None => 1,
        };
        let claimed = query(
            "INSERT INTO homes (user_id, node_id, fence, claimed_at_ms) SELECT id, $1, $2, $3 FROM users WHERE id = $4
             ON CONFLICT (user_id) DO UPDATE SET node_id = excluded.node_id, fence = excluded.fence,
               claimed_at_ms = excluded.claimed_at_ms",
        )
        .bind(node.as_str())
        .bind(fence)
        .bind(now_ms)
        .bind(user)
        .execute(&mut transaction)
        .await?;
        if claimed.rows_affected() == 0 {
            return Err(Error::not_found("user", user));
        }
        transaction.commit().await?;
        Ok(Claim::Home(fence))
    }

    /// The URL of the live node that is a user's home; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn home_url(&self, user: UserId) -> Result<Option<String>> {
        let mut transaction = self.database.snapshot().await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        let found: Option<(String,)> = query_as(
            "SELECT n.url FROM homes h JOIN nodes n ON n.id = h.node_id
             WHERE h.user_id = $1 AND n.state <> 'gone' AND n.lease_until_ms > $2",
        )
        .bind(user)
        .bind(now_ms)
        .fetch_optional(&mut transaction)
        .await?;
        Ok(found.map(|(url,)| url))
    }

    /// The users whose home is a node, with their fences.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn homes_of(&self, node: &NodeId) -> Result<Vec<(UserId, i64)>> {
        Ok(query_as("SELECT user_id, fence FROM homes WHERE node_id = $1 ORDER BY user_id")
            .bind(node.as_str())
            .fetch_all(self.database.latest())
            .await?)
    }

    /// Releases a user from the node that is their home; returns true if `node` was their home.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn release_home(&self, user: UserId, node: &NodeId) -> Result<bool> {
        let released = query("UPDATE homes SET node_id = NULL WHERE user_id = $1 AND node_id = $2")
            .bind(user)
            .bind(node.as_str())
            .execute(self.database.unfenced().writer(Scope::User(user)))
            .await?;
        Ok(released.rows_affected() == 1)
    }

    /// Moves a user from one node to another one that is live and not draining; returns the new fence, or `None` if `from` is not the
    /// user's home or `to` accepts no users.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn move_home(&self, user: UserId, from: &NodeId, to: &NodeId) -> Result<Option<i64>> {
        let mut transaction = self.database.unfenced().write(Scope::User(user)).await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        let moved: Option<(i64,)> = query_as(
            "UPDATE homes SET node_id = $1, fence = fence + 1, claimed_at_ms = $2 WHERE user_id = $3 AND node_id = $4
               AND EXISTS (SELECT 1 FROM nodes n WHERE n.id = $1 AND n.state = 'up' AND n.lease_until_ms > $2)
             RETURNING fence",
        )
        .bind(to.as_str())
        .bind(now_ms)
        .bind(user)
        .bind(from.as_str())
        .fetch_optional(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(moved.map(|(fence,)| fence))
    }

    /// Claims, for a node, some of the users with unfinished or due work who have no home or whose node is dead; returns them with their fences.
    /// Skips users that another node is claiming, and the node's own users, whose lease may be renewed late. Only on PostgreSQL.
    ///
    /// # Errors
    /// [`Error::Fenced`] if the node itself is considered dead, [`Error::Database`].
    pub async fn sweep_homes(&self, node: &NodeId, limit: i64) -> Result<Vec<(UserId, i64)>> {
        let mut transaction = self.database.unfenced().write(Scope::Alone).await?;
        let now_ms = self.database.now_ms(&self.clock, &mut transaction).await?;
        // Users who never had a home get one without a node.
        query(concat!(
            "WITH work AS (",
            work!("$1"),
            ") INSERT INTO homes (user_id, node_id, fence, claimed_at_ms)
             SELECT w.user_id, NULL, 0, $1 FROM work w WHERE NOT EXISTS (SELECT 1 FROM homes h WHERE h.user_id = w.user_id)
             ON CONFLICT (user_id) DO NOTHING"
        ))
        .bind(now_ms)
        .execute(&mut transaction)
        .await?;
        let claimed: Vec<(UserId, i64)> = query_as(concat!(
            "WITH work AS (",
            work!("$1"),
            "), free AS MATERIALIZED (
               SELECT h.user_id, h.node_id FROM homes h JOIN work w ON w.user_id = h.user_id
               WHERE h.node_id IS DISTINCT FROM $3
                 AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.id = h.node_id AND n.state <> 'gone' AND n.lease_until_ms > $1)
               ORDER BY h.user_id LIMIT $2 FOR UPDATE OF h SKIP LOCKED),
             dead AS (UPDATE nodes SET state = 'gone' WHERE state <> 'gone' AND id IN (SELECT node_id FROM free))
             UPDATE homes SET node_id = $3, fence = homes.fence + 1, claimed_at_ms = $1 FROM free
             WHERE homes.user_id = free.user_id AND pg_try_advisory_xact_lock(free.user_id)
               AND EXISTS (SELECT 1 FROM nodes me WHERE me.id = $3 AND me.state = 'up')
             RETURNING homes.user_id, homes.fence"
        ))
        .bind(now_ms)
        .bind(limit)
        .bind(node.as_str())
        .fetch_all(&mut transaction)
        .await?;
        transaction.commit().await?;
        Ok(claimed)
    }
}
