//! `30_sender` and `32_language`: who speaks, and how they want to be answered.

use super::{Made, Scene};
use crate::preferences;

/// The user's name. Names of users are plain: a letter or digit, then those, `_`, `.` and `-`.
pub(super) fn sender(scene: &Scene<'_>) -> Option<String> {
    scene.lineage.errand().is_none().then(|| format!("The user is called {}.", scene.user.name))
}

pub(super) async fn language(scene: &Scene<'_>) -> Made {
    if scene.lineage.errand().is_some() {
        return Ok(None);
    }
    let set = preferences::language(&scene.service.store, scene.user.id).await?;
    Ok(Some(match set {
        Some(language) => format!("Answer in {language}, whatever language you are spoken to in."),
        None => "Answer in the language that the user writes in.".to_owned(),
    }))
}
