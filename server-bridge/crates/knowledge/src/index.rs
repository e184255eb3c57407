//! A document becomes pages and passages of a new version, which then takes the place of the present one.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use extract::{Done, Failure, Kind, Next, Page, Plain, Reading};
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
    /// The time of the last change, in Unix milliseconds; 0 for an upload.
    pub(crate) modified_ms: i64,
    /// The memory that is reserved for the content.
    _room: Option<OwnedSemaphorePermit>,
}

impl Knowledge {
    /// Carries out the job of a document. Failures of the document are recorded with it; only the store's errors are returned.
    pub(crate) async fn index(&self, job: &IndexJob) -> store::Result<()> {
        let mut content = if job.place.is_empty() {
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
        let sha256;
        (content, sha256) = computed(move || {
            let sha256 = content.sha256();
            (content, sha256)
        })
        .await;
        if sha256 == job.sha256 {
            return self.0.store.keep_version(job, seen.0, seen.1).await;
        }
        let document = job.document_id.unwrap_or(store::DocumentId(0));
        let _turn = self.0.reading.acquire().await;
        if job.attempts > 1 {
            // Removes what an attempt that was killed left.
            self.0.store.sweep_versions(job.user_id, document).await?;
        }
        let has_remains = match self.read(job, content).await? {
            Ok(Some(read)) => {
                fault(Point::BeforeSwap);
                let (size_bytes, modified_ms) = seen;
                let published = Published {
                    kind: read.kind.as_str(),
                    pages: i64::from(read.done.pages),
                    sha256: &sha256,
                    size_bytes,
                    modified_ms,
                    note: &note_of(&read.done),
                };
                let is_published = self.0.store.publish_with(job, &read.last_pages, &published).await?;
                fault(Point::AfterSwap);
                self.0.meaning.cache.forget(job.collection_id, &[document], Some(job.id.0));
                self.0.meaning.changed(job.user_id, job.collection_id, document);
                // True if rows of an earlier version remain.
                !is_published || !job.sha256.is_empty()
            }
            // The document was removed, or has newer content.
            Ok(None) => true,
            Err(failure) => {
                self.0.store.fail_job(job, &failure.to_string(), Some(seen)).await?;
                true
            }
        };
        if has_remains { self.0.store.sweep_versions(job.user_id, document).await } else { Ok(()) }
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
        // A slow runner holds back only the memory for its own file.
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

    /// Reads the content and stores its pages but for the last ones; `None` if the job no longer exists. While a batch of
    /// pages is stored, the next one is read and analysed.
    async fn read(&self, job: &IndexJob, content: Content) -> store::Result<Result<Option<Read>, Failure>> {
        let mut source = match self.open(&job.name, content).await {
            Ok(source) => source,
            Err(failure) => return Ok(Err(failure)),
        };
        let kind = source.kind();
        let mut passages = Passages { name: job.name.clone(), kind, headings: Vec::new() };
        let mut made: Vec<NewPage> = Vec::new();
        loop {
            let next = async {
                let (pages, done) = source.batch().await?;
                let analysed = computed(move || {
                    let pages: Vec<NewPage> = pages.into_iter().map(|page| passages.of(page)).collect();
                    (pages, passages)
                });
                Ok((analysed.await, done))
            };
            let (is_there, next) = tokio::join!(self.store_pages(job, &made), next);
            if !is_there? {
                return Ok(Ok(None));
            }
            if !made.is_empty() {
                fault(Point::Pages);
            }
            let done;
            ((made, passages), done) = match next {
                Ok(next) => next,
                Err(failure) => return Ok(Err(failure)),
            };
            if let Some(done) = done {
                return Ok(Ok(Some(Read { kind, done, last_pages: made })));
            }
        }
    }

    /// Stores pages; returns false if the job no longer exists.
    async fn store_pages(&self, job: &IndexJob, pages: &[NewPage]) -> store::Result<bool> {
        if pages.is_empty() { Ok(true) } else { self.0.store.add_pages(job, pages).await }
    }

    async fn open(&self, name: &str, mut content: Content) -> Result<Source, Failure> {
        if content.is_small() {
            let name = name.to_owned();
            let plain;
            (content, plain) = computed(move || {
                let bytes = content.pieces.make_contiguous().concat();
                let plain = extract::plain(&bytes, &name);
                (content, plain)
            })
            .await;
            if let Some(plain) = plain {
                return Ok(Source::Plain(plain?));
            }
        }
        let pieces = futures_util::stream::iter(content.pieces.into_iter().map(Ok));
        Ok(Source::Reader(Box::new(self.0.extractor.open(name, pieces).await?)))
    }
}

/// Runs CPU-bound work on a separate thread, so that requests do not wait for it. A panic of the work is passed on.
pub(crate) async fn computed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime ends, and drops this future.
        Err(_) => std::future::pending().await,
    }
}

impl Content {
    /// The SHA-256 of the content, in hexadecimal.
    fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        self.pieces.iter().for_each(|piece| hash.update(piece));
        hex(&hash.finalize())
    }

    fn is_small(&self) -> bool {
        self.pieces.iter().map(Bytes::len).sum::<usize>() <= extract::limits::PLAIN_BYTES
    }
}

/// A document that was read: all of its pages are stored, but for the last ones.
struct Read {
    kind: Kind,
    done: Done,
    last_pages: Vec<NewPage>,
}

/// The pages of a document.
enum Source {
    /// Read in this process.
    Plain(Plain),
    /// Being read by a confined process.
    Reader(Box<Reading>),
}

impl Source {
    fn kind(&self) -> Kind {
        match self {
            Self::Plain(plain) => plain.kind,
            Self::Reader(reading) => reading.kind(),
        }
    }

    /// The next pages, at least one unless the document ends; the last ones come with the document's counts.
    async fn batch(&mut self) -> Result<(Vec<Page>, Option<Done>), Failure> {
        let (mut pages, mut bytes) = (Vec::new(), 0);
        while pages.len() < BATCH_PAGES && bytes < BATCH_BYTES {
            match self.next().await? {
                Next::Page(page) => {
                    bytes += page.text.len();
                    pages.push(page);
                }
                Next::Done(done) => return Ok((pages, Some(done))),
            }
        }
        Ok((pages, None))
    }

    async fn next(&mut self) -> Result<Next, Failure> {
        match self {
            Self::Plain(plain) => Ok(plain.pages.pop_front().map_or(Next::Done(plain.done), Next::Page)),
            Self::Reader(reading) => reading.next().await,
        }
    }
}

/// The note on a document that was not read completely; empty if it was.
fn note_of(done: &Done) -> String {
    // Each case has a whole sentence, because sentences are translated as a whole.
    match (done.broken_pages, done.cut_pages) {
        (0, 0) => String::new(),
        (broken, 0) => format!("{broken} of {} pages could not be read", done.pages),
        (0, cut) => format!("pages that were too long and are cut off: {cut}"),
        (broken, cut) => {
            format!(
                "{broken} of {} pages could not be read; pages that were too long and are cut off: {cut}",
                done.pages
            )
        }
    }
}

/// Splits pages into passages, one page after the other.
struct Passages {
    name: String,
    kind: Kind,
    /// The headings at the end of the page before, which apply until the next heading.
    headings: Vec<String>,
}

impl Passages {
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
            let words = tokens::document(&chunks::with_titles(&self.name, headings, passage));
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
