-- The version of the analysis that made the words of a document's passages; words of an older one are made again in the background.
ALTER TABLE documents ADD COLUMN analysis BIGINT NOT NULL DEFAULT 0;
