//! The models: the server's own and the caller's own.

use api::model::PriceDocument;
use api::model::{ModelChoice, ModelDocument, ModelList, SubscriptionDocument, SubscriptionView, TrialView};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::models::{Provider, SERVER, Secret, Subscription, Tier, TierModel};
use chats::subscriptions::{KeyGiven, NewSubscription, Owned, Trial};
use llm::price::Price;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::json::Json;
use crate::web::routes::{Routes, route};
use crate::web::scope::Access;
use crate::web::state::AppState;

/// The routes of models.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, route!(list))
        .add(Access::Full, route!(add))
        .add(Access::Full, route!(change))
        .add(Access::Full, route!(remove))
        .add(Access::Full, route!(test))
        .add(Access::Full, route!(choose))
        .add(Access::Full, route!(choose_for_chat))
}

/// The chat that the choice of model is for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChatQuery {
    /// A conversation, to get its choice; if absent, the choice for all conversations without a choice of their own.
    chat: Option<String>,
}

/// The models that the caller can use.
#[utoipa::path(get, path = "/api/v1/models", tag = "models", params(ChatQuery),
    responses((status = 200, body = ModelList), (status = 404)))]
pub async fn list(
    State(state): State<AppState>,
    caller: Caller,
    extract::Query(query): extract::Query<ChatQuery>,
) -> Result<Json<ModelList>, ApiError> {
    let chat = query.chat.as_deref().map(chat_id).transpose()?;
    let chosen = state.chats.chosen_model(&caller.user, chat.as_ref()).await?;
    let known = state.chats.models(&caller.user).await?;
    let mut models = Vec::new();
    for (name, subscription) in known.iter() {
        models.push(match name {
            SERVER => shared_view(subscription.clone()),
            name => subscription_view(state.chats.subscription(&caller.user, name).await?),
        });
    }
    Ok(Json(ModelList { chosen, models }))
}

/// Add a subscription of the caller's own.
#[utoipa::path(post, path = "/api/v1/models", tag = "models", request_body = SubscriptionDocument,
    responses((status = 201, body = SubscriptionView), (status = 400), (status = 409)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(mut document): extract::Json<SubscriptionDocument>,
) -> Result<(StatusCode, Json<SubscriptionView>), ApiError> {
    let name = document.name.take().ok_or_else(|| ApiError::invalid("give the subscription a name"))?;
    let added = state.chats.add_subscription(&caller.user, &name, &new_subscription(document)?).await?;
    Ok((StatusCode::CREATED, Json(subscription_view(added))))
}

/// Replace a subscription. Its key is kept only if the address stays the same.
#[utoipa::path(put, path = "/api/v1/models/{name}", tag = "models", request_body = SubscriptionDocument,
    params(("name" = String, Path)), responses((status = 200, body = SubscriptionView), (status = 400), (status = 404)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(mut document): extract::Json<SubscriptionDocument>,
) -> Result<Json<SubscriptionView>, ApiError> {
    if document.name.take().is_some_and(|other| other != name) {
        return Err(ApiError::invalid("a subscription cannot be renamed; add another one instead"));
    }
    let changed = state.chats.change_subscription(&caller.user, &name, &new_subscription(document)?).await?;
    Ok(Json(subscription_view(changed)))
}

/// Remove a subscription and its key.
#[utoipa::path(delete, path = "/api/v1/models/{name}", tag = "models",
    params(("name" = String, Path)), responses((status = 204), (status = 404)))]
pub async fn remove(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    state.chats.remove_subscription(&caller.user, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send a model one short request, as a test. `model` is one of the subscription's models: a tier, or a name.
#[utoipa::path(post, path = "/api/v1/models/{name}/test", tag = "models", request_body = ModelChoice,
    params(("name" = String, Path)), responses((status = 200, body = TrialView), (status = 404), (status = 422)))]
pub async fn test(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(which): extract::Json<ModelChoice>,
) -> Result<Json<TrialView>, ApiError> {
    let choice = match &which.model {
        Some(model) => format!("{name}/{model}"),
        None => name,
    };
    let trial = state.chats.try_model(&caller.user, &choice).await?;
    Ok(Json(trial_view(trial)))
}

