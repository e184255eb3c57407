//! Points of indexing at which tests kill the server: a debug build whose `SANDBRIDGE_FAULT` names one sends itself SIGKILL there. `NAME@3` waits
//! until the point is reached for the third time.

/// A point of indexing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// The content of an upload is stored; no job waits for it yet.
    Uploaded,
    /// A job was begun; nothing was read.
    Begun,
    /// Some pages of the new version are stored, and more follow.
    Pages,
    /// All pages but the last ones are stored; the version before is still the present one.
    BeforeSwap,
    /// The new version is the present one; the old one's rows are still there.
    AfterSwap,
    /// The vectors of some passages are made, and not stored.
    BeforeVectors,
    /// The vectors of these passages are stored.
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
    if std::env::var("SANDBRIDGE_FAULT").is_ok_and(|wanted| is_reached(point, &wanted)) {
        let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        tracing::error!(?killed, point = point.name(), "the process ends here, as SANDBRIDGE_FAULT requests");
        loop {
            std::thread::park();
        }
    }
}

/// True if a point is the wanted one, and was reached the wanted number of times. Only one point of a process is counted: the wanted one.
#[cfg(debug_assertions)]
fn is_reached(point: Point, wanted: &str) -> bool {
    use std::sync::atomic::{AtomicU32, Ordering};

    static REACHED: AtomicU32 = AtomicU32::new(0);
    let (name, times) = wanted.split_once('@').unwrap_or((wanted, "1"));
    name == point.name() && Ok(REACHED.fetch_add(1, Ordering::Relaxed) + 1) == times.parse()
}

/// Called when a document reaches this point.
#[cfg(not(debug_assertions))]
#[inline]
pub(crate) fn fault(_point: Point) {}
