//! The query that names a place.

use serde::Deserialize;
use utoipa::IntoParams;

/// The place of a request.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PlaceQuery {
    /// The runner whose workspace is read and on which programs run, or `__docker__`; the active one if absent.
    pub(in crate::web) on: Option<String>,
}
