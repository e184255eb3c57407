//! The enums of fixed words in documents of chains.

words! {
    /// The state of a run of a chain.
    ChainState {
        /// A step is in progress, or about to begin.
        Running = "running",
        /// A gate waits for a person.
        Asking = "asking",
        /// Every step is done.
        Done = "done",
        /// A person stopped it.
        Stopped = "stopped",
    }
}

words! {
    /// The state of a step of a run.
    StepState {
        /// The steps before it are not done.
        Pending = "pending",
        /// The step's agent was asked, but has not begun.
        Queued = "queued",
        /// The machine of the step's agent is not connected.
        Waiting = "waiting",
        /// The step's agent is at work.
        Running = "running",
        /// A gate waits for a person.
        Asking = "asking",
        /// The step is done.
        Done = "done",
        /// The step's last attempt failed.
        Failed = "failed",
        /// The step was stopped, or the run was.
        Stopped = "stopped",
    }
}

words! {
    /// The state of files that are transferred from one machine to another.
    HandOverState {
        /// The files are being transferred, or wait for a machine.
        Running = "running",
        /// The files have arrived.
        Done = "done",
        /// The files could not be transferred.
        Failed = "failed",
        /// The step that was to receive them was stopped.
        Stopped = "stopped",
    }
}

words! {
    /// The reason for a gate's question.
    GateKind {
        /// A step is done, and a person decides on its output.
        Review = "review",
        /// A step failed, and no retries are left.
        Failure = "failure",
        /// The run's budget is used up.
        Budget = "budget",
    }
}

words! {
    /// An answer to a gate.
    GateReply {
        /// The output goes to the next step as it is.
        Approve = "approve",
        /// A person's text replaces the output.
        Edit = "edit",
        /// The step is done again; a text says what to change.
        Redo = "redo",
        /// The run may use the same budget again.
        More = "more",
        /// The run ends here.
        Stop = "stop",
    }
}
