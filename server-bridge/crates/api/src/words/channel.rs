//! The words of channels.

words! {
    /// How an account on a messenger is.
    ChannelState {
        /// It is not to be connected.
        Off = "off",
        /// It is being connected.
        Connecting = "connecting",
        /// It is connected.
        Connected = "connected",
        /// Its connection ended or failed; it is tried again by itself.
        Down = "down",
        /// The messenger refuses it: only a change of the account helps.
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
