//! A chat's tasks: commands of its model that go on by themselves.

use std::sync::Arc;
use std::time::Duration;

use sandbox::Sandbox;
use store::{ChatId, Exec, ExecStatus, User};
use tokio::time::Instant;

use crate::limits::{TASK_LIFETIME_S, TASKS_LISTED};
use crate::place::{sandbox_user, wish_for};
use crate::service::Inner;
use crate::tool::Failure;
use crate::{ChatService, Result};

impl ChatService {
    /// Deletes a user's chat. What runs in it is told to stop, its tasks too: where their machine is away, as soon as it is
    /// back.
    ///
    /// # Errors
    /// [`crate::Error::Store`] for a chat that is gone or another user's.
    pub async fn delete(&self, user: &User, chat: &ChatId) -> Result<()> {
        let _tracked = self.0.tasks.token();
        let store = &self.0.store;
        store.chat(user.id, chat).await?;
        self.0.stop_all(user.id, chat);
        // On record first: where this server stops amid it, its next life goes on.
        let tasks = store.abandon_chat_tasks(user.id, chat).await?;
        store.delete_chat(user.id, chat).await?;
        // What was posted in between finds no chat any more; it need not come to that.
        self.0.stop_all(user.id, chat);
        for task in tasks {
            end_abandoned(&self.0, user, task);
        }
        Ok(())
    }
}

/// The tasks of a chat, the last started first.
pub(crate) async fn list(service: &Inner, user: &User, chat: &ChatId) -> store::Result<Vec<Exec>> {
    service.store.chat_tasks(user.id, chat, TASKS_LISTED).await
}

/// A task of a chat; `None` where it has none of this id.
pub(crate) async fn find(
    service: &Inner,
    user: &User,
    chat: &ChatId,
    id: &str,
) -> store::Result<Option<Exec>> {
    let Ok(id) = store::ExecId::parse(id) else { return Ok(None) };
    match service.store.exec(user.id, &id).await {
        Ok(task) => Ok((task.chat.as_ref() == Some(chat)).then_some(task)),
        Err(store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How a task stands, on one line.
pub(crate) fn line(task: &Exec) -> String {
    let end = match (task.status, task.exit_code, task.signal) {
        (ExecStatus::Running, ..) => "running".to_owned(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(signal)) => format!("killed by signal {signal}"),
        (status, ..) => status.as_str().to_owned(),
    };
    format!("{} {end}: {}", task.exec_id, task.command)
}

/// Where a task runs, whatever is chosen by now.
pub(crate) async fn place(service: &Inner, user: &User, task: &Exec) -> Result<Sandbox, Failure> {
    let wish = wish_for(&service.store, user.id, task.runner.as_deref()).await?;
    Ok(service.router.for_user(&sandbox_user(user), &wish).await?)
}

/// Ends a task with everything it started, and waits for that: one that counts as lost too, where its machine still has it.
pub(crate) async fn kill(service: &Inner, user: &User, task: &Exec) -> Result<(), Failure> {
    if !matches!(task.status, ExecStatus::Running | ExecStatus::Lost) {
        return Ok(());
    }
    let sandbox = place(service, user, task).await?;
    service.execs.cancel(&sandbox, user, task).await?;
    Ok(())
}

/// Ends a task that nobody can ask for any more, as soon as its machine is there.
fn end_abandoned(service: &Arc<Inner>, user: &User, task: Exec) {
    let (service, user) = (Arc::clone(service), user.clone());
    let tasks = service.tasks.clone();
    tasks.spawn(async move {
        let Inner { execs, stop, .. } = &*service;
        let until = Instant::now() + Duration::from_secs(TASK_LIFETIME_S);
        let followed = execs.followed(&user, &task);
        let ended = async {
            loop {
                followed.available(until).await.map_err(|error| Failure::Told(error.to_string()))?;
                match kill(&service, &user, &task).await {
                    // It went away again.
                    Err(Failure::Away(_)) => {}
                    ended => return ended,
                }
            }
        };
        tokio::select! {
            ended = ended => {
                if let Err(why) = ended {
                    tracing::warn!(%why, id = %task.exec_id, "a task of a chat that was deleted could not be ended");
                }
            }
            // The next life of the server goes on.
            () = stop.cancelled() => {}
        }
    });
}
