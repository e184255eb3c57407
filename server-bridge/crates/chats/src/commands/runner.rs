//! `/runner`: lists the places where commands can run, and binds this chat to one of them.

use sandbox::{Choice, RouteRequest, Target};

use super::{Command, Context};
use crate::{ChatEvent, ChatService, Error, Posted, Result};
use store::{Chat, ChatId, User};

use crate::house::House;

/// The value that makes a chat follow the active runner again.
pub(crate) const AUTO: &str = "auto";

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
    let places = places(context.service, context.user).await?;
    let mut text = match (&context.chat.runner, &active) {
        (Some(bound), _) => format!("This chat's commands go to {bound} (bound)."),
        (None, Some(active)) => format!("This chat's commands go to {active}, your active runner."),
        (None, None) => {
            "Neither this chat nor your settings name a runner: if you have only one, it is used.".to_owned()
        }
    };
    text.push_str("\n\n");
    let width = places.iter().map(|place| place.name.len()).max().unwrap_or(0);
    for place in &places {
        let is_bound = context.chat.runner.as_deref() == Some(&place.name);
        let is_active = active.as_deref() == Some(&place.name);
        let facts =
            [Some(place.state.as_str()), is_bound.then_some("bound here"), is_active.then_some("active")];
        let facts: Vec<String> = facts.into_iter().flatten().map(|fact| context.in_words(fact)).collect();
        text.push_str(&format!("{:width$}  {}\n", place.name, facts.join("  ")));
    }
    text.push_str("\n/runner NAME binds this chat; /runner auto follows your active runner.");
    context.notice(&text).await
}

async fn bind(context: &Context<'_>, name: &str) -> Result<Posted> {
    let choice = if name == AUTO { None } else { Some(name) };
    let warning = match bind_chat(context.service, context.user, &context.chat.id, choice).await {
        Ok((_, warning)) => warning,
        Err(Error::Refused { kind, text }) => return context.refusal(kind, &text).await,
        Err(error) => return Err(error),
    };
    let said = match choice {
        Some(name) => format!("This chat's commands go to {name} now."),
        None => "This chat follows your active runner now.".to_owned(),
    };
    match warning {
        None => context.notice(&said).await,
        Some(warning) => context.notice(&format!("{said} However: {warning}")).await,
    }
}

impl ChatService {
    /// Binds a chat's commands to a place, or with `None` to the active runner again; returns the reason if a command could not run there now.
    ///
    /// # Errors
    /// [`Error::Refused`] for a place that its user does not have; [`Error::Store`] for a chat that was deleted or belongs to another user.
    pub async fn bind_runner(
        &self,
        user: &User,
        chat: &ChatId,
        place: Option<&str>,
    ) -> Result<(Chat, Option<String>)> {
        bind_chat(&self.0, user, chat, place).await
    }
}

async fn bind_chat(
    house: &House,
    user: &User,
    chat: &ChatId,
    choice: Option<&str>,
) -> Result<(Chat, Option<String>)> {
    let places = places(house, user).await?;
    if let Some(choice) = choice
        && places.iter().all(|place| place.name != choice)
    {
        let names: Vec<&str> = places.iter().map(|place| place.name.as_str()).chain([AUTO]).collect();
        let name: String = choice.chars().take(80).collect();
        let text = format!("You have no runner {name:?}. Choose one of: {}.", names.join(", "));
        return Err(Error::refused("not_found", text));
    }
    let bound = house.store.bind_chat_runner(user.id, chat, choice).await?;
    house.tell(user.id, ChatEvent::Chat(bound.clone()));
    let route_request = execs::chat_route_request(&house.store, user.id, Some(chat)).await?;
    let looked = house.router.look(&execs::sandbox_user(user), &route_request).await;
    Ok((bound, looked.err().map(|warning| warning.to_string())))
}

/// The state of a container, or of the server's own machine, that this user may not use.
const NOT_AVAILABLE: &str = "not available";

/// A place where commands can run, and its state.
struct Place {
    name: String,
    state: String,
}

/// The names of the places that a user may choose: all their runners, and the other places that can run commands now.
pub(crate) async fn usable_places(house: &House, user: &User) -> Result<Vec<String>> {
    let places = places(house, user).await?.into_iter();
    Ok(places.filter(|place| place.state != NOT_AVAILABLE).map(|place| place.name).collect())
}

async fn places(house: &House, of: &User) -> Result<Vec<Place>> {
    let user = execs::sandbox_user(of);
    let router = &house.router;
    let online = router.runners(&user.key);
    let registered = house.store.runners(of.id).await?;
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
        let state =
            if router.look(&user, &route_request).await.is_ok() { "available" } else { NOT_AVAILABLE };
        places.push(Place { name, state: state.to_owned() });
    }
    Ok(places)
}
