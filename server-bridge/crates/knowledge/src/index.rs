//! A document becomes pages and passages of a new version, which then takes the place of the present one.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use extract::{Failure, Kind, Next, Page};
use search::chunks::{self, Limits};
use search::tokens;
use sha2::{Digest, Sha256};
use store::{IndexJob, NewPage, NewPassage, Published, hex};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::faults::{Point, fault};
use crate::limits::{BATCH_BYTES, BATCH_PAGES, CONTENT_KIB, DOCUMENT_BYTES, SCAN_TIMEOUT};
use crate::service::Knowledge;
use crate::sync::{Trouble, path_of};

/// The content of a document, its size and the time of its last change.
pub(crate) struct Content {
    pub(crate) pieces: VecDeque<Bytes>,
    pub(crate) size_bytes: i64,
    /// In Unix milliseconds; 0 for an upload.
    pub(crate) modified_ms: i64,
    /// The memory that is reserved for it.
    _room: Option<OwnedSemaphorePermit>,
}

impl Knowledge {
    /// Does the job of a document. Its failures are recorded with the document; an error is the store's.
    pub(crate) async fn index(&self, job: &IndexJob) -> store::Result<()> {
        let content = if job.place.is_empty() {
            self.uploaded(job).await?
        } else {
            match self.of_folder(job).await {
                Ok(content) => content,
                Err(Trouble::Away(why)) => {
                    // The document keeps waiting: the next scan of the folder queues it again.
                    self.0.store.drop_job(job.id).await?;
                    let state = store::SyncState::Offline;
                    return self.0.store.set_collection_sync(job.collection_id, state, &why).await;
                }
                Err(Trouble::Refused(why)) => return self.0.store.fail_job(job, &why, None).await,
            }
        };
        let seen = (content.size_bytes, content.modified_ms);
        let mut hash = Sha256::new();
        content.pieces.iter().for_each(|piece| hash.update(piece));
        let sha256 = hex(&hash.finalize());
        if sha256 == job.sha256 {
            return self.0.store.keep_version(job, seen.0, seen.1).await;
        }
        let document = job.document_id.unwrap_or(store::DocumentId(0));
        let _turn = self.0.reading.acquire().await;
        // The remains of an attempt that was killed.
        self.0.store.sweep_versions(document).await?;
        match self.read(job, content).await? {
            Ok(Some((kind, pages, note))) => {
                fault(Point::BeforeSwap);
                let (size_bytes, modified_ms) = seen;
                let published = Published {
                    kind: kind.as_str(),
                    pages,
                    sha256: &sha256,
                    size_bytes,
                    modified_ms,
                    note: &note,
                };
                self.0.store.publish(job, &published).await?;
                fault(Point::AfterSwap);
                self.0.meaning.cache.forget(job.collection_id, &[document], Some(job.id.0));
                self.0.meaning.changed(job.user_id, job.collection_id, document);
            }
            // The document is gone, or has newer content.
            Ok(None) => {}
            Err(failure) => self.0.store.fail_job(job, &failure.to_string(), Some(seen)).await?,
        }
        self.0.store.sweep_versions(document).await
    }

    async fn uploaded(&self, job: &IndexJob) -> store::Result<Content> {
        let (mut pieces, mut part, mut size) = (VecDeque::new(), 0, 0);
        while let Some(piece) = self.0.store.upload_part(job.id, part).await? {
            size += piece.len() as i64;
            pieces.push_back(Bytes::from(piece));
            part += 1;
        }
        Ok(Content { pieces, size_bytes: size, modified_ms: 0, _room: None })
    }

