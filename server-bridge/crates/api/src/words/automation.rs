//! The enums of fixed words in documents of automations.

words! {
    /// The kind of event that starts an automation.
    AutomationKind {
        /// A time of its schedule.
        Schedule = "schedule",
        /// A webhook.
        Trigger = "trigger",
    }
}

words! {
    /// The state of an automation.
    AutomationState {
        /// The automation runs at its times, or with each delivery.
        Active = "active",
        /// The automation is paused.
        Paused = "paused",
        /// The last time of its schedule has passed.
        Ended = "ended",
    }
}

words! {
    /// The chats of an automation's runs.
    AutomationChats {
        /// All runs share one chat.
        One = "one",
        /// Each run has its own chat.
        Each = "each",
    }
}

words! {
    /// What happens to scheduled runs that were due while the server was not running.
    MissedSlots {
        /// The latest one is run, if it was due at most an hour ago.
        Once = "once",
        /// None is run.
        Skip = "skip",
        /// The latest ten are run.
        All = "all",
    }
}

words! {
    /// What happens to a run that is due while an earlier one is in progress.
    OverlappingRuns {
        /// The run is skipped.
        Skip = "skip",
        /// The run waits. At most one run of a schedule waits, and at most 100 of a trigger.
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
    /// The outcome of an automation's run.
    RunOutcome {
        /// The run waits for an earlier run.
        Waiting = "waiting",
        /// The run is in progress.
        Running = "running",
        /// The run succeeded.
        Done = "done",
        /// The run failed, or could not begin.
        Failed = "failed",
        /// The run was skipped.
        Skipped = "skipped",
        /// The run's delivery was refused.
        Refused = "refused",
    }
}
