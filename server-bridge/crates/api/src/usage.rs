//! The usage of models: tokens and cost.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tokens and costs of models. Days are in UTC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageView {
    /// The total usage.
    pub total: Sum,
    /// Today's part of the total.
    #[serde(default)]
    #[schema(required)]
    pub today: Sum,
    /// The usage by day, the newest first; days without usage are left out.
    #[serde(default)]
    #[schema(required)]
    pub days: Vec<DayView>,
    /// The usage by model.
    #[serde(default)]
    #[schema(required)]
    pub models: Vec<ModelUsageView>,
}

/// The usage of one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DayView {
    /// The day, as `YYYY-MM-DD`.
    pub day: String,
    /// The usage of that day.
    #[serde(flatten)]
    pub sum: Sum,
}

/// The usage of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelUsageView {
    /// `server`, or the caller's name for it.
    pub subscription: String,
    /// The model, as its provider knows it.
    #[serde(default)]
    #[schema(required)]
    pub model: String,
    /// The usage of that model.
    #[serde(flatten)]
    pub sum: Sum,
}

/// A number of requests to models, with their tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Sum {
    /// The number of requests.
    pub calls: i64,
    /// The number of tokens read, including those from a cache.
    #[serde(default)]
    #[schema(required)]
    pub input_tokens: i64,
    /// The number of those that came from a cache.
    #[serde(default)]
    #[schema(required)]
    pub cache_read_tokens: i64,
    /// The number of those that were stored in a cache.
    #[serde(default)]
    #[schema(required)]
    pub cache_write_tokens: i64,
    /// The number of tokens written.
    #[serde(default)]
    #[schema(required)]
    pub output_tokens: i64,
    /// The cost, in millionths of a US dollar, as far as prices are known.
    #[serde(default)]
    #[schema(required)]
    pub cost_micros: i64,
}
