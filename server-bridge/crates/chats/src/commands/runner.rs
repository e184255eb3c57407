//! `/runner`: list where commands can go, and bind this chat to one of the places.

use sandbox::{Choice, RouteRequest, Target};

use super::{Command, Context};
use crate::{ChatEvent, Posted, Result};

/// The word that lets a chat follow the active runner again.
const AUTO: &str = "auto";

pub(super) const COMMAND: Command = Command {
    word: "runner",
    usage: &[
        ("/runner", "list your runners and where this chat's commands go"),
        ("/runner NAME", "send this chat's commands to NAME; `auto` follows your active runner again"),
    ],
    run: |context, name| {
        Box::pin(async move {
            match name {
                Some(name) => bind(context, name).await,
                None => list(context).await,
            }
        })
    },
};

async fn list(context: &Context<'_>) -> Result<Posted> {
    let active = context.service.store.active_runner(context.user.id).await?;
    let places = places(context).await?;
    let mut text = match (&context.chat.runner, &active) {
        (Some(bound), _) => format!("This chat's commands go to {bound} (bound)."),
        (None, Some(active)) => format!("This chat's commands go to {active}, your active runner."),
        (None, None) => {
            "Neither this chat nor your settings name a runner: the only registered one is used.".to_owned()
        }
    };
    text.push_str("\n\n");
    let width = places.iter().map(|place| place.name.len()).max().unwrap_or(0);
    for place in &places {
        let bound = if context.chat.runner.as_deref() == Some(&place.name) { "  bound here" } else { "" };
        let active = if active.as_deref() == Some(&place.name) { "  active" } else { "" };
        text.push_str(&format!("{:width$}  {}{bound}{active}\n", place.name, place.state));
    }
    text.push_str("\n/runner NAME binds this chat; /runner auto follows your active runner.");
    context.notice(&text).await
}

async fn bind(context: &Context<'_>, name: &str) -> Result<Posted> {
    let choice = if name == AUTO { None } else { Some(name) };
    let places = places(context).await?;
    if choice.is_some_and(|choice| places.iter().all(|place| place.name != choice)) {
        let names: Vec<&str> = places.iter().map(|place| place.name.as_str()).chain([AUTO]).collect();
        let name: String = name.chars().take(80).collect();
        let text = format!("You have no runner {name:?}. Choose one of: {}.", names.join(", "));
        return context.refusal("not_found", &text).await;
    }
    let chat = context.service.store.bind_chat_runner(context.user.id, &context.chat.id, choice).await?;
    context.service.tell(context.user.id, ChatEvent::Chat(chat));
    let said = match choice {
        Some(name) => format!("This chat's commands go to {name} now."),
        None => "This chat follows your active runner now.".to_owned(),
    };
    let route_request =
        execs::chat_route_request(&context.service.store, context.user.id, Some(&context.chat.id)).await?;
    match context.service.router.check(&execs::sandbox_user(context.user), &route_request) {
        Ok(_) => context.notice(&said).await,
        Err(warning) => context.notice(&format!("{said} But: {warning}")).await,
    }
}

/// Somewhere commands can go, and how it stands.
struct Place {
    name: String,
    state: String,
}

async fn places(context: &Context<'_>) -> Result<Vec<Place>> {
    let user = execs::sandbox_user(context.user);
    let router = &context.service.router;
    let online = router.runners(&user.key);
    let registered = context.service.store.runners(context.user.id).await?;
    let mut places: Vec<Place> = registered
        .into_iter()
        .map(|runner| {
            let online = online.iter().find(|state| state.name == runner.name);
            let lacking = online.map(|state| router.lacking(&state.facts));
            let state = match lacking.as_deref() {
                None => "offline".to_owned(),
                Some([]) => "online".to_owned(),
                Some(lacking) => format!("refused: lacks {}", lacking.join(", ")),
            };
            Place { name: runner.name, state }
        })
        .collect();
    for place in [Target::Docker, Target::Local] {
        let name = place.name().to_owned();
        let route_request = RouteRequest { choice: Choice::Place(place), registered: Vec::new() };
        let state = if router.check(&user, &route_request).is_ok() { "available" } else { "not available" };
        places.push(Place { name, state: state.to_owned() });
    }
    Ok(places)
}
