//! Named points between the steps of an exec's life, where a test kills the process.
//!
//! A debug build whose environment names a point in [`FAULT_VARIABLE`] sends itself SIGKILL when an exec first comes to it. A
//! release build holds none of this: [`fault`] is empty there.

use sandbox::ExecEvent;

/// The variable of the server's environment that names a point.
pub const FAULT_VARIABLE: &str = "SANDBRIDGE_FAULT";

/// A point of an exec's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// It was asked for; nothing is on record.
    BeforeRecord,
    /// It is on record; nothing was sent.
    AfterRecord,
    /// The request is on its way.
    Sent,
    /// The runner said that it started.
    Started,
    /// The first output is here.
    Output,
    /// Its own process ended; output may follow.
    Exited,
    /// It goes on by itself from here on; nobody follows it yet.
    Left,
    /// Its end is here; nothing of that is on record.
    BeforeEnd,
    /// Its end, its audit entry and its message are written and not committed.
    BeforeCommit,
    /// Its end is on record; the runner does not know that yet.
    AfterEnd,
    /// The runner was told that it may forget it.
    Acknowledged,
}

impl Point {
    /// Its name in [`FAULT_VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeRecord => "before_record",
            Self::AfterRecord => "after_record",
            Self::Sent => "sent",
            Self::Started => "started",
            Self::Output => "output",
            Self::Exited => "exited",
            Self::Left => "left",
            Self::BeforeEnd => "before_end",
            Self::BeforeCommit => "before_commit",
            Self::AfterEnd => "after_end",
            Self::Acknowledged => "acknowledged",
        }
    }
}

/// An exec has come to this point.
#[cfg(debug_assertions)]
pub fn fault(point: Point) {
    if std::env::var_os(FAULT_VARIABLE).is_some_and(|name| name == point.name()) {
        let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal may take a moment; nothing goes on meanwhile.
        tracing::error!(?killed, point = point.name(), "the process ends here, as its environment says");
        loop {
            std::thread::park();
        }
    }
}

/// An exec has come to this point.
#[cfg(not(debug_assertions))]
#[inline]
pub fn fault(_point: Point) {}

/// An event of an exec is here.
pub fn seen(event: &ExecEvent) {
    match event {
        ExecEvent::Started { .. } => fault(Point::Started),
        ExecEvent::Stdout(_) | ExecEvent::Stderr(_) => fault(Point::Output),
        ExecEvent::Exited(_) => fault(Point::Exited),
        ExecEvent::Finished(_) => fault(Point::BeforeEnd),
        ExecEvent::Gap { .. } | ExecEvent::Interrupted | ExecEvent::Resumed | ExecEvent::Failed(_) => {}
    }
}
