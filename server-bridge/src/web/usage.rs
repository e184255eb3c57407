//! The usage of models: tokens and cost.

use std::collections::BTreeMap;

use accounts::UsageRow;
use api::usage::{DayView, ModelUsageView, Sum, UsageView};
use axum::extract::State;
use serde::Deserialize;
use tools::utc_day;
use utoipa::IntoParams;

use crate::limits::{USAGE_DAYS, USAGE_MAX_DAYS};
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of usage.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Look, route!(show))
}

/// The conversation and the days that a report of usage covers.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct UsageQuery {
    /// A conversation, which may be a removed one; all of the caller's conversations if absent.
    chat: Option<String>,
    /// The number of days, including today; 30 if absent, 3,660 at most.
    days: Option<u16>,
}

/// The usage of the caller's models.
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
    Ok(Json(usage_view(&usage.rows, usage.today)))
}

fn usage_view(rows: &[UsageRow], today: i64) -> UsageView {
    let (mut total, mut days) = (Sum::default(), BTreeMap::<i64, Sum>::new());
    let mut models = BTreeMap::<(&str, &str), Sum>::new();
    for row in rows {
        let model = (row.subscription.as_str(), row.model.as_str());
        for sum in [&mut total, days.entry(row.day).or_default(), models.entry(model).or_default()] {
            add(sum, row);
        }
    }
    let models = models.into_iter().map(|((subscription, model), sum)| ModelUsageView {
        subscription: subscription.to_owned(),
        model: model.to_owned(),
        sum,
    });
    UsageView {
        total,
        today: days.get(&today).copied().unwrap_or_default(),
        days: days.iter().rev().map(|(day, sum)| DayView { day: utc_day(*day), sum: *sum }).collect(),
        models: models.collect(),
    }
}

/// The sum of these rows.
pub(super) fn sum_of(rows: &[UsageRow]) -> Sum {
    let mut sum = Sum::default();
    rows.iter().for_each(|row| add(&mut sum, row));
    sum
}

fn add(sum: &mut Sum, row: &UsageRow) {
    sum.calls += row.calls;
    sum.input_tokens += row.usage.input_tokens;
    sum.cache_read_tokens += row.usage.cache_read_tokens;
    sum.cache_write_tokens += row.usage.cache_write_tokens;
    sum.output_tokens += row.usage.output_tokens;
    sum.cost_micros += row.usage.cost_micros;
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
        let view = usage_view(&[row(9, "a", 1), row(9, "b", 10), row(8, "a", 100)], 9);
        assert_eq!((view.total.input_tokens, view.total.calls, view.total.cost_micros), (111, 3, 6));
        assert_eq!(view.today.input_tokens, 11);
        let days: Vec<_> = view.days.iter().map(|day| (day.day.as_str(), day.sum.input_tokens)).collect();
        assert_eq!(days, [("1970-01-10", 11), ("1970-01-09", 100)]);
        let models: Vec<_> =
            view.models.iter().map(|model| (model.model.as_str(), model.sum.calls)).collect();
        assert_eq!(models, [("a", 2), ("b", 1)]);
    }
}
