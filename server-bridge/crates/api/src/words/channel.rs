//! The enums of fixed words in documents of channels.

words! {
    /// The state of an account on a messenger.
    ChannelState {
        /// The account is turned off.
        Off = "off",
        /// The account is being connected.
        Connecting = "connecting",
        /// The account is connected.
        Connected = "connected",
        /// The account's connection ended or failed; the server connects again automatically.
        Down = "down",
        /// The messenger refuses it: the account has to be changed.
        Refused = "refused",
    }
}

words! {
    /// A user's login to the service of a channel.
    ChannelLoginState {
        /// The user is not logged in with this channel.
        None = "none",
        /// The user is logged in.
        LoggedIn = "logged_in",
        /// The login has ended: the user has to log in again.
        Ended = "ended",
    }
}
