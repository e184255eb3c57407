//! The enums of fixed words in documents of memories.

words! {
    /// The kind of a memory.
    MemoryKind {
        /// A block that is part of every prompt: persona, user or project.
        Core = "core",
        /// A fact.
        Semantic = "semantic",
        /// An event: something that happened.
        Episodic = "episodic",
        /// A procedure: how something is done.
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
        /// The work of one agent of a group.
        Agent = "agent",
    }
}

words! {
    /// The way in which a memory was created.
    MemorySource {
        /// The user wrote it.
        Person = "person",
        /// The user asked a model to keep it.
        Asked = "asked",
        /// A model proposed it.
        Model = "model",
        /// The memory was taken from a chat that ended or was summarised.
        Chat = "chat",
        /// The memory was a named note of an earlier version.
        Note = "note",
    }
}

words! {
    /// The way in which memories become part of prompts.
    MemoryMode {
        /// All memories are part of every prompt.
        Flat = "flat",
        /// Core blocks are part of every prompt, and tools search the rest.
        Letta = "letta",
        /// Core blocks are part of every prompt, and memories that match a message are recalled with it.
        Typed = "typed",
    }
}
