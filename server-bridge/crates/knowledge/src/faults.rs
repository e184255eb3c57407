//! Points of indexing at which tests kill the server: a debug build whose `SANDBRIDGE_FAULT` names one sends itself SIGKILL there.

/// A point of indexing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// The content of an upload is stored; nothing waits for it yet.
    Uploaded,
    /// A job was begun; nothing was read.
    Begun,
    /// The first pages of the new version are stored.
    Pages,
    /// All pages are stored; the version before is still the present one.
    BeforeSwap,
    /// The new version is the present one; the old one's rows are still there.
    AfterSwap,
    /// The vectors of some passages are made, and not stored.
    BeforeVectors,
    /// They are stored.
    AfterVectors,
}

impl Point {
    #[cfg(debug_assertions)]
    fn name(self) -> &'static str {
        match self {
            Self::Uploaded => "index_uploaded",
            Self::Begun => "index_begun",
            Self::Pages => "index_pages",
            Self::BeforeSwap => "index_before_swap",
            Self::AfterSwap => "index_after_swap",
            Self::BeforeVectors => "index_before_vectors",
            Self::AfterVectors => "index_after_vectors",
        }
    }
}

/// Called when a document reaches this point.
#[cfg(debug_assertions)]
pub(crate) fn fault(point: Point) {
    if std::env::var_os("SANDBRIDGE_FAULT").is_some_and(|name| name == point.name()) {
        let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        tracing::error!(?killed, point = point.name(), "the process ends here, as SANDBRIDGE_FAULT demands");
        loop {
            std::thread::park();
        }
    }
}

/// Called when a document reaches this point.
#[cfg(not(debug_assertions))]
#[inline]
pub(crate) fn fault(_point: Point) {}
