-- A chat is looked through once while it goes on, and once more when it is over, for what its user wrote in between.
ALTER TABLE memorised_chats ADD COLUMN is_over BOOLEAN NOT NULL DEFAULT TRUE;
