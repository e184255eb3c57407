//! Callbacks: handlers that are functions of the server. A document of hooks calls them by name, and they need neither a machine nor a model.
//!
//! A callback registers itself with [`Callbacks::put`]; the lists for people, the check of a document and the run of a hook all come from there. A new
//! one is a file here and a line where the server registers its extensions.

mod approval;
mod audit;
mod logging;
mod timing;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use api::hooks::CallbackView;
use futures_util::future::BoxFuture;
use hooks::dialect::Dialect;
use hooks::payload::Payload;
use hooks::{Event, Said};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use store::{ChatId, User};

pub use approval::Approval;
pub use audit::Audit;
pub use logging::Logging;
pub use timing::Timing;

/// An event for a callback.
pub struct Called<'a> {
    /// The user for whom the hook runs.
    pub user: &'a User,
    /// The chat in which it runs; a trial may have none.
    pub chat: Option<&'a ChatId>,
    /// True in a trial, which leaves no record: a callback returns what it would have written as [`Said::text`].
    pub is_trial: bool,
    /// The event.
    pub event: Event,
    /// Its payload.
    pub payload: &'a Payload,
    /// The arguments, with values of the payload.
    pub input: Map<String, Value>,
}

/// A handler that is a function of the server.
pub trait Callback: Send + Sync + 'static {
    /// The name by which documents call it.
    fn name(&self) -> &'static str;

    /// A sentence about its effect and its arguments, for people.
    fn about(&self) -> &'static str;

    /// The events at which it has an effect.
    fn events(&self) -> &'static [Event];

    /// Checks its arguments, as a document has them.
    ///
    /// # Errors
    /// The reason why they are refused, as a sentence.
    fn check(&self, input: &Map<String, Value>) -> Result<(), String>;

    /// Runs it.
    ///
    /// # Errors
    /// The reason for a failure, which counts as the failure of any other handler.
    fn call<'a>(&'a self, called: Called<'a>) -> BoxFuture<'a, Result<Said, String>>;
}

/// The callbacks of the server. Cheap to clone; all clones share the same list.
#[derive(Clone, Default)]
pub struct Callbacks(Arc<RwLock<BTreeMap<&'static str, Arc<dyn Callback>>>>);

impl Callbacks {
    /// Adds a callback. One of the same name is replaced.
    pub fn put(&self, callback: impl Callback) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(callback.name(), Arc::new(callback));
    }

    /// All callbacks, by name.
    pub fn views(&self) -> Vec<CallbackView> {
        let view = |callback: &Arc<dyn Callback>| CallbackView {
            name: callback.name().to_owned(),
            about: callback.about().to_owned(),
            events: callback.events().iter().map(|event| event.name(Dialect::Own).to_owned()).collect(),
        };
        self.all().values().map(view).collect()
    }

    /// Checks a handler that names a callback.
    ///
    /// # Errors
    /// The reason why the handler is refused, as a sentence.
    pub(super) fn check(&self, name: &str, input: &Map<String, Value>, event: Event) -> Result<(), String> {
        let all = self.all();
        let Some(callback) = all.get(name) else {
            let names: Vec<&str> = all.keys().copied().collect();
            return Err(format!("there is no callback {name:?}; the callbacks are {}", names.join(", ")));
        };
        if !callback.events().contains(&event) {
            let names: Vec<&str> = callback.events().iter().map(|event| event.name(Dialect::Own)).collect();
            return Err(format!("the callback {name} has no effect here; use it at {}", names.join(", ")));
        }
        callback.check(input).map_err(|why| format!("the input of the callback {name} is refused: {why}"))
    }

    /// Runs a callback.
    ///
    /// # Errors
    /// The reason for its failure.
    pub(super) async fn call(&self, name: &str, called: Called<'_>) -> Result<Said, String> {
        let callback = self.all().get(name).cloned();
        match callback {
            Some(callback) => callback.call(called).await,
            None => Err(format!("there is no callback {name:?}")),
        }
    }

    /// A copy of the list: the lock is not held while a callback works.
    fn all(&self) -> BTreeMap<&'static str, Arc<dyn Callback>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The arguments of a callback, with their types.
fn arguments<T: DeserializeOwned>(input: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(input.clone())).map_err(|error| error.to_string())
}

/// The arguments of a callback that takes none.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[cfg(test)]
mod tests;
