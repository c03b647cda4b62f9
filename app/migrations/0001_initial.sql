-- procrastinate's own tables are made before this file (database.py).

CREATE TABLE submissions (
    id uuid PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,  -- order of arrival: queue positions, cursors
    owner text NOT NULL,                      -- id of the API key; '' where none is needed
    client text NOT NULL,                     -- whom the backlog limit counts: key and subject, or address
    subject text,
    problem text NOT NULL,
    mode text NOT NULL CHECK (mode IN ('submit', 'run')),
    device text NOT NULL,
    priority smallint NOT NULL,
    source bytea NOT NULL,                    -- UTF-8; bytea because sources with NUL are judged too
    inputs text,                              -- JSON; text because jsonb has no NUL
    metadata text NOT NULL,
    callback_url text,
    status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'running', 'finished', 'cancelled')),
    attempt integer NOT NULL DEFAULT 0,       -- the fence: only the latest claim may write
    failures smallint NOT NULL DEFAULT 0,     -- claims that were lost or broke
    job_id bigint,
    verdict text,
    cases_version text,
    grade text,                               -- JSON: the record's part that the engine makes
    history text NOT NULL DEFAULT '[]',
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz,
    CHECK ((status = 'finished') = (verdict IS NOT NULL))
);
CREATE INDEX submissions_owner ON submissions (owner, seq DESC);
CREATE INDEX submissions_subject ON submissions (owner, subject, seq DESC) WHERE subject IS NOT NULL;
CREATE INDEX submissions_problem ON submissions (problem, verdict, seq DESC);
CREATE INDEX submissions_queued ON submissions (priority DESC, seq) WHERE status = 'queued';
CREATE INDEX submissions_open ON submissions (client) WHERE status IN ('queued', 'running');
CREATE INDEX submissions_age ON submissions USING brin (created_at);

-- Cases of the attempt under way, for event streams; the finished record has them all.
CREATE UNLOGGED TABLE progress (
    submission_id uuid NOT NULL,
    index smallint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (submission_id, index)
);

CREATE TABLE idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    body_digest bytea NOT NULL,
    submission_id uuid NOT NULL REFERENCES submissions ON DELETE CASCADE,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_submission ON idempotency (submission_id);

CREATE TABLE workers (
    id uuid PRIMARY KEY,
    host text NOT NULL,
    devices text[] NOT NULL,
    slots integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    canary_at timestamptz
);

CREATE TABLE api_keys (
    id text PRIMARY KEY,
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('client', 'public', 'admin')),
    key_hash text NOT NULL,                   -- hex SHA-256; tokens are signed with it
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);

CREATE TABLE secrets (name text PRIMARY KEY, value text NOT NULL);
INSERT INTO secrets VALUES ('events', gen_random_uuid()::text || gen_random_uuid()::text);

CREATE TABLE callbacks (
    submission_id uuid NOT NULL REFERENCES submissions ON DELETE CASCADE,
    attempt smallint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    status integer,
    error text,
    PRIMARY KEY (submission_id, attempt)
);

CREATE TABLE case_files (digest text PRIMARY KEY, content bytea NOT NULL);
CREATE TABLE case_versions (
    problem text NOT NULL,
    version text NOT NULL,
    active boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (problem, version)
);
CREATE UNIQUE INDEX case_versions_active ON case_versions (problem) WHERE active;
CREATE TABLE case_version_files (
    problem text NOT NULL,
    version text NOT NULL,
    path text NOT NULL,
    digest text NOT NULL REFERENCES case_files,
    PRIMARY KEY (problem, version, path),
    FOREIGN KEY (problem, version) REFERENCES case_versions ON DELETE CASCADE
);

CREATE TABLE rejudgings (
    id uuid PRIMARY KEY,
    problem text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    applied_at timestamptz
);
CREATE TABLE rejudged (
    rejudging_id uuid NOT NULL REFERENCES rejudgings ON DELETE CASCADE,
    submission_id uuid NOT NULL REFERENCES submissions ON DELETE CASCADE,
    failures smallint NOT NULL DEFAULT 0,
    verdict text,
    cases_version text,
    grade text,
    PRIMARY KEY (rejudging_id, submission_id)
);
CREATE INDEX rejudged_submission ON rejudged (submission_id);

-- What workers count, added up here so that one scrape of one API process tells of all of them.
CREATE TABLE metrics (
    name text NOT NULL,
    labels text NOT NULL,
    value double precision NOT NULL,
    PRIMARY KEY (name, labels)
);
