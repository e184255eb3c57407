//! The worker that embeds: every passage gets a vector of the server's embedder, some passages at a time.
//!
//! ```text
//!   a new model ─► every collection has a turn ─► vectors alongside those of the model before ─► complete: it answers, the others are removed
//!   a new version of a document ─► its collection has a turn, from that document on
//!   the embedder fails ─► a trial shows whether it is unavailable (a pause) or refuses the texts (one by one; refused ones are found by words)
//! ```
//! The store records the progress, so that a restarted server continues where the last one stopped.

use std::time::Duration;

use llm::embed::{Guarded, key_without_provider};
use search::chunks::with_headings;
use store::{BarePassage, EmbeddingModel, PassageVector};
use tokio::time::sleep;

use crate::faults::{Point, fault};
use crate::limits::{EMBEDDER_POLL, LOCAL_BATCH, REMOTE_BATCH, RETRY};
use crate::meaning::Problem;
use crate::service::Knowledge;
use crate::turns::{Turn, Turns, before};

/// The text that is embedded as a trial.
const TRIAL: &str = "ready";

/// The work for one model.
struct Round {
    name: String,
    /// Unknown until the embedder has answered once.
    model: Option<EmbeddingModel>,
    turns: Turns,
    /// True if the round ended and nothing has changed since.
    is_over: bool,
}

/// The next action of the worker.
enum Then {
    /// The next step, at once.
    GoOn,
    /// A pause, unless something changes.
    Wait(Duration),
}

