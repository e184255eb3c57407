//! The models that answer: the server's own and those that the caller brings.

use std::collections::BTreeMap;

use api::model::PriceDocument;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use chats::models::{Provider, SERVER, Secret, Subscription, Tier, TierModel};
use chats::subscriptions::{KeyGiven, NewSubscription, Owned, Trial};
use llm::price::Price;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use crate::state::AppState;
use crate::web::auth::Caller;
use crate::web::chats::chat_id;
use crate::web::error::ApiError;
use crate::web::extract;
use crate::web::routes::Routes;
use crate::web::scope::Access;

/// The routes of models.
pub(in crate::web) fn routes() -> Routes {
    Routes::new()
        .add(Access::Full, routes!(list))
        .add(Access::Full, routes!(add))
        .add(Access::Full, routes!(change))
        .add(Access::Full, routes!(remove))
        .add(Access::Full, routes!(test))
        .add(Access::Full, routes!(choose))
        .add(Access::Full, routes!(choose_for_chat))
}

/// The models that the caller can ask.
#[derive(Serialize, ToSchema)]
pub struct ModelList {
    /// What was chosen, `NAME`, `NAME/TIER` or `NAME/MODEL`; null where the first subscription answers.
    #[schema(required)]
    chosen: Option<String>,
    /// The server's own first, where there is one; then the caller's, the oldest first.
    models: Vec<SubscriptionView>,
}

/// A subscription: a provider and its models. Its key is never told.
#[derive(Serialize, ToSchema)]
pub struct SubscriptionView {
    name: String,
    /// Whether it is the server's own, which all users share.
    shared: bool,
    /// The dialect that it speaks.
    provider: api::words::Provider,
    /// Where it is; null for the server's own, and for one behind a runner.
    #[schema(required)]
    base_url: Option<String>,
    /// The runner that relays to an endpoint of its own.
    #[schema(required)]
    runner: Option<String>,
    /// By tier: `vanguard`, `balance`, `swift`.
    models: BTreeMap<&'static str, ModelDocument>,
    /// The tier that answers where nothing else is said.
    default_tier: api::words::Tier,
    /// What answers where it is not there.
    #[schema(required)]
    fallback: Option<String>,
    /// The last four characters of its key, empty for a short key; null where it has none, or is the server's own.
    #[schema(required)]
    api_key_end: Option<String>,
}

/// One model of a subscription.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelDocument {
    /// As its provider knows it.
    name: String,
    /// How many tokens its window holds; 200,000 if left out.
    window_tokens: Option<u32>,
    /// How many tokens it may answer with at once; 16,384 if left out.
    reply_tokens: Option<u32>,
    /// How much it shall think, in tokens; as its provider does if left out.
    thinking_tokens: Option<u32>,
    /// What its tokens cost; not known if left out.
    price: Option<PriceDocument>,
}

/// A subscription to be added, or to take another one's place.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionDocument {
    /// Its name, where it is added.
    pub(super) name: Option<String>,
    /// `openai` or `anthropic`.
    provider: String,
    /// Where it is; the provider's own address if left out.
    base_url: Option<String>,
    /// Instead: the runner that relays to an endpoint of its own, whose key only it holds.
    runner: Option<String>,
    /// By tier: `vanguard`, `balance`, `swift`; at least one.
    models: BTreeMap<String, ModelDocument>,
    /// The tier that answers where nothing else is said.
    default_tier: Option<String>,
    /// What answers where it is not there: `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`.
    fallback: Option<String>,
    /// The provider's key; left out, one that is changed keeps its own, and an empty text takes it away.
    api_key: Option<String>,
}

/// Which chat is meant.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChatQuery {
    /// A conversation, for what was chosen there; without one what was chosen for all that have no model of their own.
    chat: Option<String>,
}

/// A choice of a model.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ModelChoice {
    /// `NAME`, `TIER`, `NAME/TIER` or `NAME/MODEL`; null takes a choice back.
    #[serde(default)]
    model: Option<String>,
}

/// What a model that was tried said.
#[derive(Serialize, ToSchema)]
pub struct TrialView {
    subscription: String,
    model: String,
    answer: String,
    duration_ms: u64,
}

/// The models that the caller can ask.
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
            SERVER => SubscriptionView::shared(subscription.clone()),
            name => state.chats.subscription(&caller.user, name).await?.into(),
        });
    }
    Ok(Json(ModelList { chosen, models }))
}

/// Add a subscription of one's own.
#[utoipa::path(post, path = "/api/v1/models", tag = "models", request_body = SubscriptionDocument,
    responses((status = 201, body = SubscriptionView), (status = 400), (status = 409)))]
