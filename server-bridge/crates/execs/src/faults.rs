//! Named points between the steps of an exec's life, where a test kills the process.
//!
//! A debug build whose environment names a point in [`FAULT_VARIABLE`] sends itself SIGKILL when an exec first reaches it. A
//! release build contains none of this: [`fault`] is empty there.

use sandbox::ExecEvent;

/// The variable of the server's environment that names a point.
pub const FAULT_VARIABLE: &str = "SANDBRIDGE_FAULT";

/// A point of an exec's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The exec was requested; nothing is on record.
    BeforeRecord,
    /// The exec is on record; nothing was sent.
    AfterRecord,
    /// The request was sent.
    Sent,
    /// The runner reported that the exec started.
    Started,
    /// The first output arrived.
    Output,
    /// The exec's own process ended; more output may follow.
    Exited,
    /// The exec continues in the background from here on; nothing follows it yet.
    Left,
    /// The exec's end arrived; nothing of that is on record.
    BeforeEnd,
    /// The end, the audit entry and the message are written but not committed.
    BeforeCommit,
    /// The end is on record; the runner does not know that yet.
    AfterEnd,
    /// The runner was allowed to discard the exec's result.
    Acknowledged,
}

impl Point {
    /// The point's name in [`FAULT_VARIABLE`].
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

/// Called when an exec reaches this point.
#[cfg(debug_assertions)]
pub fn fault(point: Point) {
    if std::env::var_os(FAULT_VARIABLE).is_some_and(|name| name == point.name()) {
        let killed = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal may take a moment; nothing else happens meanwhile.
        tracing::error!(?killed, point = point.name(), "the process ends here, as SANDBRIDGE_FAULT requests");
        loop {
            std::thread::park();
        }
    }
}

/// Called when an exec reaches this point.
#[cfg(not(debug_assertions))]
#[inline]
pub fn fault(_point: Point) {}

/// Called when an event of an exec arrives.
pub fn seen(event: &ExecEvent) {
    match event {
        ExecEvent::Started { .. } => fault(Point::Started),
        ExecEvent::Stdout(_) | ExecEvent::Stderr(_) => fault(Point::Output),
        ExecEvent::Exited(_) => fault(Point::Exited),
        ExecEvent::Finished(_) => fault(Point::BeforeEnd),
        ExecEvent::Gap { .. } | ExecEvent::Interrupted | ExecEvent::Resumed | ExecEvent::Failed(_) => {}
    }
}
