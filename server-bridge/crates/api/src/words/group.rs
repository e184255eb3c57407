//! The enums of fixed words in documents of groups.

words! {
    /// What a person may do in a group.
    GroupAccess {
        /// Everything, including deleting the group and changing what others may do.
        Owner = "owner",
        /// Adding and removing people and agents, choosing the lead, changing chains, and everything that a member may do.
        Editor = "editor",
        /// Posting, asking agents, starting chains, and reading.
        Member = "member",
        /// Reading.
        Reader = "reader",
    }
}

words! {
    /// How an agent works for a person who is not its owner.
    GrantMode {
        /// The agent's owner is asked before each change that no permission rule of theirs allows.
        Ask = "ask",
        /// The agent works in its own approval mode, as for its owner.
        Own = "own",
    }
}

words! {
    /// The author of an entry in a group.
    EntryAuthor {
        /// A person.
        Person = "person",
        /// An agent.
        Agent = "agent",
        /// The server.
        Server = "server",
    }
}

words! {
    /// The state of a call of an agent.
    CallState {
        /// The call's agent has not been asked yet.
        Queued = "queued",
        /// The machine of the call's agent is not connected, or is busy.
        Waiting = "waiting",
        /// The call's agent is at work.
        Running = "running",
        /// The call's agent answered.
        Done = "done",
        /// The call's agent could not answer.
        Failed = "failed",
        /// A person stopped it.
        Stopped = "stopped",
    }
}
