//! Tools whose arguments are a type: the schema is derived from it, with its doc comments as the descriptions for the model.

use std::fmt::Debug;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::look::{Ground, Looked, part};
use super::{Call, Failure, Live, Outcome, Rules, Subject, Tool, ToolContext};
use crate::approval::Access;

/// The arguments of a tool as a model writes them, with the tool's implementation.
pub trait TypedTool: DeserializeOwned + JsonSchema + Debug + Send + Sync + 'static {
    /// The services it works with, given at registration, in addition to its context.
    type Services: Clone + Send + Sync + 'static;

    /// The tool's name; see [`Tool::name`].
    const NAME: &'static str;
    /// The tool's description; see [`Tool::description`].
    const DESCRIPTION: &'static str;
    /// The tool's rules; see [`Tool::rules`].
    const RULES: Rules;

    /// The schema of the data for programs; see [`Tool::output_schema`].
    fn output_schema() -> Option<Value> {
        None
    }

    /// The call's access; see [`Call::access`].
    fn access(&self) -> Access {
        Self::RULES.access
    }

    /// The user account to run as; see [`Call::run_as`].
    fn run_as(&self) -> Option<&str> {
        None
    }

    /// The call's subject for people; see [`Call::hint`].
    fn hint(&self) -> &str;

    /// The call's subject for rules; see [`Call::subject`].
    fn subject(&self) -> Subject<'_> {
        Subject::Nothing
    }

    /// Determines what the call would do; see [`Call::look`].
    fn look(&self, ground: Option<&Ground>) -> impl Future<Output = Result<Looked, Failure>> + Send {
        let looked =
            Looked::words(format!("uses {}", Self::NAME), vec![part("about", self.hint())]).at(ground);
        async { Ok(looked) }
    }

    /// Carries the call out; see [`Call::run`].
    fn run(
        &self,
        services: &Self::Services,
        context: &ToolContext<'_>,
        live: Live<'_>,
    ) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}

/// A [`TypedTool`] as a [`Tool`].
pub struct Typed<T: TypedTool>(T::Services);

impl<T: TypedTool> Typed<T> {
    /// The tool, with its services.
    pub fn new(services: T::Services) -> Self {
        Self(services)
    }
}

impl<T: TypedTool> Tool for Typed<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> &str {
        T::DESCRIPTION
    }

    fn parameters(&self) -> Value {
        schema_of::<T>()
    }

    fn rules(&self) -> Rules {
        T::RULES
    }

    fn output_schema(&self) -> Option<Value> {
        T::output_schema()
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        let arguments: T = serde_json::from_value(arguments.into())
            .map_err(|error| format!("the arguments are invalid: {error}"))?;
        Ok(Box::new(TypedCall { arguments, services: self.0.clone() }))
    }
}

struct TypedCall<T: TypedTool> {
    arguments: T,
    services: T::Services,
}

impl<T: TypedTool> Call for TypedCall<T> {
    fn access(&self) -> Access {
        self.arguments.access()
    }

    fn run_as(&self) -> Option<&str> {
        self.arguments.run_as()
    }

    fn hint(&self) -> &str {
        self.arguments.hint()
    }

    fn subject(&self) -> Subject<'_> {
        self.arguments.subject()
    }

    fn look<'a>(&'a self, ground: Option<&'a Ground>) -> BoxFuture<'a, Result<Looked, Failure>> {
        Box::pin(self.arguments.look(ground))
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext<'_>,
        live: Live<'a>,
    ) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.arguments.run(&self.services, context, live))
    }
}

/// The self-contained JSON schema of a type, for the arguments and results that models and clients see. Always the same
/// bytes.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    (settings.meta_schema, settings.inline_subschemas) = (None, true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        // The type's name and description are of no use to a model.
        fields.remove("title");
        fields.remove("description");
        // Some providers refuse an object without properties.
        fields.entry("properties").or_insert_with(|| serde_json::json!({}));
    }
    schema
}
