-- Made again after every migration. The dv.my_* views are the one place where rows are filtered by tenant:
-- everything that reads stands on them, and the variable is set on every reading cursor.

CREATE OR REPLACE VIEW dv.my_rooms AS SELECT * FROM dv.rooms WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_messages AS SELECT * FROM dv.messages WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_activities AS SELECT * FROM dv.activities WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_runs AS SELECT * FROM dv.runs WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_causes AS SELECT * FROM dv.run_causes WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_envelopes AS SELECT * FROM dv.envelopes WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_members AS SELECT * FROM dv.members WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_profiles AS SELECT * FROM dv.profiles WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_transfers AS SELECT * FROM dv.transfers WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_spends AS SELECT * FROM dv.spends WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_tool_uses AS SELECT * FROM dv.tool_uses WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_citations AS SELECT * FROM dv.citations WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_attention AS SELECT * FROM dv.attention WHERE tenant_id = getvariable('dvergr_tenant');

-- Rows as Python reads them: ids as text, and the `key` columns to search by, which reach the zone maps.
CREATE OR REPLACE VIEW dv.run_rows AS
SELECT
    CAST(id AS VARCHAR) AS id, tenant_id, user_id, kind, room, actor, label, tags, CAST("trigger" AS VARCHAR) AS "trigger",
    CAST(parent AS VARCHAR) AS parent, status, reason, error, created_at, started_at, updated_at, ended_at, revision, boot_id,
    profile_id, profile_version, profile_hash, template_version, program_kind, steps, start_turn_count,
    cost, unpriced,
    id AS key, "trigger" AS trigger_key, parent AS parent_key
FROM dv.runs;
CREATE OR REPLACE VIEW dv.my_run_rows AS SELECT * FROM dv.run_rows WHERE tenant_id = getvariable('dvergr_tenant');
CREATE OR REPLACE VIEW dv.my_message_rows AS
SELECT
    CAST(id AS VARCHAR) AS id, tenant_id, user_id, room, sender, recipient, content, CAST(reply_to AS VARCHAR) AS reply_to,
    CAST(thread_root_id AS VARCHAR) AS thread_root_id, CAST(run_id AS VARCHAR) AS run_id, type, kind, metadata, created_at,
    id AS key, thread_root_id AS thread_key, run_id AS run_key
FROM dv.my_messages;

CREATE OR REPLACE VIEW dv.attention_rows AS
SELECT
    CAST(id AS VARCHAR) AS id, tenant_id, room, actor, CAST(message_id AS VARCHAR) AS message_id,
    CAST(decision_id AS VARCHAR) AS decision_id, CAST(run_id AS VARCHAR) AS run_id, status, memory, activation, control, "at",
    priority, reason, metadata, CAST(result_run_id AS VARCHAR) AS result_run_id, created_at,
    id AS key, message_id AS message_key, decision_id AS decision_key
FROM dv.attention;
CREATE OR REPLACE VIEW dv.my_attention_rows AS
SELECT * FROM dv.attention_rows WHERE tenant_id = getvariable('dvergr_tenant');

CREATE OR REPLACE VIEW dv.spend_rows AS
SELECT
    CAST(id AS VARCHAR) AS id, tenant_id, user_id, room, CAST(run_id AS VARCHAR) AS run_id, actor, round, model, answered_as,
    provider, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, is_measured, outcome, taken,
    created_at, id AS key, run_id AS run_key
FROM dv.spends;
CREATE OR REPLACE VIEW dv.my_spend_rows AS SELECT * FROM dv.spend_rows WHERE tenant_id = getvariable('dvergr_tenant');

-- One row per Run. `name` is what people call it, `took` its seconds so far or in all.
CREATE OR REPLACE VIEW main.runs AS
SELECT
    CAST(id AS VARCHAR) AS id,
    room,
    actor,
    kind,
    CASE WHEN kind = 'agent-turn' OR label = '' THEN actor ELSE label END AS name,
    label,
    status,
    reason,
    error,
    CAST(from_json(tags, '["VARCHAR"]') AS VARCHAR[]) AS tags,
    CAST("trigger" AS VARCHAR) AS "trigger",
    CAST(parent AS VARCHAR) AS parent,
    created_at,
    started_at,
    updated_at,
    ended_at,
    epoch(coalesce(ended_at, now()) - started_at) AS took,
    steps,
    revision,
    boot_id,
    user_id,
    profile_id,
    profile_version,
    profile_hash,
    template_version,
    program_kind,
    start_turn_count,
    cost / 1e6 AS cost_usd,
    unpriced
FROM dv.my_runs;

