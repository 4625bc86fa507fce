-- Schema 2. Who is in a room, and what was decided about messages that came while somebody worked.

ALTER TABLE dv.rooms ADD COLUMN parent VARCHAR;
ALTER TABLE dv.rooms ADD COLUMN exclusive_threads BOOLEAN DEFAULT false;

-- One row per stay; left_at is NULL until it ends, then the row stands for good. The writer knows all open stays by heart,
-- so it needs no key: of an actor in a room at most one is open.
CREATE TABLE dv.members (
    tenant_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    program VARCHAR NOT NULL,
    joined_at TIMESTAMPTZ NOT NULL,
    left_at TIMESTAMPTZ
);

-- Facts about a message and a participant. No row is ever changed or taken away.
CREATE TABLE dv.attention (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    actor VARCHAR NOT NULL,
    message_id UUID NOT NULL,
    decision_id UUID,
    run_id UUID,
    status VARCHAR NOT NULL,
    memory VARCHAR NOT NULL,
    activation VARCHAR NOT NULL,
    control VARCHAR NOT NULL,
    "at" VARCHAR NOT NULL,
    priority DOUBLE NOT NULL,
    reason VARCHAR,
    metadata VARCHAR,
    result_run_id UUID,
    created_at TIMESTAMPTZ NOT NULL,
    CHECK (status IN ('ready', 'deferred', 'invalid', 'applied', 'baseline-complete')),
    CHECK ((decision_id IS NOT NULL) = (status = 'applied'))
);
