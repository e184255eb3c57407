//! The enums of fixed words in documents of groups.

words! {
    /// What a person may do in a group.
    GroupAccess {
        /// Everything, including deleting the group and changing what others may do.
        Owner = "owner",
        /// They may also add and remove people and agents, choose the lead, and change chains.
        Editor = "editor",
        /// They may also post, ask agents, and start chains.
        Member = "member",
        /// They may read.
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
        /// Its agent has not been asked yet.
        Queued = "queued",
        /// Its agent's machine is not connected, or is busy.
        Waiting = "waiting",
        /// Its agent is at work.
        Running = "running",
        /// Its agent answered.
        Done = "done",
        /// Its agent could not answer.
        Failed = "failed",
        /// A person stopped it.
        Stopped = "stopped",
    }
}
