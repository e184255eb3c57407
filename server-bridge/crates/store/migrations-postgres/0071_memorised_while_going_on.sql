-- As SQLite's step of this number.
ALTER TABLE memorised_chats ADD COLUMN is_over BOOLEAN NOT NULL DEFAULT TRUE;