impl Knowledge {
    /// Embeds passages without vectors, and new ones, until the future is dropped.
    pub(crate) async fn embed(&self) {
        let mut round = None;
        loop {
            let pause = match self.step(&mut round).await {
                Ok(Then::GoOn) => continue,
                Ok(Then::Wait(pause)) => pause,
                Err(error) => {
                    tracing::error!(%error, "passages could not be embedded; trying again");
                    round = None;
                    RETRY
                }
            };
            tokio::select! {
                () = self.0.meaning.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    async fn step(&self, round: &mut Option<Round>) -> store::Result<Then> {
        let meaning = &self.0.meaning;
        let embedder = match (meaning.embedders)(None).await {
            Ok(Some(embedder)) => embedder,
            Ok(None) => {
                if round.take().is_some() {
                    meaning.begin(None, false);
                }
                meaning.set_problem(None);
                return Ok(Then::Wait(EMBEDDER_POLL));
            }
            Err(_) => {
                meaning.set_problem(Some(Problem::Unusable));
                return Ok(Then::Wait(EMBEDDER_POLL));
            }
        };
        if self.is_outdated(round.as_ref(), &embedder).await? {
            *round = Some(self.begin_round(&embedder).await?);
        }
        let Some(round) = round else { return Ok(Then::GoOn) };
        for (collection, (user, document)) in meaning.take_changed() {
            round.turns.add(user, collection, before(document));
            round.is_over = false;
        }
        if let Some((error, left)) = embedder.rest().left() {
            meaning.set_problem(Some(Problem::of(&error)));
            return Ok(Then::Wait(left.min(EMBEDDER_POLL)));
        }
        if embedder.rest().failure().is_none() {
            meaning.set_problem(None);
        }
        let Some(turn) = round.turns.next() else {
            if embedder.rest().failure().is_some() {
                // A search failed. The trial's result is noted with the embedder.
                let _ = embedder.passages(vec![TRIAL.to_owned()], None).await;
                return Ok(Then::GoOn);
            }
            return self.end_round(round).await;
        };
        let id = round.model.as_ref().map_or(0, |model| model.id);
        if turn.after == before(store::DocumentId(0)) {
            meaning.refused(turn.collection, None);
        }
        let limit = if embedder.is_built_in() { LOCAL_BATCH } else { REMOTE_BATCH };
        let bare = self.0.store.bare_passages(id, turn.collection, turn.after, limit).await?;
        if bare.is_empty() {
            round.turns.ended(turn);
        } else if self.embed_batch(&embedder, round, turn, &bare).await? {
            meaning.set_problem(None);
        } else {
            let problem = embedder.rest().failure().map(|error| Problem::of(&error));
            meaning.set_problem(problem);
        }
        meaning.set_pending(round.turns.collections().collect());
        Ok(Then::GoOn)
    }

    /// True if the embedder's model differs from that of the round, or its vectors were removed so that they are made again.
    async fn is_outdated(&self, round: Option<&Round>, embedder: &Guarded) -> store::Result<bool> {
        let Some(round) = round.filter(|round| round.name == embedder.model()) else { return Ok(true) };
        let Some(model) = &round.model else { return Ok(false) };
        Ok(!self.0.store.embedding_models().await?.iter().any(|known| known.id == model.id))
    }

    /// Begins with a model: each collection gets a turn.
    async fn begin_round(&self, embedder: &Guarded) -> store::Result<Round> {
        let name = embedder.model().to_owned();
        let mut models = self.0.store.embedding_models().await?;
        if let Some(unnamed) = without_provider(&models, &name, embedder.setting()) {
            self.0.store.rename_embedding_model(unnamed, &name).await?;
            models = self.0.store.embedding_models().await?;
        }
        let known = models.iter().find(|model| model.name == name).cloned();
        let is_complete = known.as_ref().is_some_and(|model| model.is_complete);
        let is_served = !is_complete && models.iter().any(|model| model.is_complete);
        let model = match known {
            Some(model) if model.chosen != embedder.setting() => {
                Some(self.0.store.embedding_model(&name, model.dimensions, embedder.setting()).await?)
            }
            known => known,
        };
        let mut turns = Turns::default();
        for (user, collection) in self.0.store.all_collections().await? {
            turns.add(user, collection, before(store::DocumentId(0)));
        }
        self.0.meaning.begin(model.as_ref().map(|model| model.id), is_served);
        Ok(Round { name, model, turns, is_over: false })
    }

    /// No passage is left: the model answers from now on.
    async fn end_round(&self, round: &mut Round) -> store::Result<Then> {
        if let (false, Some(model)) = (round.is_over, &mut round.model) {
            let others = self.0.store.embedding_models().await?.len() > 1;
            if others || !model.is_complete {
                self.0.store.complete_embedding_model(model.id).await?;
                model.is_complete = true;
                self.0.meaning.complete();
                self.0.meaning.cache.keep_model(model.id);
            }
        }
        round.is_over = true;
        Ok(Then::Wait(EMBEDDER_POLL))
    }

    /// Embeds some passages of a turn, which then continues after them; returns false if the embedder needs a pause.
    async fn embed_batch(
        &self,
        embedder: &Guarded,
        round: &mut Round,
        turn: Turn,
        bare: &[BarePassage],
    ) -> store::Result<bool> {
        let dimensions = round.model.as_ref().and_then(|model| usize::try_from(model.dimensions).ok());
        let texts = bare.iter().map(text_of).collect();
        let Ok(vectors) = embedder.passages(texts, dimensions).await else { return Ok(false) };
        if let (None, Some(first)) = (&round.model, vectors.iter().flatten().next()) {
            let dimensions = i64::try_from(first.dimensions()).unwrap_or(i64::MAX);
            let model = self.0.store.embedding_model(&round.name, dimensions, embedder.setting()).await?;
            let is_other = model.dimensions != dimensions;
            self.0.meaning.set_model(model.id);
            round.model = Some(model);
            if is_other {
                // The next attempt is refused because of the dimensions.
                return Ok(true);
            }
        }
        let mut added = Vec::with_capacity(bare.len());
        for (one, vector) in bare.iter().zip(vectors) {
            let (id, document_id, version) = (one.id, one.document_id, one.version);
            match vector {
                Some(vector) => {
                    added.push(PassageVector { id, document_id, version, vector: vector.bytes() });
                }
                None => self.0.meaning.refused(turn.collection, Some(id)),
            }
        }
        if let Some(model) = &round.model {
            fault(Point::BeforeVectors);
            self.0.store.add_vectors(model.id, &added).await?;
            fault(Point::AfterVectors);
            self.0.meaning.cache.add(model.id, turn.collection, &added);
        }
        if let Some(last) = bare.last() {
            round.turns.went_on(turn, last.place());
        }
        Ok(true)
    }
}

/// The id of the model `name` as an earlier version of the server stored it, without the name of its provider; `None` if there is
/// none, or another setting chose it.
fn without_provider(models: &[EmbeddingModel], name: &str, setting: &str) -> Option<i64> {
    let earlier = key_without_provider(name)?;
    let is_it = |model: &&EmbeddingModel| model.name == earlier && model.chosen == setting;
    models.iter().find(is_it).map(|model| model.id)
}

/// A passage as it is embedded.
fn text_of(passage: &BarePassage) -> String {
    let headings: Vec<String> = passage.headings.lines().map(str::to_owned).collect();
    with_headings(&passage.document, &headings, passage.text())
}