pub async fn add(
    State(state): State<AppState>,
    caller: Caller,
    extract::Json(mut document): extract::Json<SubscriptionDocument>,
) -> Result<(StatusCode, Json<SubscriptionView>), ApiError> {
    let name = document.name.take().ok_or_else(|| ApiError::invalid("give the subscription a name"))?;
    let added = state.chats.add_subscription(&caller.user, &name, &document.try_into()?).await?;
    Ok((StatusCode::CREATED, Json(added.into())))
}

/// Put another subscription in the place of one. A key stays only with the address it was given for.
#[utoipa::path(put, path = "/api/v1/models/{name}", tag = "models", request_body = SubscriptionDocument,
    params(("name" = String, Path)), responses((status = 200, body = SubscriptionView), (status = 400), (status = 404)))]
pub async fn change(
    State(state): State<AppState>,
    caller: Caller,
    Path(name): Path<String>,
    extract::Json(mut document): extract::Json<SubscriptionDocument>,
) -> Result<Json<SubscriptionView>, ApiError> {
    if document.name.take().is_some_and(|other| other != name) {
        return Err(ApiError::invalid("a subscription keeps its name; add another one instead"));
    }
    Ok(Json(state.chats.change_subscription(&caller.user, &name, &document.try_into()?).await?.into()))
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

/// Ask a model for a word, once. `model` says which one of the subscription: a tier, or a name.
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
    Ok(Json(trial.into()))
}

/// Choose the model of all conversations that have none of their own.
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

impl SubscriptionView {
    /// The server's own: where it is and how it is paid for is not for everybody.
    fn shared(subscription: Subscription) -> Self {
        let view = Self::from(Owned { name: SERVER.to_owned(), subscription, key_end: None });
        Self { shared: true, base_url: None, ..view }
    }
}

impl From<Owned> for SubscriptionView {
    fn from(owned: Owned) -> Self {
        let Owned { name, subscription, key_end } = owned;
        let base_url = subscription.runner.is_none().then(|| subscription.address().to_owned());
        let default_tier = subscription.tier().as_str().into();
        let Subscription { provider, runner, models, fallback, .. } = subscription;
        let models = models.into_iter().map(|(tier, model)| (tier.as_str(), model.into())).collect();
        let provider = provider.as_str().into();
        Self {
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
}

impl SubscriptionDocument {
    /// Where a provider is, without any of its models.
    pub(super) fn of_place(
        provider: String,
        base_url: Option<String>,
        runner: Option<String>,
        api_key: Option<String>,
    ) -> Self {
        let (name, models, default_tier, fallback) = Default::default();
        Self { name, provider, base_url, runner, models, default_tier, fallback, api_key }
    }
}

impl From<Trial> for TrialView {
    fn from(Trial { subscription, model, answer, duration_ms }: Trial) -> Self {
        Self { subscription, model, answer, duration_ms }
    }
}

impl From<TierModel> for ModelDocument {
    fn from(model: TierModel) -> Self {
        let (window_tokens, reply_tokens) = (Some(model.window_tokens()), Some(model.reply_tokens()));
        let TierModel { name, thinking_tokens, price, .. } = model;
        let price = price.map(|Price { input, output, cache_read, cache_write }| PriceDocument {
            input,
            output,
            cache_read,
            cache_write,
        });
        Self { name, window_tokens, reply_tokens, thinking_tokens, price }
    }
}

impl From<ModelDocument> for TierModel {
    fn from(document: ModelDocument) -> Self {
        let ModelDocument { name, window_tokens, reply_tokens, thinking_tokens, price } = document;
        let price = price.map(|PriceDocument { input, output, cache_read, cache_write }| Price {
            input,
            output,
            cache_read,
            cache_write,
        });
        Self { name, window_tokens, reply_tokens, thinking_tokens, price }
    }
}

impl TryFrom<SubscriptionDocument> for NewSubscription {
    type Error = ApiError;

    fn try_from(document: SubscriptionDocument) -> Result<Self, ApiError> {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        let tier = |word: &str| word.parse::<Tier>().map_err(ApiError::invalid);
        let models = document.models.into_iter();
        let models = models.map(|(word, model)| Ok((tier(&word)?, TierModel::from(model))));
        let subscription = Subscription {
            provider: document.provider.parse::<Provider>().map_err(ApiError::invalid)?,
            base_url: some(document.base_url),
            runner: some(document.runner),
            models: models.collect::<Result<_, ApiError>>()?,
            default_tier: some(document.default_tier).as_deref().map(tier).transpose()?,
            fallback: some(document.fallback),
        };
        let key = match document.api_key {
            None => KeyGiven::Absent,
            Some(key) if key.is_empty() => KeyGiven::None,
            Some(key) => KeyGiven::Key(Secret(key)),
        };
        Ok(Self { subscription, key })
    }
}
