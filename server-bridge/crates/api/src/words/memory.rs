//! The words of memories.

words! {
    /// The kind of a memory.
    MemoryKind {
        /// A block that stands in every prompt: persona, user or project.
        Core = "core",
        /// A fact.
        Semantic = "semantic",
        /// Something that happened.
        Episodic = "episodic",
        /// How something is done.
        Procedural = "procedural",
    }
}

words! {
    /// The reach of a memory.
    MemoryScope {
        /// All of the user's chats.
        User = "user",
        /// Chats that work on one machine.
        Project = "project",
        /// Sub-agents of one role.
        Agent = "agent",
    }
}

words! {
    /// Where a memory came from.
    MemorySource {
        /// The user wrote it.
        Person = "person",
        /// The user asked a model to keep it.
        Asked = "asked",
        /// A model found it worth keeping.
        Model = "model",
        /// It was taken from a chat that ended or was summarised.
        Chat = "chat",
        /// It was a named note of an earlier version.
        Note = "note",
    }
}

words! {
    /// How a user's agents remember.
    MemoryMode {
        /// All notes stand in every prompt.
        Flat = "flat",
        /// Core blocks stand in every prompt, and an archive is searched by tools.
        Letta = "letta",
        /// Core blocks stand in every prompt, and memories that match a message are recalled with it.
        Typed = "typed",
    }
}
