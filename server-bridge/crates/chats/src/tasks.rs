//! A chat's tasks: the background commands of its model.

use std::sync::Arc;
use std::time::Duration;

use store::{ChatId, Exec, User};
use tokio::time::Instant;

use crate::house::House;
use crate::{ChatEvent, ChatService, Result};
use agent::hooks::SessionEnd;
use agent::tool::Failure;
use tools::limits::TASK_LIFETIME_S;

impl ChatService {
    /// Deletes a user's chat. The work in progress in it is cancelled, including its tasks: if a task's machine cannot be reached, the task
    /// is ended as soon as the machine can be reached again.
    ///
    /// # Errors
    /// [`crate::Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn delete(&self, user: &User, chat: &ChatId) -> Result<()> {
        let _tracked = self.0.tasks.token();
        let store = &self.0.store;
        store.chat(user.id, chat).await?;
        self.0.stop_all(user.id, chat);
        self.0.stop_background(user.id, chat).await;
        self.0.hooks.session_ends(user, chat, SessionEnd::Deleted).await;
        // Recorded first: if this server stops in between, its next run continues.
        let tasks = store.abandon_chat_tasks(user.id, chat).await?;
        store.delete_chat(user.id, chat).await?;
        // Stopping first keeps a message that is posted in between from being answered in a deleted chat.
        self.0.stop_all(user.id, chat);
        for task in tasks {
            end_abandoned(&self.0, user, task);
        }
        self.0.tell(user.id, ChatEvent::Removed(chat.clone()));
        Ok(())
    }
}

/// Ends a task whose chat was deleted, as soon as its machine can be reached.
fn end_abandoned(service: &Arc<House>, user: &User, task: Exec) {
    let (service, user) = (Arc::clone(service), user.clone());
    let tasks = service.tasks.clone();
    tasks.spawn(async move {
        let (execs, stop) = (&service.execs, service.stops.of(user.id));
        let until = Instant::now() + Duration::from_secs(TASK_LIFETIME_S);
        let followed = execs.followed(&user, &task);
        let ended = async {
            loop {
                followed.available(until).await.map_err(|error| Failure::Message(error.to_string()))?;
                match tools::tasks::kill(&service.services, &user, &task).await {
                    // The machine became unreachable again.
                    Err(Failure::Away { .. }) => {}
                    ended => return ended,
                }
            }
        };
        tokio::select! {
            ended = ended => {
                if let Err(why) = ended {
                    tracing::warn!(%why, id = %task.exec_id, "a task of a deleted chat could not be ended");
                }
            }
            // The next run of the server continues.
            () = stop.cancelled() => {}
        }
    });
}
