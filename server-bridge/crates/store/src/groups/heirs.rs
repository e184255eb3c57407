//! Passes on a group whose last owner is removed from the server.

use sqlx::FromRow;

use super::entries::NewEntry;
use super::members::touch;
use crate::UserId;
use crate::error::Result;
use crate::sql::{Transaction, query, query_as};

/// A group whose only owner is the user to remove.
#[derive(FromRow)]
struct Owned {
    id: i64,
    /// The owner's name.
    owner: String,
}

/// The next owner of the group.
#[derive(FromRow)]
struct Heir {
    user_id: UserId,
    name: String,
}

/// Gives each group that only this user owns another owner, within the change that removes the user: the person with the most access, and among
/// equals the one who joined first. The log reports it. A group without other people is deleted.
pub(crate) async fn pass_on(transaction: &mut Transaction, user: UserId, now_ms: i64) -> Result<()> {
    let owned: Vec<Owned> = query_as(
        "SELECT p.group_id AS id, u.name AS owner FROM group_people p JOIN users u ON u.id = p.user_id
         WHERE p.user_id = $1 AND p.access = 'owner' AND NOT EXISTS (SELECT 1 FROM group_people o
            WHERE o.group_id = p.group_id AND o.user_id <> $1 AND o.access = 'owner')
         ORDER BY p.group_id",
    )
    .bind(user)
    .fetch_all(&mut *transaction)
    .await?;
    for Owned { id, owner } in owned {
        let heir: Option<Heir> = query_as(
            "SELECT p.user_id, u.name FROM group_people p JOIN users u ON u.id = p.user_id
             WHERE p.group_id = $1 AND p.user_id <> $2
             ORDER BY CASE p.access WHEN 'editor' THEN 0 WHEN 'member' THEN 1 ELSE 2 END, p.created_at_ms, p.user_id LIMIT 1",
        )
        .bind(id)
        .bind(user)
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(heir) = heir else {
            query("DELETE FROM groups WHERE id = $1").bind(id).execute(&mut *transaction).await?;
            continue;
        };
        query("UPDATE group_people SET access = 'owner' WHERE group_id = $1 AND user_id = $2")
            .bind(id)
            .bind(heir.user_id)
            .execute(&mut *transaction)
            .await?;
        let text = format!("{owner} was removed from this server. {} owns the group now.", heir.name);
        NewEntry::of_server(id, &text).insert(transaction, None, now_ms).await?;
        touch(transaction, id, now_ms).await?;
    }
    Ok(())
}
