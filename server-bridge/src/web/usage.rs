//! What models took: tokens and cost.

use std::collections::BTreeMap;

use accounts::UsageRow;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tools::utc_day;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use crate::limits::{USAGE_DAYS, USAGE_MAX_DAYS};
use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of usage.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, routes!(show))
}

/// What is to be accounted for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// A conversation, which may be a removed one; without one all of the caller's.
    chat: Option<String>,
    /// How many days, today included; 30 if absent, 3,660 at most.
    days: Option<u16>,
}

/// What models took. Days are UTC's.
#[derive(Serialize, ToSchema)]
pub struct UsageView {
    /// All of it.
    total: Sum,
    /// What today took of it.
    today: Sum,
    /// By day, the newest first; days without any are left out.
    days: Vec<DayView>,
    /// By model.
    models: Vec<ModelUsageView>,
}

/// What one day took.
#[derive(Serialize, ToSchema)]
pub struct DayView {
    /// `YYYY-MM-DD`.
    day: String,
    #[serde(flatten)]
    sum: Sum,
}

/// What one model took.
#[derive(Serialize, ToSchema)]
pub struct ModelUsageView {
    /// `server`, or what the caller calls it.
    subscription: String,
    model: String,
    #[serde(flatten)]
    sum: Sum,
}

/// Answers, their tokens and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Sum {
    /// Answers.
    calls: i64,
    /// Tokens read, from a cache or not.
    input_tokens: i64,
    /// So many of those came from a cache.
    cache_read_tokens: i64,
    /// So many of those were put into a cache.
    cache_write_tokens: i64,
    /// Tokens written.
    output_tokens: i64,
    /// Millionths of a US dollar, as far as prices are known.
    cost_micros: i64,
}

/// What the caller's models took.
#[utoipa::path(get, path = "/api/v1/usage", tag = "models", params(UsageQuery),
    responses((status = 200, body = UsageView), (status = 400)))]
pub async fn show(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<UsageQuery>,
) -> Result<Json<UsageView>, ApiError> {
    let chat = query.chat.as_deref().map(chat_id).transpose()?;
    let days = query.days.unwrap_or(USAGE_DAYS).clamp(1, USAGE_MAX_DAYS);
    let usage = state.accounts.usage(caller.user.id, chat.as_ref(), days).await?;
    Ok(Json(UsageView::of(&usage.rows, usage.today)))
}

impl UsageView {
    fn of(rows: &[UsageRow], today: i64) -> Self {
        let (mut total, mut days) = (Sum::default(), BTreeMap::<i64, Sum>::new());
        let mut models = BTreeMap::<(&str, &str), Sum>::new();
        for row in rows {
            let model = (row.subscription.as_str(), row.model.as_str());
            for sum in [&mut total, days.entry(row.day).or_default(), models.entry(model).or_default()] {
                sum.add(row);
            }
        }
        let models = models.into_iter().map(|((subscription, model), sum)| ModelUsageView {
            subscription: subscription.to_owned(),
            model: model.to_owned(),
            sum,
        });
        Self {
            total,
            today: days.get(&today).copied().unwrap_or_default(),
            days: days.iter().rev().map(|(day, sum)| DayView { day: utc_day(*day), sum: *sum }).collect(),
            models: models.collect(),
        }
    }
}

impl Sum {
    /// What all of these took.
    pub(super) fn of(rows: &[UsageRow]) -> Self {
        let mut sum = Self::default();
        rows.iter().for_each(|row| sum.add(row));
        sum
    }

    fn add(&mut self, row: &UsageRow) {
        self.calls += row.calls;
        self.input_tokens += row.usage.input_tokens;
        self.cache_read_tokens += row.usage.cache_read_tokens;
        self.cache_write_tokens += row.usage.cache_write_tokens;
        self.output_tokens += row.usage.output_tokens;
        self.cost_micros += row.usage.cost_micros;
    }
}

#[cfg(test)]
mod tests {
    use accounts::TurnUsage;

    use super::*;

    #[test]
    fn rows_are_summed_by_day_and_by_model() {
        let row = |day, model: &str, tokens| UsageRow {
            day,
            subscription: "server".to_owned(),
            model: model.to_owned(),
            calls: 1,
            usage: TurnUsage { input_tokens: tokens, cost_micros: 2, ..TurnUsage::default() },
        };
        let view = UsageView::of(&[row(9, "a", 1), row(9, "b", 10), row(8, "a", 100)], 9);
        assert_eq!((view.total.input_tokens, view.total.calls, view.total.cost_micros), (111, 3, 6));
        assert_eq!(view.today.input_tokens, 11);
        let days: Vec<_> = view.days.iter().map(|day| (day.day.as_str(), day.sum.input_tokens)).collect();
        assert_eq!(days, [("1970-01-10", 11), ("1970-01-09", 100)]);
        let models: Vec<_> =
            view.models.iter().map(|model| (model.model.as_str(), model.sum.calls)).collect();
        assert_eq!(models, [("a", 2), ("b", 1)]);
    }
}
