//! A model's provider before its subscription is stored: its models, and a trial of one of them.

use api::model::{OfferedModels, ProviderDocument, SubscriptionDocument, TrialView};
use axum::extract::State;
use chats::subscriptions::{Offered, Trial};

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::models::{new_subscription, trial_view};
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of trying a model before it is stored.
pub(in crate::web) fn routes() -> Routes {
    Routes::new().add(Access::Full, route!(models)).add(Access::Full, route!(trial))
}

/// List the models of a provider. Nothing of the request is stored.
#[utoipa::path(post, path = "/api/v1/providers/models", tag = "models", request_body = ProviderDocument,
    responses((status = 200, body = OfferedModels), (status = 400), (status = 422)))]
pub async fn models(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(document): extract::Json<ProviderDocument>,
) -> Result<Json<OfferedModels>, ApiError> {
    let ProviderDocument { name, provider, base_url, runner, api_key } = document;
    let place =
        SubscriptionDocument { provider, base_url, runner, api_key, ..SubscriptionDocument::default() };
    let place = new_subscription(place)?;
    let offered = state.chats.offered_models(&caller.user, name.as_deref(), &place).await?;
    Ok(Json(match offered {
        Some(Offered { names, is_complete }) => OfferedModels { models: Some(names), complete: is_complete },
        None => OfferedModels { models: None, complete: false },
    }))
}

/// Send a subscription's model one short request, as a test before the subscription is saved; nothing of the request is
/// stored. The error's kind names the problem: `key`, `unknown_model`, `address`, `network`, `timeout` and others.
#[utoipa::path(post, path = "/api/v1/providers/trial", tag = "models", request_body = SubscriptionDocument,
    responses((status = 200, body = TrialView), (status = 400), (status = 422)))]
pub async fn trial(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(mut document): extract::Json<SubscriptionDocument>,
) -> Result<Json<TrialView>, ApiError> {
    let name = document.name.take();
    let trial: Trial =
        state.chats.try_subscription(&caller.user, name.as_deref(), &new_subscription(document)?).await?;
    Ok(Json(trial_view(trial)))
}
