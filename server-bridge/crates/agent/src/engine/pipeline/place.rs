//! `40_place`: where the model works. It changes with every change of the directory.

use super::{Made, Scene};

pub(super) async fn part(scene: &Scene<'_>) -> Made {
    let sandbox = match scene.sandbox {
        Ok(sandbox) => sandbox,
        Err(why) => {
            return Ok(Some(format!(
                "No machine can be reached at the moment ({why}), so no tool runs that works on one: no file, no command. Answer \
                 what you can without them, and where the work needs a machine, say so and why there is none."
            )));
        }
    };
    let cwd = scene.service.store.chat_cwd(scene.user.id, scene.chat).await?;
    let cwd = if cwd.is_empty() { "." } else { &cwd };
    let (facts, place) = (sandbox.facts(), sandbox.place());
    let (os, arch) = (&facts.os, &facts.arch);
    Ok(Some(format!(
        "You work on {place} ({os}, {arch}). The current directory is {cwd}, as seen from the workspace."
    )))
}
