-- Where an account was logged in to: others' wrong guesses do not keep its owner out there.
CREATE TABLE login_addresses (
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address    TEXT   NOT NULL,
    used_at_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, address)
);
