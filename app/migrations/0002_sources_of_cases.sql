-- What a package's files looked like when its active version was activated, {"file": "sha256"}: when they have changed,
-- the cases are made anew. NULL where that was not noted yet: then those that made the version count.
ALTER TABLE case_versions ADD COLUMN sources jsonb;
