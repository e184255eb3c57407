-- What administrators set for the whole server while it runs; a setting without a row is as the server was started.
CREATE TABLE server_settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
