//! The words of groups.

words! {
    /// What a person may do in a group.
    GroupAccess {
        /// Everything, including deleting it and changing what others may do.
        Owner = "owner",
        /// They may also add and remove people and agents, choose the lead, and change chains.
        Editor = "editor",
        /// They may also post, ask agents, and begin chains.
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
        /// As for its owner: in the agent's own approval mode.
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
        /// Its agent is to be asked.
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
