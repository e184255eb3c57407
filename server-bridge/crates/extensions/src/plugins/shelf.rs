//! The skills and roles of plugins, for agents.

use std::sync::Arc;

use agent::library::{Shelf, Shelved, Skill};
use futures_util::future::BoxFuture;
use sandbox::Sandbox;
use store::User;

use super::Plugins;

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
            for plugin in plugins {
                if plugin.shelved.skills.iter().any(|own| own.name == skill.name) {
                    return self.bring(user.id, &plugin, sandbox).await;
                }
            }
            Err("its plugin was removed in the meantime".to_owned())
        })
    }
}
