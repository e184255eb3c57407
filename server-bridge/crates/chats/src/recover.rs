//! Continues commands that were running when an earlier run of the server ended.

use std::sync::Arc;

use store::{Exec, Message, User, UserId};

use crate::commands::trust;
use crate::house::House;
use crate::shell::{Begin, Run};
use crate::{Result, document, exec_document};
use execs::Ending;

/// Starts a task for each exec, of a user or of all users, that is on record as running; returns the number of execs that a message shows.
pub(crate) async fn recover(service: &Arc<House>, of: Option<UserId>) -> Result<usize> {
    trust::recover(service, of).await?;
    let mut count = 0;
    for (user, exec) in service.execs.recover(of).await? {
        let Some(message) = exec.message else { continue };
        let message = match service.store.message(exec.user, message).await {
            Ok(message) => message,
            // No message shows the command any more; it is ended nevertheless.
            Err(store::Error::NotFound { .. }) => {
                service.execs.follow(user, exec);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(run) = go_on(service, user, exec, message).await? {
            service.tasks.spawn(store::patiently(run.run()));
            count += 1;
        }
    }
    Ok(count)
}

async fn go_on(service: &Arc<House>, user: User, exec: Exec, message: Message) -> Result<Option<Run>> {
    let mut document = document::exec(&message)
        .unwrap_or_else(|| exec_document::running(&exec.exec_id, &exec.command, exec.runner.clone()));
    if let Some(outcome) = exec_document::outcome(&document) {
        // The message already shows the end: a server of an earlier version wrote it and died before it recorded the end.
        let ending = Ending::on_record(outcome);
        let _recorded = service.execs.end_of_record(&user, &exec, &ending).await?;
        return Ok(None);
    }
    // The message may mention a wait in an earlier run of the server, which no longer matters.
    document.error = None;
    let route_request = execs::route_request(&service.store, user.id, exec.runner.as_deref()).await?;
    let slot = service.running.take_over(user.id, &message.chat);
    Ok(Some(Run {
        service: Arc::clone(service),
        user,
        route_request,
        message,
        document,
        exec_id: exec.exec_id,
        slot,
        command: exec.command,
        begin: Begin::Attach { was_routed: exec.runner.is_some() },
        is_live: false,
    }))
}
