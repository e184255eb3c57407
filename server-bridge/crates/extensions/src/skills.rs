//! Skills whose text is in every prompt: those of a workspace that request it (`always: true`), once their user has approved
//! the text.

use std::collections::HashSet;

use agent::engine::{Made, PromptContext, PromptPart};
use agent::library::{Skill, skills};
use agent::tool::visible;
use api::problem::Problem;
use futures_util::future::{BoxFuture, try_join_all};
use sandbox::{Sandbox, SandboxError};
use sha2::{Digest, Sha256};
use store::{Store, User};

use crate::approvals::{approved, hash_of, workspace_of};
use crate::limits::ALWAYS_SKILLS_BYTES;
use crate::trust::{Item, Items, Source};

/// The kind under which approvals of skills are stored.
const KIND: &str = "skill";

/// The prefix of the hashed data: changing it invalidates earlier approvals.
const HASHED: &str = "skill 1";

/// The part of the prompt that contains them.
#[derive(Clone)]
pub struct AlwaysSkills {
    store: Store,
}

/// A skill that is meant for every prompt, with its text.
struct Found {
    name: String,
    file: String,
    text: String,
    /// The SHA-256 of its text.
    content: String,
    hash: String,
}

impl AlwaysSkills {
    /// The part, with the approvals in this store.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    async fn approved(&self, user: &User) -> store::Result<HashSet<String>> {
        approved(&self.store, user.id, KIND).await
    }
}

impl PromptPart for AlwaysSkills {
    fn key(&self) -> &str {
        "11_always_skills"
    }

    fn make<'a>(&'a self, context: &'a PromptContext<'a>) -> BoxFuture<'a, Made> {
        Box::pin(async move {
            let Ok(sandbox) = context.sandbox else { return Ok(None) };
            let found = find(sandbox, context.skills().await?).await?;
            if found.is_empty() {
                return Ok(None);
            }
            let approved = self.approved(context.user).await.map_err(|error| {
                tracing::error!(%error, "the approvals of skills could not be read");
                agent::PortError::Failed(error.to_string())
            })?;
            let used = fitting(found.iter().filter(|skill| approved.contains(&skill.hash)));
            let texts: Vec<String> = used
                .map(|skill| {
                    context.holds(&format!("the skill {:?}", skill.name), &skill.text);
                    format!("## {}\n\n{}", skill.name, skill.text)
                })
                .collect();
            let title = "# Skills that always apply";
            Ok((!texts.is_empty()).then(|| format!("{title}\n\n{}", texts.join("\n\n"))))
        })
    }
}

impl Source for AlwaysSkills {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn items<'a>(&'a self, user: &'a User, sandbox: &'a Sandbox) -> BoxFuture<'a, store::Result<Items>> {
        Box::pin(async move {
            // If the machine goes offline in the meantime, it has no such skills.
            let heads = skills::heads(sandbox).await.unwrap_or_default();
            let found = find(sandbox, &heads).await.unwrap_or_default();
            let approved = self.approved(user).await?;
            let used: HashSet<&str> = fitting(found.iter().filter(|skill| approved.contains(&skill.hash)))
                .map(|skill| skill.name.as_str())
                .collect();
            let mut items = Items::default();
            for skill in &found {
                let is_approved = approved.contains(&skill.hash);
                if is_approved && !used.contains(skill.name.as_str()) {
                    let text = format!(
                        "left out of prompts, since the skills that always apply have more than {ALWAYS_SKILLS_BYTES} bytes together"
                    );
                    items.problems.push(Problem::of(&skill.file, text));
                }
                items.items.push(Item {
                    name: skill.name.clone(),
                    origin: skill.file.clone(),
                    action: format!("adds this to every prompt:\n{}", visible::lines(&skill.text)),
                    hash: skill.hash.clone(),
                    files: vec![(skill.file.clone(), skill.content.clone())],
                    unseen: Vec::new(),
                    is_approved,
                    is_approvable: true,
                });
            }
            Ok(items)
        })
    }
}

/// The skills of a workspace that are meant for every prompt.
///
/// Fails if the place cannot be reached.
async fn find(sandbox: &Sandbox, heads: &[Skill]) -> Result<Vec<Found>, SandboxError> {
    let workspace = workspace_of(sandbox);
    let names = heads.iter().filter(|head| head.always).map(|head| head.name.as_str());
    // The text that is hashed is the one that is read here and given to the model, so it cannot change in between.
    let read = names.map(|name| skills::read(sandbox, name));
    let skills = try_join_all(read).await?.into_iter().flatten();
    Ok(skills
        .map(|skill| {
            let file = format!("{}/SKILL.md", skill.directory.as_str());
            let content = store::hex(&Sha256::digest(&skill.text));
            let hash = hash_of(HASHED, &workspace, &file, &content);
            Found { name: skill.name, file, text: skill.text, content, hash }
        })
        .collect())
}

/// The first of these skills that fit into the prompt together.
fn fitting<'a>(skills: impl Iterator<Item = &'a Found>) -> impl Iterator<Item = &'a Found> {
    let mut bytes = 0;
    skills.filter(move |skill| {
        let fits = bytes + skill.text.len() <= ALWAYS_SKILLS_BYTES;
        bytes += if fits { skill.text.len() } else { 0 };
        fits
    })
}
