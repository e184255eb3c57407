//! `40_place`: the model's place of work. It changes whenever the directory changes.

use futures_util::future::BoxFuture;

use agent::engine::{Made, PromptContext, PromptPart};

/// The part `40_place` of the prompt.
pub(super) struct Place;

impl PromptPart for Place {
    fn key(&self) -> &str {
        "40_place"
    }

    fn is_static(&self) -> bool {
        false
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(text(context))
    }
}

async fn text(context: &PromptContext<'_>) -> Made {
    let sandbox = match context.sandbox {
        Ok(sandbox) => sandbox,
        Err(why) => {
            return Ok(Some(format!(
                "No machine can be reached at the moment ({why}), so the tools that use files or run commands do not work. Answer \
                 what you can without them; where the work needs a machine, say so, and say why there is none."
            )));
        }
    };
    let cwd = context.workplace.cwd().await?;
    let cwd = if cwd.is_empty() { "." } else { &cwd };
    let of = if cwd.starts_with('/') { "" } else { ", relative to the workspace" };
    let (facts, place) = (sandbox.facts(), sandbox.place());
    let (os, arch) = (&facts.os, &facts.arch);
    Ok(Some(format!("You work on {place} ({os}, {arch}). The current directory is {cwd}{of}.")))
}
