//! The words of memories.

words! {
    /// The kind of a memory.
    MemoryKind {
        /// A block that is part of every prompt: persona, user or project.
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
    /// The chats that a memory applies to.
    MemoryScope {
        /// All of the user's chats.
        User = "user",
        /// Chats that work on one machine.
        Project = "project",
        /// A request about the memories of one agent of a group.
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
        /// A model proposed it.
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
        /// All memories are part of every prompt.
        Flat = "flat",
        /// Core blocks are part of every prompt, and tools search the rest.
        Letta = "letta",
        /// Core blocks are part of every prompt, and memories that match a message are recalled with it.
        Typed = "typed",
    }
}
