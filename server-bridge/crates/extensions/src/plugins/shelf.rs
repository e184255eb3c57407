//! The skills and roles of plugins, for agents.

use std::sync::Arc;

use agent::library::{Shelf, Shelved, Skill};
use futures_util::future::BoxFuture;
use sandbox::Sandbox;
use store::User;

use super::{Installed, Plugins};

impl Shelf for Plugins {
    fn of<'a>(&'a self, user: &'a User) -> BoxFuture<'a, Arc<Shelved>> {
        Box::pin(async move {
            match self.readable(user.id).await.as_slice() {
                [] => Arc::default(),
                [one] => Arc::clone(&one.shelved),
                many => {
                    let mut all = Shelved::default();
                    for plugin in many {
                        all.skills.extend(plugin.shelved.skills.iter().cloned());
                        all.roles.extend(plugin.shelved.roles.iter().cloned());
                    }
                    Arc::new(all)
                }
            }
        })
    }

    fn bring<'a>(
        &'a self,
        user: &'a User,
        skill: &'a Skill,
        sandbox: &'a Sandbox,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let plugins = self.of(user.id).await.map_err(|error| error.shown())?;
            // Its text names the directory of its copy, which another copy does not have.
            let has_it = |plugin: &Installed| {
                let mut skills = plugin.shelved.skills.iter();
                skills.any(|own| own.name == skill.name && own.directory == skill.directory)
            };
            let now = plugins.into_iter().find(|plugin| has_it(plugin));
            match now.or_else(|| self.in_use(user.id, has_it)) {
                Some(plugin) => self.bring(user.id, &plugin, sandbox).await,
                None => Err("its plugin was removed in the meantime".to_owned()),
            }
        })
    }
}
