//! The words of automations.

words! {
    /// What starts an automation.
    AutomationKind {
        /// The clock.
        Schedule = "schedule",
        /// A webhook.
        Trigger = "trigger",
    }
}

words! {
    /// Whether an automation starts by itself.
    AutomationState {
        /// It does.
        Active = "active",
        /// It is paused.
        Paused = "paused",
        /// Its last slot is over.
        Ended = "ended",
    }
}

words! {
    /// The chats of an automation's runs.
    AutomationChats {
        /// All runs share one chat.
        One = "one",
        /// Each run has a chat of its own.
        Each = "each",
    }
}

words! {
    /// What happens to slots that came while the server was not running.
    MissedSlots {
        /// The newest one is run, if it is not older than an hour.
        Once = "once",
        /// None is run.
        Skip = "skip",
        /// The newest ten are run.
        All = "all",
    }
}

words! {
    /// What happens to a slot that comes while an earlier run goes on.
    OverlappingRuns {
        /// It is skipped.
        Skip = "skip",
        /// It waits, and later ones are skipped.
        Queue = "queue",
    }
}

words! {
    /// How the sender of a webhook proves who it is.
    TriggerSource {
        /// `X-Hub-Signature-256`, as GitHub and Gitea sign.
        Github = "github",
        /// `webhook-id`, `webhook-timestamp` and `webhook-signature`, as <https://www.standardwebhooks.com> describes.
        Standard = "standard",
        /// `X-Gitlab-Token`.
        Gitlab = "gitlab",
        /// `X-Slack-Signature` and `X-Slack-Request-Timestamp`.
        Slack = "slack",
        /// `Authorization: Bearer SECRET`.
        Bearer = "bearer",
    }
}

words! {
    /// What became of a run of an automation.
    RunOutcome {
        /// It waits for an earlier run.
        Waiting = "waiting",
        /// It is in progress.
        Running = "running",
        /// It ended well.
        Done = "done",
        /// It did not end well, or could not begin.
        Failed = "failed",
        /// It was left out.
        Skipped = "skipped",
        /// A delivery that was not let in.
        Refused = "refused",
    }
}
