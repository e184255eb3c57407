//! `/model` and `/models`: shows and chooses the model of this chat.

use super::{Command, Context};
use crate::models::{Known, SERVER, Subscription};
use crate::{ChatService, Error, Posted, Result};

/// The value that lets a chat follow its user's choice again.
const DEFAULT: &str = "default";

pub(super) const COMMAND: Command = Command {
    word: "model",
    usage: &[
        ("/model", "show which model answers in this chat"),
        (
            "/model NAME|TIER",
            "choose NAME, NAME/TIER, NAME/MODEL, a tier (vanguard, balance or swift), or `default`",
        ),
    ],
    run: |context, choice| {
        Box::pin(async move {
            match choice {
                Some(choice) => choose(context, choice).await,
                None => show(context).await,
            }
        })
    },
};

pub(super) const LIST: Command = Command {
    word: "models",
    usage: &[("/models", "list the models you can choose")],
    run: |context, _| Box::pin(list(context)),
};

async fn show(context: &Context<'_>) -> Result<Posted> {
    let Context { service, user, chat, .. } = context;
    let own = service.store.chat_model(user.id, &chat.id).await?;
    let whence = match &own {
        Some(own) => format!("as chosen here ({own})"),
        None => "which follows your default".to_owned(),
    };
    match service.models.of_chat(service, user, &chat.id, None).await {
        Ok(chain) => {
            let mut text = format!("{} answers in this chat, {whence}.", chain.setup.origin());
            for other in &chain.others {
                text.push_str(&format!("\nWhen it is unavailable, {} answers.", other.origin()));
            }
            text.push_str(
                "\n\n/models lists what you can choose; /model NAME or /model TIER changes it here.",
            );
            context.notice(&text).await
        }
        Err(error) => refused(context, error).await,
    }
}

async fn choose(context: &Context<'_>, choice: &str) -> Result<Posted> {
    let Context { service, user, chat, .. } = context;
    let service = ChatService(std::sync::Arc::clone(service));
    let choice = if choice == DEFAULT { None } else { Some(choice) };
    if let Err(error) = service.choose_model(user, Some(&chat.id), choice).await {
        return refused(context, error).await;
    }
    show(context).await
}

async fn list(context: &Context<'_>) -> Result<Posted> {
    let Context { service, user, chat, .. } = context;
    let known = service.models.known(service, user).await?;
    if known.is_empty() {
        return refused(context, Error::NoModel).await;
    }
    let here =
        service.models.of_chat(service, user, &chat.id, None).await.ok().map(|chain| chain.setup.origin());
    context.notice_as_it_is(&lines(&known, here.as_deref(), &|text| context.in_words(text))).await
}

fn lines(known: &Known, here: Option<&str>, say: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (name, subscription) in known.iter() {
        let Subscription { provider, runner, models, fallback, .. } = subscription;
        let whose = match (name, runner) {
            (SERVER, _) => "the server's own, for everybody".to_owned(),
            (_, Some(runner)) => format!("yours, through runner {runner}"),
            (_, None) => format!("yours, at {}", subscription.address()),
        };
        text.push_str(&format!("{name}  ({}; {})\n", provider.as_str(), say(&whose)));
        for (tier, model) in models {
            let by_default =
                if *tier == subscription.tier() { say(", the default tier") } else { String::new() };
            let answers = here == Some(format!("{name}/{}", model.name).as_str());
            let answers = if answers { say("   ◀ answers here") } else { String::new() };
            text.push_str(&format!("  {:8}  {}{by_default}{answers}\n", tier.as_str(), model.name));
        }
        if let Some(fallback) = fallback {
            text.push_str(&say(&format!("  fallback: {fallback}")));
            text.push('\n');
        }
    }
    let how = "/model NAME, /model TIER, /model NAME/TIER or /model NAME/MODEL chooses one for this chat.";
    format!("{text}\n{}", say(how))
}

async fn refused(context: &Context<'_>, error: Error) -> Result<Posted> {
    match error.kind() {
        "internal" => Err(error),
        kind => context.refusal(kind, &error.to_string()).await,
    }
}