-- One row per move of money between wallets, and one per call of a model, from which nothing may have been taken.
-- A room's wallet has an id of its own, that of a Run is the Run's.
CREATE OR REPLACE VIEW dv.my_ledger_frame AS
SELECT
    CAST(coalesce(t.id, s.id) AS VARCHAR) AS id,
    coalesce(t.created_at, s.created_at) AS created_at,
    coalesce(t.kind, 'consume') AS kind,
    coalesce(t.room, s.room) AS room,
    CAST(coalesce(t.run_id, s.run_id) AS VARCHAR) AS run_id,
    coalesce(s.actor, r.actor) AS actor,
    CAST(t.source AS VARCHAR) AS source,
    CAST(t.target AS VARCHAR) AS target,
    coalesce(t.amount, 0) / 1e6 AS amount_usd,
    s.model,
    s.answered_as,
    s.provider,
    s.round,
    s.input_tokens,
    s.output_tokens,
    s.cache_read_tokens,
    s.cache_write_tokens,
    s.cost / 1e6 AS cost_usd,
    s.overrun / 1e6 AS overrun_usd,
    CASE WHEN s.id IS NOT NULL THEN s.cost IS NOT NULL END AS is_priced,
    s.is_measured,
    s.outcome,
    coalesce(t.user_id, s.user_id) AS user_id,
    coalesce(t.id, s.id) AS key,
    coalesce(t.run_id, s.run_id) AS run_key
FROM dv.my_transfers AS t FULL JOIN dv.my_spends AS s ON s.id = t.id
LEFT JOIN dv.my_runs AS r ON r.id = coalesce(t.run_id, s.run_id);
CREATE OR REPLACE VIEW main.ledger AS SELECT * EXCLUDE (key, run_key) FROM dv.my_ledger_frame;

-- One row per version of an agent's definition; `content` is all of it, as JSON.
CREATE OR REPLACE VIEW main.profiles AS
SELECT
    id,
    version,
    version = max(version) OVER (PARTITION BY id) AS is_latest,
    content ->> '$.model' AS model,
    content ->> '$.instructions' AS instructions,
    CAST(content -> '$.caps.budget' AS BIGINT) / 1e6 AS budget_usd,
    hash,
    content,
    created_at,
    user_id
FROM dv.my_profiles;

-- One row per message.
CREATE OR REPLACE VIEW dv.my_message_frame AS
SELECT
    CAST(id AS VARCHAR) AS id,
    room,
    CAST(thread_root_id AS VARCHAR) AS thread,
    sender,
    recipient,
    content,
    CAST(reply_to AS VARCHAR) AS reply_to,
    CAST(run_id AS VARCHAR) AS run_id,
    type,
    kind,
    metadata,
    created_at,
    user_id,
    id AS key,
    thread_root_id AS thread_key,
    run_id AS run_key
FROM dv.my_messages;
CREATE OR REPLACE VIEW main.messages AS SELECT * EXCLUDE (key, thread_key, run_key) FROM dv.my_message_frame;

-- One row per fact, and one per activity message without facts, with the Run, its actor, thread and trigger.
-- `at_seconds` is the time since the Run started.
CREATE OR REPLACE VIEW dv.my_activity_frame AS
SELECT
    CAST(m.id AS VARCHAR) AS message_id,
    CAST(f.id AS VARCHAR) AS fact_id,
    CAST(m.run_id AS VARCHAR) AS run_id,
    m.room,
    CAST(m.thread_root_id AS VARCHAR) AS thread,
    r.actor,
    r.label AS run_label,
    r.kind AS run_kind,
    r.status AS run_status,
    CAST(r."trigger" AS VARCHAR) AS "trigger",
    coalesce(f.kind, m.kind) AS kind,
    f.verb,
    f.status,
    f.tool_name,
    f.tool_use_id,
    f.outcome,
    f.critical,
    m.content,
    coalesce(f.happened_at, m.created_at) AS created_at,
    epoch(coalesce(f.happened_at, m.created_at) - r.started_at) AS at_seconds,
    m.id AS key,
    coalesce(f.place, 0) AS place,
    m.thread_root_id AS thread_key,
    m.run_id AS run_key
FROM dv.my_messages AS m
LEFT JOIN dv.my_activities AS f ON f.message_id = m.id
LEFT JOIN dv.my_runs AS r ON r.id = m.run_id
WHERE m.recipient = '_activity' OR f.id IS NOT NULL;
CREATE OR REPLACE VIEW main.activity AS SELECT * EXCLUDE (key, place, thread_key, run_key) FROM dv.my_activity_frame;

-- One row per stay of an actor in a room; `left_at` is NULL while it is there.
CREATE OR REPLACE VIEW main.members AS SELECT room, actor, program, joined_at, left_at FROM dv.my_members;

-- One row per fact about a message and a participant: what was decided (`ready`), and that it was done (`applied`, with the
-- `decision_id` it carries out). `run_id` is the Run that worked then, `result_run_id` the one that answers the message.
CREATE OR REPLACE VIEW main.attention AS
SELECT
    CAST(id AS VARCHAR) AS id,
    room,
    actor,
    CAST(message_id AS VARCHAR) AS message_id,
    status,
    CAST(decision_id AS VARCHAR) AS decision_id,
    CAST(run_id AS VARCHAR) AS run_id,
    CAST(result_run_id AS VARCHAR) AS result_run_id,
    memory,
    activation,
    control,
    "at",
    priority,
    reason,
    metadata,
    created_at
FROM dv.my_attention;
