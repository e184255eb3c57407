-- The documents in the system prompt of a chat's last request, with their sizes: /context names them.
ALTER TABLE prompt_counts ADD COLUMN documents_json TEXT NOT NULL DEFAULT '';
