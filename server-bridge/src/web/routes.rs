//! The table of routes: each area adds its handlers, with the keys that open them; router, description and scopes follow from it.

use axum::http::Method;
use axum::routing::MethodRouter;
use axum::{Extension, Router};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::web::scope::Access;
use crate::web::state::AppState;

/// Routes with their descriptions and scopes. There is no way to add one without [`Access`].
#[derive(Default)]
pub struct Routes {
    described: OpenApiRouter<AppState>,
    table: Vec<Row>,
}

/// A line of the table: a route that is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The request's method; GET answers HEAD too.
    pub method: Method,
    /// The path, with `{name}` for its parts that vary.
    pub path: String,
    /// The keys that open it.
    pub access: Access,
}

impl Routes {
    /// No routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one handler, as `routes!(handler)`, at the method and path of its `#[utoipa::path]`.
    ///
    /// # Panics
    /// With several handlers at once: each has an access of its own.
    #[must_use]
    pub fn add(mut self, access: Access, (schemas, paths, handler): UtoipaMethodRouter<AppState>) -> Self {
        let operations = paths.paths.iter().flat_map(|(path, item)| {
            let of = [
                (Method::GET, &item.get),
                (Method::PUT, &item.put),
                (Method::POST, &item.post),
                (Method::DELETE, &item.delete),
            ];
            of.into_iter().filter(|(_, operation)| operation.is_some()).map(move |(method, _)| (method, path))
        });
        let operations: Vec<_> = operations.collect();
        let [(method, path)] = operations.as_slice() else {
            panic!("one handler of GET, PUT, POST or DELETE at a time: {:?}", paths.paths.keys());
        };
        self.table.push(Row { method: method.clone(), path: (*path).clone(), access });
        self.described = self.described.routes((schemas, paths, opened_by(access, handler)));
        self
    }

    /// Adds a handler that the description leaves out.
    #[must_use]
    pub fn undescribed(self, access: Access, path: &str, handler: MethodRouter<AppState>) -> Self {
        Self { described: self.described.route(path, opened_by(access, handler)), table: self.table }
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

    /// The router of all of them.
    pub fn router(self) -> Router<AppState> {
        self.described.into()
    }
}

/// A handler that tells [`crate::web::auth::Caller`] which keys open it.
fn opened_by(access: Access, handler: MethodRouter<AppState>) -> MethodRouter<AppState> {
    handler.route_layer(Extension(access))
}

#[cfg(test)]
mod tests {
    use utoipa_axum::routes;

    use super::*;

    #[utoipa::path(get, path = "/one")]
    async fn one() {}

    #[utoipa::path(post, path = "/other")]
    async fn other() {}

    /// The macro would answer each path with both handlers.
    #[test]
    #[should_panic(expected = "one handler")]
    fn two_handlers_are_not_added_at_once() {
        let _ = Routes::new().add(Access::Full, routes!(one, other));
    }

    #[test]
    fn a_route_is_in_the_table_and_in_the_description() {
        let routes = Routes::new()
            .add(Access::Look, routes!(one))
            .merge(Routes::new().add(Access::Full, routes!(other)));
        let row = |method, path: &str, access| Row { method, path: path.to_owned(), access };
        let expected = [row(Method::GET, "/one", Access::Look), row(Method::POST, "/other", Access::Full)];
        assert_eq!(routes.table(), expected);
        assert_eq!(routes.description().paths.paths.keys().collect::<Vec<_>>(), ["/one", "/other"]);
    }
}