/// Choose the model of all conversations without a choice of their own.
#[utoipa::path(put, path = "/api/v1/models/default", tag = "models", request_body = ModelChoice,
    responses((status = 200, body = ModelChoice), (status = 400), (status = 404)))]
pub async fn choose(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(choice): extract::Json<ModelChoice>,
) -> Result<Json<ModelChoice>, ApiError> {
    let model = state.chats.choose_model(&caller.user, None, choice.model.as_deref()).await?;
    Ok(Json(ModelChoice { model }))
}

/// Choose the model of a conversation.
#[utoipa::path(put, path = "/api/v1/chats/{id}/model", tag = "models", request_body = ModelChoice,
    params(("id" = String, Path)), responses((status = 200, body = ModelChoice), (status = 400), (status = 404)))]
pub async fn choose_for_chat(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    extract::Json(choice): extract::Json<ModelChoice>,
) -> Result<Json<ModelChoice>, ApiError> {
    let chat = chat_id(&id)?;
    let model = state.chats.choose_model(&caller.user, Some(&chat), choice.model.as_deref()).await?;
    Ok(Json(ModelChoice { model }))
}

/// The view of the server's own subscription, without its address and prices, which not everyone may see.
fn shared_view(subscription: Subscription) -> SubscriptionView {
    let view = subscription_view(Owned { name: SERVER.to_owned(), subscription, key_end: None });
    SubscriptionView { shared: true, base_url: None, ..view }
}

fn subscription_view(owned: Owned) -> SubscriptionView {
    let Owned { name, subscription, key_end } = owned;
    let base_url = subscription.runner.is_none().then(|| subscription.address().to_owned());
    let default_tier = subscription.tier().as_str().into();
    let Subscription { provider, runner, models, fallback, .. } = subscription;
    let models =
        models.into_iter().map(|(tier, model)| (tier.as_str().to_owned(), model_document(model))).collect();
    let provider = provider.as_str().into();
    SubscriptionView {
        name,
        shared: false,
        provider,
        base_url,
        runner,
        models,
        default_tier,
        fallback,
        api_key_end: key_end,
    }
}

/// The answer of a tested model, in the form for clients.
pub(super) fn trial_view(Trial { subscription, model, answer, duration_ms }: Trial) -> TrialView {
    TrialView { subscription, model, answer, duration_ms }
}

fn model_document(model: TierModel) -> ModelDocument {
    let (window_tokens, reply_tokens) = (Some(model.window_tokens()), Some(model.reply_tokens()));
    let TierModel { name, thinking_tokens, price, .. } = model;
    let price = price.map(|Price { input, output, cache_read, cache_write }| PriceDocument {
        input,
        output,
        cache_read,
        cache_write,
    });
    ModelDocument { name, window_tokens, reply_tokens, thinking_tokens, price }
}

fn tier_model(document: ModelDocument) -> TierModel {
    let ModelDocument { name, window_tokens, reply_tokens, thinking_tokens, price } = document;
    let price = price.map(|PriceDocument { input, output, cache_read, cache_write }| Price {
        input,
        output,
        cache_read,
        cache_write,
    });
    TierModel { name, window_tokens, reply_tokens, thinking_tokens, price }
}

/// Converts a client's document to a subscription.
///
/// # Errors
/// `invalid` for an unknown word, and for a subscription without a provider.
pub(super) fn new_subscription(document: SubscriptionDocument) -> Result<NewSubscription, ApiError> {
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let tier = |word: &str| word.parse::<Tier>().map_err(ApiError::invalid);
    let models = document.models.into_iter();
    let models = models.map(|(word, model)| Ok((tier(&word)?, tier_model(model))));
    let subscription = Subscription {
        provider: document.provider.as_str().parse::<Provider>().map_err(ApiError::invalid)?,
        base_url: some(document.base_url),
        runner: some(document.runner),
        models: models.collect::<Result<_, ApiError>>()?,
        default_tier: document
            .default_tier
            .as_ref()
            .map(api::words::Tier::as_str)
            .filter(|word| !word.is_empty())
            .map(tier)
            .transpose()?,
        fallback: some(document.fallback),
    };
    let key = match document.api_key {
        None => KeyGiven::Absent,
        Some(key) if key.is_empty() => KeyGiven::None,
        Some(key) => KeyGiven::Key(Secret(key)),
    };
    Ok(NewSubscription { subscription, key })
}
