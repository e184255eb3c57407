-- What was allowed for good names now where it holds and with which effect: what was said before is asked again.
DELETE FROM approval_rules;
