//! The worker: takes jobs from the store's queue, one of each lane at a time, and scans the folders of runners every 10 minutes.

use std::future::Future;

use store::{IndexJob, Lane};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::faults::{Point, fault};
use crate::lanes::Lanes;
use crate::limits::{ATTEMPTS, FORGET_PAUSES, FULL_RETRY, RETRY, SCAN_TIMEOUT, SYNC_INTERVAL};
use crate::service::Knowledge;

impl Knowledge {
    /// Indexes and embeds until `shutdown`. A job that is interrupted begins again at the next start.
    pub async fn run(&self, shutdown: CancellationToken) {
        let work = async { tokio::join!(self.work(), self.embed(), self.forget(), self.analyse_older()) };
        tokio::select! {
            _ = work => {}
            () = shutdown.cancelled() => {}
        }
    }

    /// Removes the incomplete data that a killed node left for one user's documents.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn recover(&self, user: store::UserId) -> store::Result<()> {
        self.0.store.recover_index(Some(user)).await
    }

    async fn work(&self) {
        // A node recovers the index of each user when it becomes that user's home.
        if !self.0.store.is_node() {
            self.until_done("recovering the index", || self.0.store.recover_index(None)).await;
        }
        let (mut next_look, mut lanes) = (Instant::now(), Lanes::default());
        // The jobs end when this future is dropped.
        let mut jobs: JoinSet<Lane> = JoinSet::new();
        loop {
            if Instant::now() >= next_look {
                self.look_at_folders().await;
                next_look = Instant::now() + SYNC_INTERVAL;
            }
            let ready = self.until_done("listing jobs", || self.0.store.index_lanes()).await;
            while let Some(lane) = lanes.begin(&ready) {
                let knowledge = self.clone();
                jobs.spawn(async move {
                    knowledge.one_of(&lane).await;
                    lane
                });
            }
            tokio::select! {
                Some(done) = jobs.join_next() => match done {
                    Ok(lane) => lanes.end(&lane),
                    Err(error) => {
                        // The error does not name the lane that failed, so all lanes start again.
                        tracing::error!(%error, "indexing a document ended early");
                        jobs.shutdown().await;
                        lanes = Lanes::default();
                    }
                },
                () = self.0.wake.notified() => {}
                () = sleep_until(next_look) => {}
            }
        }
    }

    /// Carries out the next job of a lane.
    async fn one_of(&self, lane: &Lane) {
        let job = self.until_done("taking a job", || self.0.store.next_index_job(lane)).await;
        let Some(job) = job else { return };
        let Err(error) = self.job(&job).await else { return self.0.standstill.end() };
        tracing::error!(%error, job = job.id.0, "a document could not be indexed");
        if error.is_full() || error.is_away() {
            self.0.standstill.begin(&error);
            self.put_back(&job).await;
        } else if job.attempts >= ATTEMPTS && !error.is_passing() {
            self.refuse(&job, &error).await;
        }
        sleep(if error.is_full() { FULL_RETRY } else { RETRY }).await;
    }

    /// Does not count an attempt, since the store failed and not the document, and removes what it stored, which makes room on a full disk.
    /// On an almost full disk, there may be room only for the first of these.
    async fn put_back(&self, job: &IndexJob) {
        if let Err(error) = self.0.store.forgive_attempts(job.user_id, job.id).await {
            tracing::warn!(%error, job = job.id.0, "an attempt counts against a document, although the store failed");
        }
        self.remove_rest(job).await;
    }

    /// Gives up a job that the store refused in each attempt, so that the lane's other jobs are done.
    async fn refuse(&self, job: &IndexJob, error: &store::Error) {
        match self.give_up(job, &error.shown()).await {
            Ok(()) => self.0.standstill.end(),
            Err(error) => tracing::error!(%error, job = job.id.0, "a job could not be given up"),
        }
        self.remove_rest(job).await;
    }

    /// Removes what a failed job stored.
    async fn remove_rest(&self, job: &IndexJob) {
        if let Some(document) = job.document_id
            && let Err(error) = self.0.store.sweep_versions(job.user_id, document).await
        {
            tracing::warn!(%error, job = job.id.0, "what is stored of that document stays until the next attempt");
        }
    }

    async fn job(&self, job: &IndexJob) -> store::Result<()> {
        fault(Point::Begun);
        if job.attempts > ATTEMPTS {
            let note =
                "the server was killed each time it read this document; add it again for another attempt";
            return self.give_up(job, note).await;
        }
        if job.document_id.is_some() {
            return self.index(job).await;
        }
        match timeout(SCAN_TIMEOUT, self.look(job)).await {
            Ok(done) => done,
            Err(_) => {
                self.folder_failed(job, "scanning the folder took too long; it will be retried in 10 minutes")
                    .await
            }
        }
    }

    async fn give_up(&self, job: &IndexJob, note: &str) -> store::Result<()> {
        match job.document_id {
            Some(_) => self.0.store.fail_job(job, note, None).await,
            None => self.folder_failed(job, note).await,
        }
    }

    async fn look_at_folders(&self) {
        let folders = self.until_done("listing folders", || self.0.store.folder_collections()).await;
        for (user, collection) in folders {
            // The owner may have removed the collection in the meantime.
            if let Err(error) = self.0.store.queue_sync(user, collection, false).await {
                tracing::warn!(%error, "a folder could not be queued for a scan");
            }
        }
    }

    /// Removes the traces of deleted documents and memories from the database's files, soon after each deletion.
    async fn forget(&self) {
        loop {
            self.0.store.deletion().await;
            let began = Instant::now();
            if let Err(error) = self.0.store.forget_deleted().await {
                tracing::warn!(%error, "traces of deleted rows stay in the database's free space until the next deletion");
            }
            // The pause leaves most of the time to other writes. The next run covers all deletions until then.
            sleep(began.elapsed() * FORGET_PAUSES).await;
        }
    }

    /// Repeats a request until the store succeeds.
    async fn until_done<T, F: Future<Output = store::Result<T>>>(
        &self,
        what: &str,
        ask: impl Fn() -> F,
    ) -> T {
        let mut has_failed = false;
        loop {
            match ask().await {
                Ok(done) => {
                    // A first success ends nothing: on a full disk, lists can still be read.
                    if has_failed {
                        self.0.standstill.end();
                    }
                    return done;
                }
                Err(error) => {
                    tracing::error!(%error, what, "the store failed; trying again");
                    self.0.standstill.begin(&error);
                    has_failed = true;
                    sleep(RETRY).await;
                }
            }
        }
    }
}
