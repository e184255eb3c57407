-- Whoever does not administer reads what they did themselves, a page at a time.
CREATE INDEX audit_user ON audit (user_name, id);
