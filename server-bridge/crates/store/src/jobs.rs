//! A user's jobs: automations that a schedule or a webhook starts.

use sqlx::FromRow;

use crate::error::{Error, Result, check_length};
use crate::homes::at_home;
use crate::limits::{JOB_DOCUMENT_MAX_BYTES, JOB_NAME_MAX_BYTES, JOB_SECRET_MAX_BYTES, JOBS_PER_USER};
use crate::sql::{Scope, query, query_as, query_scalar};
use crate::{ChatId, Store, UserId};

/// The way in which a job's runs start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum JobKind {
    /// A schedule starts the runs.
    Schedule,
    /// A webhook starts the runs.
    Trigger,
}

impl JobKind {
    /// The kind's name in the database and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Trigger => "trigger",
        }
    }
}

crate::sql::bind_as_word!(JobKind);

/// A recorded job of a user.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Job {
    /// The id, which is never reused.
    pub id: i64,
    /// The user who owns the job.
    #[sqlx(rename = "user_id")]
    pub user: UserId,
    /// The job's name, unique among its user's jobs.
    pub name: String,
    /// The way in which its runs start.
    pub kind: JobKind,
    /// The job's definition, as JSON.
    pub document_json: String,
    /// The chat that its runs share; `None` before the first run, or if the chat was deleted.
    #[sqlx(rename = "chat_id")]
    pub chat: Option<ChatId>,
    /// The reason why it is paused, empty if its user paused it; `None` if it is not paused.
    pub paused: Option<String>,
    /// The next slot of a schedule, in Unix milliseconds.
    pub next_ms: Option<i64>,
    /// When it was created, in Unix milliseconds.
    pub created_at_ms: i64,
    /// When it was last changed, in Unix milliseconds.
    pub updated_at_ms: i64,
}

/// A job to add, or a new definition for an existing one.
#[derive(Clone, Copy, Debug)]
pub struct JobDraft<'a> {
    /// The job's name, up to 64 bytes.
    pub name: &'a str,
    /// The way in which its runs start.
    pub kind: JobKind,
    /// The job's definition, as JSON, up to 64 KiB.
    pub document_json: &'a str,
    /// The next slot of a schedule, in Unix milliseconds.
    pub next_ms: Option<i64>,
    /// The SHA-256 of the token in a trigger's address, in hex; `None` keeps the current one.
    pub token_sha256: Option<&'a str>,
    /// The secret that signs a trigger's deliveries; `None` keeps the current one.
    pub secret: Option<&'a str>,
}

macro_rules! job_columns {
    () => {
        "id, user_id, name, kind, document_json, chat_id, paused, next_ms, created_at_ms, updated_at_ms"
    };
}

/// The place to which a trigger's secret is bound when it is sealed.
pub(crate) fn place(user: UserId, name: &str) -> String {
    format!("job/{user}/{name}")
}

