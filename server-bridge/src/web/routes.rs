//! The table of routes: each area adds its handlers, with the keys that open them; router, description and scopes follow from it.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use futures_util::future::BoxFuture;
use utoipa::openapi::path::{Operation, Paths};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{HttpMethod, OpenApi, RefOr};
use utoipa_axum::PathItemExt;
use utoipa_axum::router::OpenApiRouter;

use crate::web::scope::Access;
use crate::web::state::AppState;

/// Routes with their descriptions and scopes. No route can be added without its [`Access`].
#[derive(Default)]
pub struct Routes {
    described: OpenApiRouter<AppState>,
    table: Vec<Row>,
}

/// A line of the table: a route that is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The request's method; GET includes HEAD.
    pub method: Method,
    /// The path, with `{name}` for its variable parts.
    pub path: String,
    /// The keys that open the route.
    pub access: Access,
}

impl Routes {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a handler, as `route!(handler)`, at the method and path of its `#[utoipa::path]`.
    ///
    /// # Panics
    /// If the handler is described with several methods, or with one other than GET, PUT, POST and DELETE.
    #[must_use]
    pub fn add(mut self, access: Access, described: Described) -> Self {
        let Described { schemas, path, operation, methods, handler } = described;
        let method = match methods.as_slice() {
            [HttpMethod::Get] => Method::GET,
            [HttpMethod::Put] => Method::PUT,
            [HttpMethod::Post] => Method::POST,
            [HttpMethod::Delete] => Method::DELETE,
            _ => panic!("{path}: a handler has one method: GET, PUT, POST or DELETE"),
        };
        let router = MethodRouter::new().on(methods[0].to_method_filter(), Opened { access, handler });
        let mut paths = Paths::new();
        self.table.push(Row { method, path: path.clone(), access });
        paths.add_path_operation(path, methods, operation);
        self.described = self.described.routes((schemas, paths, router));
        self
    }

    /// Adds a handler that is left out of the API's description.
    #[must_use]
    pub fn undescribed<T, H>(self, access: Access, methods: MethodFilter, path: &str, handler: H) -> Self
    where
        H: Handler<T, AppState, Future = BoxFuture<'static, Response>> + Sync,
    {
        let router = MethodRouter::new().on(methods, Opened { access, handler: AnyHandler::new(handler) });
        Self { described: self.described.route(path, router), table: self.table }
    }

    /// Adds all routes of another area.
    #[must_use]
    pub fn merge(mut self, area: Self) -> Self {
        self.table.extend(area.table);
        Self { described: self.described.merge(area.described), table: self.table }
    }

    /// The described routes, in the order in which they were added.
    pub fn table(&self) -> &[Row] {
        &self.table
    }

    /// Paths and schemas of the described routes.
    pub fn description(self) -> OpenApi {
        self.described.into_openapi()
    }

    /// The router of all added routes.
    pub fn router(self) -> Router<AppState> {
        self.described.into()
    }
}

/// A handler with any arguments. It gives the router one type for all handlers: with the handlers' own types, the compiler would have
/// to compile each layer of the router, and to examine its futures, once for each of a hundred handlers.
#[derive(Clone)]
pub struct AnyHandler(Arc<dyn Fn(Request, AppState) -> BoxFuture<'static, Response> + Send + Sync>);

impl AnyHandler {
    /// Wraps a handler and hides its type.
    pub fn new<T, H>(handler: H) -> Self
    where
        H: Handler<T, AppState, Future = BoxFuture<'static, Response>> + Sync,
    {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

/// A handler with the contents of its `#[utoipa::path]`; made by `route!`.
pub struct Described {
    /// The documents that its description refers to.
    pub schemas: Vec<(String, RefOr<Schema>)>,
    /// The path, with `{name}` for its variable parts.
    pub path: String,
    /// The description of the operation.
    pub operation: Operation,
    /// The methods that the handler answers.
    pub methods: Vec<HttpMethod>,
    /// The handler itself.
    pub handler: AnyHandler,
}

/// A handler with its description, for [`Routes::add`].
macro_rules! route {
    ($handler:path) => {{
        let mut schemas = Vec::new();
        let (path, operation, methods) = utoipa_axum::routes!(@resolve_types $handler : schemas);
        let handler = $crate::web::routes::AnyHandler::new($handler);
        $crate::web::routes::Described { schemas, path, operation, methods, handler }
    }};
}
pub(crate) use route;

/// A handler that attaches its access to each request, for [`crate::web::auth::Caller`] to check.
#[derive(Clone)]
struct Opened {
    access: Access,
    handler: AnyHandler,
}

impl Handler<(), AppState> for Opened {
    type Future = BoxFuture<'static, Response>;

    fn call(self, mut request: Request, state: AppState) -> Self::Future {
        request.extensions_mut().insert(self.access);
        (self.handler.0)(request, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[utoipa::path(get, path = "/one")]
    async fn one() {}

    #[utoipa::path(post, path = "/other")]
    async fn other() {}

    #[utoipa::path(method(get, post), path = "/both")]
    async fn both() {}

    /// Each method has its own access.
    #[test]
    #[should_panic(expected = "one method")]
    fn a_handler_of_two_methods_is_not_added() {
        let _ = Routes::new().add(Access::Full, route!(both));
    }

    #[test]
    fn a_route_is_in_the_table_and_in_the_description() {
        let routes = Routes::new()
            .add(Access::Look, route!(one))
            .merge(Routes::new().add(Access::Full, route!(other)));
        let row = |method, path: &str, access| Row { method, path: path.to_owned(), access };
        let expected = [row(Method::GET, "/one", Access::Look), row(Method::POST, "/other", Access::Full)];
        assert_eq!(routes.table(), expected);
        assert_eq!(routes.description().paths.paths.keys().collect::<Vec<_>>(), ["/one", "/other"]);
    }
}
