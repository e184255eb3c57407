//! The enums of fixed words in documents of the terminal UI.

words! {
    /// A view of the terminal UI that an agent can open.
    TuiView {
        /// The list of chats.
        Chats = "chats",
        /// The list of places where commands can run.
        Runners = "runners",
        /// The list of models.
        Models = "models",
        /// The list of groups.
        Groups = "groups",
        /// The list of all commands.
        Commands = "commands",
        /// The list of keys.
        Help = "help",
    }
}

words! {
    /// The state of an action that a terminal was asked for.
    TuiState {
        /// The terminal is about to carry it out.
        Taken = "taken",
        /// It was carried out.
        Done = "done",
        /// The terminal did not carry it out.
        Refused = "refused",
    }
}
