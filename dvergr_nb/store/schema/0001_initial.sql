-- Schema 1. No secondary index and no foreign key: ids are time-ordered, so zone maps do an index's work.
-- A primary key stands only where an id must be unique when a unit is sent twice.
-- What changes is a plain scalar, updated in place; JSON is text and written once.

CREATE SCHEMA IF NOT EXISTS dv;

CREATE TABLE dv.schema_version (
    version INTEGER PRIMARY KEY,
    applied_at TIMESTAMPTZ NOT NULL,
    name VARCHAR NOT NULL,
    duckdb VARCHAR NOT NULL
);

-- One row per kernel life that opened this file, in order.
CREATE TABLE dv.lives (
    boot_id VARCHAR NOT NULL,
    n INTEGER NOT NULL,
    tenant_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    host VARCHAR NOT NULL,
    pid INTEGER NOT NULL,
    holder VARCHAR NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ
);

CREATE TABLE dv.rooms (
    tenant_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, name)
);

CREATE TABLE dv.messages (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    sender VARCHAR NOT NULL,
    recipient VARCHAR,
    content VARCHAR NOT NULL,
    reply_to UUID,
    thread_root_id UUID NOT NULL,
    run_id UUID,
    type VARCHAR NOT NULL,
    kind VARCHAR,
    metadata VARCHAR,
    created_at TIMESTAMPTZ NOT NULL
);

-- The facts of activity messages, in their order within the message.
CREATE TABLE dv.activities (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    message_id UUID NOT NULL,
    place INTEGER NOT NULL,
    run_id UUID,
    kind VARCHAR NOT NULL,
    verb VARCHAR NOT NULL,
    status VARCHAR,
    tool_name VARCHAR,
    tool_use_id VARCHAR,
    outcome VARCHAR,
    critical BOOLEAN,
    happened_at TIMESTAMPTZ
);

CREATE TABLE dv.runs (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    tags VARCHAR,
    "trigger" UUID NOT NULL,
    parent UUID,
    status VARCHAR NOT NULL,
    reason VARCHAR,
    error VARCHAR,
    created_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    revision INTEGER NOT NULL,
    boot_id VARCHAR NOT NULL,
    profile_id VARCHAR,
    profile_version INTEGER,
    profile_hash VARCHAR,
    template_version INTEGER,
    program_kind VARCHAR,
    steps INTEGER NOT NULL,
    start_turn_count INTEGER NOT NULL,
    CHECK (status IN ('running', 'waiting', 'completed', 'failed', 'cancelled')),
    CHECK ((ended_at IS NOT NULL) = (status IN ('completed', 'failed', 'cancelled')))
);

-- Whose end a Run has observed.
CREATE TABLE dv.run_causes (
    run_id UUID NOT NULL,
    cause_id UUID NOT NULL,
    tenant_id VARCHAR NOT NULL,
    noted_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, cause_id)
);

-- The key is the old Run: the insert is the claim, so a Run is resumed once.
CREATE TABLE dv.resumptions (
    old_run_id UUID PRIMARY KEY,
    new_run_id UUID NOT NULL,
    tenant_id VARCHAR NOT NULL,
    resumed_at TIMESTAMPTZ NOT NULL
);

-- Who works on a thread. run_id is NULL when nobody does; the row stays and is updated in place.
CREATE TABLE dv.open_slots (
    tenant_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    thread_root_id UUID NOT NULL,
    actor VARCHAR NOT NULL,
    run_id UUID,
    PRIMARY KEY (tenant_id, room, thread_root_id, actor)
);

CREATE TABLE dv.keys (
    tenant_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    run_id UUID NOT NULL,
    PRIMARY KEY (tenant_id, room, key)
);

-- What a paused Run waits for; gone when it goes on.
CREATE TABLE dv.envelopes (
    run_id UUID NOT NULL,
    tenant_id VARCHAR NOT NULL,
    place INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    body VARCHAR NOT NULL
);
