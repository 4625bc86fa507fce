-- Schema 3. Who an agent is, what its calls of models cost and who pays, what its tools did and what it cited.

ALTER TABLE dv.runs ADD COLUMN cost BIGINT DEFAULT 0;
ALTER TABLE dv.runs ADD COLUMN unpriced INTEGER DEFAULT 0;

-- Versions of definitions. None is ever changed.
CREATE TABLE dv.profiles (
    tenant_id VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    hash VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (tenant_id, id, version)
);

-- Money in whole micro-dollars. What a wallet holds is the sum of its rows: no row is ever changed or taken away.
CREATE TABLE dv.transfers (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    run_id UUID,
    kind VARCHAR NOT NULL,
    source UUID,
    target UUID,
    amount BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CHECK (kind IN ('mint', 'grant', 'consume', 'return')),
    CHECK ((source IS NULL) = (kind = 'mint')),
    CHECK ((target IS NULL) = (kind = 'consume')),
    CHECK (amount > 0)
);

-- Calls of models. The id is that of the transfer, where anything was taken.
CREATE TABLE dv.spends (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    user_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    run_id UUID NOT NULL,
    actor VARCHAR NOT NULL,
    round INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    answered_as VARCHAR,
    provider VARCHAR,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cache_read_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    cost BIGINT,
    is_measured BOOLEAN NOT NULL,
    outcome VARCHAR NOT NULL,
    taken BIGINT NOT NULL,
    overrun BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

-- What tools were given and gave. The id is that of the fact about it.
CREATE TABLE dv.tool_uses (
    id UUID PRIMARY KEY,
    tenant_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    run_id UUID NOT NULL,
    round INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    tool_use_id VARCHAR NOT NULL,
    arguments VARCHAR NOT NULL,
    result VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    blobs VARCHAR,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ NOT NULL
);

-- Chunks of text that a request has used, each once per Run and round.
CREATE TABLE dv.citations (
    run_id UUID NOT NULL,
    round INTEGER NOT NULL,
    chunk_id VARCHAR NOT NULL,
    tenant_id VARCHAR NOT NULL,
    room VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    place INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run_id, round, chunk_id)
);
