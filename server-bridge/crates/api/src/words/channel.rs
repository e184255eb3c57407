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
