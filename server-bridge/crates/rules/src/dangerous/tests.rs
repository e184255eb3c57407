use super::*;

#[test]
fn each_built_in_rule_is_a_rule_with_a_reason() {
    let layer = dangerous();
    assert_eq!(layer.rules.len(), RULES.iter().map(|(_, patterns)| patterns.len()).sum::<usize>());
    assert!(layer.rules.iter().all(|rule| rule.effect == Effect::Ask && rule.justification.is_some()));
}
