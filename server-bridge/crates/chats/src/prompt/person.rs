//! `30_sender` and `32_language`: the user, and the language of answers.

use futures_util::future::BoxFuture;
use store::Store;
use tools::Ported;

use crate::preferences;
use agent::engine::{Made, PromptContext, PromptPart};

/// `30_sender`.
pub(super) struct Sender;

impl PromptPart for Sender {
    fn key(&self) -> &str {
        "30_sender"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(async { Ok(sender(context)) })
    }
}

/// `32_language`.
pub(super) struct Language(pub(super) Store);

impl PromptPart for Language {
    fn key(&self) -> &str {
        "32_language"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(language(&self.0, context))
    }
}

/// The user's name. Names of users are plain: a letter or digit, followed by those, `_`, `.` and `-`.
fn sender(context: &PromptContext<'_>) -> Option<String> {
    context.ancestry.delegation().is_none().then(|| format!("The user is called {}.", context.user.name))
}

async fn language(store: &Store, context: &PromptContext<'_>) -> Made {
    if context.ancestry.delegation().is_some() {
        return Ok(None);
    }
    let set = preferences::language(store, context.user.id).await.ported()?;
    Ok(Some(match set {
        Some(language) => format!("Answer in {language}, whatever language the user writes in."),
        None => "Answer in the language that the user writes in.".to_owned(),
    }))
}