impl Store {
    /// A user's jobs, by name.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn jobs(&self, user: UserId) -> Result<Vec<Job>> {
        let jobs =
            query_as(concat!("SELECT ", job_columns!(), " FROM jobs WHERE user_id = $1 ORDER BY name"));
        Ok(jobs.bind(user).fetch_all(self.database.reader()).await?)
    }

    /// A user's job with this name.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn job(&self, user: UserId, name: &str) -> Result<Job> {
        query_as(concat!("SELECT ", job_columns!(), " FROM jobs WHERE user_id = $1 AND name = $2"))
            .bind(user)
            .bind(name)
            .fetch_optional(self.database.reader())
            .await?
            .ok_or_else(|| Error::not_found("automation", name))
    }

    /// The trigger whose address has the token with this hash.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn job_by_token(&self, token_sha256: &str) -> Result<Option<Job>> {
        Ok(query_as(concat!("SELECT ", job_columns!(), " FROM jobs WHERE token_sha256 = $1"))
            .bind(token_sha256)
            .fetch_optional(self.database.reader())
            .await?)
    }

    /// The secret that signs a trigger's deliveries; `None` if it has none, or if the key that sealed it was lost.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn job_secret(&self, job: &Job) -> Result<Option<String>> {
        let sealed: Option<Option<String>> = query_scalar("SELECT secret_sealed FROM jobs WHERE id = $1")
            .bind(job.id)
            .fetch_optional(self.database.reader())
            .await?;
        let open = |sealed: String| self.sealer()?.open(&place(job.user, &job.name), &sealed);
        Ok(sealed.flatten().and_then(|sealed| open(sealed).ok()))
    }

    /// Adds a job, or replaces the definition of the one with this name, which also resumes it. An existing job keeps its chat and its runs.
    ///
    /// # Errors
    /// [`Error::Invalid`] beyond 50 jobs, 64 bytes of name, 64 KiB of definition, 1 KiB of secret, and if a job of the other kind has this
    /// name; [`Error::Locked`] if a secret cannot be sealed.
    pub async fn put_job(&self, user: UserId, draft: JobDraft<'_>) -> Result<Job> {
        let JobDraft { name, kind, document_json, next_ms, token_sha256, secret } = draft;
        check_length("name", name, JOB_NAME_MAX_BYTES)?;
        check_length("automation", document_json, JOB_DOCUMENT_MAX_BYTES)?;
        check_length("secret", secret.unwrap_or_default(), JOB_SECRET_MAX_BYTES)?;
        let sealed = secret.map(|secret| self.sealer()?.seal(&place(user, name), secret)).transpose()?;
        let invalid = |rule: String| Error::Invalid { what: "automation", rule };
        let mut transaction = self.database.write(Scope::User(user)).await?;
        let others: i64 = query_scalar("SELECT COUNT(*) FROM jobs WHERE user_id = $1 AND name <> $2")
            .bind(user)
            .bind(name)
            .fetch_one(&mut transaction)
            .await?;
        if others >= JOBS_PER_USER {
            return Err(invalid(format!("exceeds the limit: you already have {others}; remove one first")));
        }
        let job: Option<Job> = query_as(concat!(
            "INSERT INTO jobs (user_id, name, kind, document_json, next_ms, token_sha256, secret_sealed, created_at_ms, updated_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
             ON CONFLICT (user_id, name) DO UPDATE SET document_json = excluded.document_json, next_ms = excluded.next_ms,
                token_sha256 = COALESCE(excluded.token_sha256, jobs.token_sha256),
                secret_sealed = COALESCE(excluded.secret_sealed, jobs.secret_sealed),
                paused = NULL, updated_at_ms = excluded.updated_at_ms
                WHERE jobs.kind = excluded.kind
             RETURNING ",
            job_columns!()
        ))
        .bind(user)
        .bind(name)
        .bind(kind)
        .bind(document_json)
        .bind(next_ms)
        .bind(token_sha256)
        .bind(sealed)
        .bind(self.now_ms())
        .fetch_optional(&mut transaction)
        .await?;
        let job = job.ok_or_else(|| {
            invalid(
                "has the same name as an automation of the other kind (schedule or trigger); choose another name"
                    .to_owned(),
            )
        })?;
        transaction.commit().await?;
        Ok(job)
    }

    /// Removes a job with the record of its runs; its chats stay. Returns true if it existed.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn remove_job(&self, user: UserId, name: &str) -> Result<bool> {
        let gone = query("DELETE FROM jobs WHERE user_id = $1 AND name = $2")
            .bind(user)
            .bind(name)
            .execute(self.database.writer(Scope::User(user)))
            .await?;
        Ok(gone.rows_affected() == 1)
    }

    /// Pauses a job for the reason `why`, which is empty if its user pauses it; `None` resumes it with this next slot.
    ///
    /// # Errors
    /// [`Error::NotFound`], also for another user's.
    pub async fn pause_job(
        &self,
        user: UserId,
        name: &str,
        why: Option<&str>,
        next_ms: Option<i64>,
    ) -> Result<Job> {
        query_as(concat!(
            "UPDATE jobs SET paused = $1, next_ms = $2, updated_at_ms = $3 WHERE user_id = $4 AND name = $5 RETURNING ",
            job_columns!()
        ))
        .bind(why)
        .bind(next_ms)
        .bind(self.now_ms())
        .bind(user)
        .bind(name)
        .fetch_optional(self.database.writer(Scope::User(user)))
        .await?
        .ok_or_else(|| Error::not_found("automation", name))
    }

    /// The jobs of all users whose next slot is due, the oldest slot first, at most `limit`.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn due_jobs(&self, now_ms: i64, limit: i64) -> Result<Vec<Job>> {
        Ok(query_as(concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE next_ms <= $1 AND ",
            at_home!("jobs.user_id", "$3"),
            " ORDER BY next_ms, id LIMIT $2"
        ))
        .bind(now_ms)
        .bind(limit)
        .bind(self.database.node_id())
        .fetch_all(self.database.reader())
        .await?)
    }

    /// The earliest next slot of any job, in Unix milliseconds.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn next_job_ms(&self) -> Result<Option<i64>> {
        let next = query_scalar(concat!(
            "SELECT MIN(next_ms) FROM jobs WHERE next_ms IS NOT NULL AND ",
            at_home!("jobs.user_id", "$1")
        ));
        Ok(next.bind(self.database.node_id()).fetch_one(self.database.reader()).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Name, testing};

    async fn user(store: &Store, name: &str) -> UserId {
        store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap().id
    }

    fn draft(name: &str) -> JobDraft<'_> {
        JobDraft {
            name,
            kind: JobKind::Schedule,
            document_json: "{}",
            next_ms: Some(1000),
            token_sha256: None,
            secret: None,
        }
    }

    #[tokio::test]
    async fn a_job_is_its_users_own_and_a_new_definition_keeps_its_secret() {
        let store = testing::empty().await;
        let (ada, eve) = (user(&store, "ada").await, user(&store, "eve").await);
        let trigger = JobDraft {
            kind: JobKind::Trigger,
            next_ms: None,
            token_sha256: Some("ab"),
            secret: Some("s3cret"),
            ..draft("deploy")
        };
        let first = store.put_job(ada, trigger).await.unwrap();
        let again = JobDraft { token_sha256: None, secret: None, document_json: "{\"a\":1}", ..trigger };
        let second = store.put_job(ada, again).await.unwrap();
        assert_eq!((first.id, second.document_json.as_str()), (second.id, "{\"a\":1}"));
        assert_eq!(store.job_secret(&second).await.unwrap().as_deref(), Some("s3cret"));
        assert_eq!(store.job_by_token("ab").await.unwrap().unwrap().id, first.id);
        assert!(matches!(store.job(eve, "deploy").await, Err(Error::NotFound { .. })));
        assert!(!store.remove_job(eve, "deploy").await.unwrap());
        assert!(matches!(store.put_job(ada, draft("deploy")).await, Err(Error::Invalid { .. })));
        for place in 1..JOBS_PER_USER {
            store.put_job(ada, draft(&format!("job {place}"))).await.unwrap();
        }
        assert!(matches!(store.put_job(ada, draft("one more")).await, Err(Error::Invalid { .. })));
        store.put_job(ada, draft("job 1")).await.unwrap();
        assert!(store.remove_job(ada, "deploy").await.unwrap());
        assert!(store.job_by_token("ab").await.unwrap().is_none());
    }
}