    /// Reads a file of the collection's folder.
    async fn of_folder(&self, job: &IndexJob) -> Result<Content, Trouble> {
        let sandbox = (self.0.machines)(job.user_id, job.place.clone()).await.map_err(Trouble::Away)?;
        let path = path_of(&job.path, &job.name);
        let late = || Trouble::Away("reading a file took too long".to_owned());
        let opened = timeout(SCAN_TIMEOUT, sandbox.read_file(&path, sandbox::Range::default())).await;
        let mut reader = opened.map_err(|_| late())??;
        let size = reader.size_bytes();
        if size > DOCUMENT_BYTES {
            return Err(Trouble::Refused(Failure::TooLarge.to_string()));
        }
        // A slow runner keeps the memory for its own file from others, and no more.
        let wanted_kib = u32::try_from(size.div_ceil(1024)).unwrap_or(CONTENT_KIB).min(CONTENT_KIB);
        let room = Arc::clone(&self.0.contents).acquire_many_owned(wanted_kib).await.ok();
        let read = async {
            let (mut pieces, mut read) = (VecDeque::new(), 0_u64);
            while let Some(piece) = reader.next().await {
                let piece = piece?;
                read += piece.len() as u64;
                if read > size {
                    return Err(Trouble::Away("a file grew while it was read".to_owned()));
                }
                pieces.push_back(piece);
            }
            let size_bytes = i64::try_from(read).unwrap_or(i64::MAX);
            Ok(Content { pieces, size_bytes, modified_ms: reader.modified_ms(), _room: room })
        };
        timeout(SCAN_TIMEOUT, read).await.map_err(|_| late())?
    }

    /// Reads the content and stores its pages; returns its kind, the number of its pages and a remark about them, or `None` if the job is
    /// gone.
    async fn read(
        &self,
        job: &IndexJob,
        content: Content,
    ) -> store::Result<Result<Option<(Kind, i64, String)>, Failure>> {
        let pieces = futures_util::stream::iter(content.pieces.into_iter().map(Ok));
        let mut reading = match self.0.extractor.open(&job.name, pieces).await {
            Ok(reading) => reading,
            Err(failure) => return Ok(Err(failure)),
        };
        let kind = reading.kind();
        let mut passages = Passages { name: &job.name, kind, headings: Vec::new() };
        let (mut batch, mut bytes, mut is_first) = (Vec::new(), 0, true);
        loop {
            let next = match reading.next().await {
                Ok(next) => next,
                Err(failure) => return Ok(Err(failure)),
            };
            let done = match next {
                Next::Page(page) => {
                    bytes += page.text.len();
                    batch.push(passages.of(page));
                    None
                }
                Next::Done(done) => Some(done),
            };
            let is_full = batch.len() >= BATCH_PAGES || bytes >= BATCH_BYTES;
            if !batch.is_empty() && (done.is_some() || is_full) {
                if !self.0.store.add_pages(job, &batch).await? {
                    return Ok(Ok(None));
                }
                if std::mem::take(&mut is_first) {
                    fault(Point::Pages);
                }
                (batch, bytes) = (Vec::new(), 0);
            }
            if let Some(done) = done {
                let mut notes = Vec::new();
                if done.broken_pages > 0 {
                    notes.push(format!("{} of {} pages could not be read", done.broken_pages, done.pages));
                }
                if done.cut_pages > 0 {
                    notes.push(format!("{} pages were too long and are cut off", done.cut_pages));
                }
                return Ok(Ok(Some((kind, i64::from(done.pages), notes.join("; ")))));
            }
        }
    }
}

/// Makes passages of pages, one after the other.
struct Passages<'a> {
    name: &'a str,
    kind: Kind,
    /// The headings at the end of the page before, which apply until the next one.
    headings: Vec<String>,
}

impl Passages<'_> {
    fn of(&mut self, page: Page) -> NewPage {
        let form = match self.kind {
            kind if kind.has_headings() => chunks::Kind::Markdown,
            Kind::Code => chunks::Kind::Code,
            _ => chunks::Kind::Plain,
        };
        let found = chunks::split(&page.text, form, Limits::default());
        let mut passages = Vec::with_capacity(found.len());
        for chunk in found {
            if form == chunks::Kind::Markdown && !chunk.headings.is_empty() {
                self.headings.clone_from(&chunk.headings);
            }
            let headings = if chunk.headings.is_empty() { &self.headings } else { &chunk.headings };
            let passage = &page.text[chunk.span.clone()];
            let words = tokens::document(&chunks::with_titles(self.name, headings, passage));
            passages.push(NewPassage {
                start: i64::try_from(chunk.span.start).unwrap_or(i64::MAX),
                end: i64::try_from(chunk.span.end).unwrap_or(i64::MAX),
                headings: headings.join("\n"),
                words: words.words(),
                others: words.others(),
            });
        }
        NewPage { page: i64::from(page.number), title: page.title, text: page.text, passages }
    }
}
