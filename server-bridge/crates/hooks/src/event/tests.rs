use super::*;

#[test]
fn every_event_is_read_by_both_its_names() {
    for event in Event::ALL {
        for dialect in Dialect::ALL {
            assert_eq!(Event::named(event.name(dialect)), Named::Ours(event));
        }
    }
    assert_eq!(Event::named("Stop"), Named::Ours(Event::AgentStop));
    assert_eq!(Event::named("StopFailure"), Named::Ours(Event::AgentError));
    assert_eq!(Event::named("SubagentStart"), Named::Ours(Event::SubAgentStart));
}

#[test]
fn events_of_peers_are_unused_and_others_unknown() {
    assert_eq!(Event::named("Notification"), Named::Unused);
    assert_eq!(Event::named("pretooluse"), Named::Unknown);
    assert!(UNUSED.iter().all(|name| Event::named(name) == Named::Unused));
    assert!(UNUSED.is_sorted());
}

#[test]
fn the_events_that_may_block_are_the_seeds_and_those_of_automations() {
    let blocking: Vec<_> = Event::ALL.into_iter().filter(|event| event.may_block()).collect();
    assert_eq!(
        blocking,
        [
            Event::UserPromptSubmit,
            Event::PreToolUse,
            Event::PostToolBatch,
            Event::PermissionRequest,
            Event::SubAgentStop,
            Event::AgentStop,
            Event::PreCompact,
            Event::CronFired,
            Event::WebhookReceived,
        ]
    );
    assert!(Event::ALL.into_iter().all(|event| !event.fails_closed() || event.may_block()));
}
