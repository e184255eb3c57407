//! `!command`: runs a command in this chat's sandbox.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{AckMode, ExecRequest};
use store::ExecKind;

use super::Context;
use crate::limits::{COMMAND_TIMEOUT_S, RUNNING_PER_CHAT};
use crate::shell::{Begin, Run, Shown, conclude};
use crate::{ChatEvent, Posted, Result, exec_document};
use execs::{Ending, request_hash};

pub(super) async fn run(context: &Context<'_>, command: &str) -> Result<Posted> {
    if command.is_empty() {
        return context.refusal("invalid", "Write the command after the exclamation mark, like !ls -l").await;
    }
    let (service, user) = (context.service, context.user);
    let Some(slot) = service.running.reserve(user.id, &context.chat.id) else {
        let text = format!(
            "{RUNNING_PER_CHAT} commands are already running in this chat. Wait for one to end, or stop them with /cancel."
        );
        return context.refusal("busy", &text).await;
    };
    let route_request = execs::chat_route_request(&service.store, user.id, Some(&context.chat.id)).await?;
    let checked = service.router.check(&execs::sandbox_user(user), &route_request);
    let target = checked.as_ref().ok().map(|target| target.name().to_owned());
    let mut request = ExecRequest::shell(command);
    request.timeout = Some(Duration::from_secs(COMMAND_TIMEOUT_S));
    // A restarted server can then show the whole output, and the result unless it is already on record.
    (request.retain, request.acks) = (true, AckMode::Manual);
    let exec_id = store::ExecId::from_bytes(request.exec_id.0);

    let mut document = exec_document::running(&exec_id, command, target.clone());
    let start = store::ExecRequest {
        exec_id: exec_id.clone(),
        kind: ExecKind::Chat,
        user: user.id,
        chat: Some(context.chat.id.clone()),
        message: None,
        request_hash: request_hash(target.as_deref(), command),
        runner: target,
        command: command.to_owned(),
        audited: None,
        detached: true,
        linger_ms: None,
    };
    let shown =
        service.execs.begin_shown(&start, &context.chat.id, &exec_document::to_json(&document)).await?;
    if let Err(error) = checked {
        let ending = Ending::refused(error.kind(), &error);
        let shown = Shown { user, message: &shown, command };
        let (_, message) = conclude(service, shown, &mut document, &exec_id, &ending, "").await?;
        return Ok(Posted { messages: message.into_iter().collect(), ..Posted::default() });
    }
    slot.shown_by(shown.id);
    service.tell(user.id, ChatEvent::Message(shown.clone()));
    let run = Run {
        service: Arc::clone(service),
        user: user.clone(),
        route_request,
        message: shown.clone(),
        document,
        exec_id,
        slot,
        command: command.to_owned(),
        begin: Begin::Send(Box::new(request)),
        is_live: true,
    };
    service.tasks.spawn(store::patiently(run.run()));
    Ok(Posted { messages: vec![shown], ..Posted::default() })
}
