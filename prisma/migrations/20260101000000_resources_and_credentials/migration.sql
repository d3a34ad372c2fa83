CREATE TABLE "resources" (
    "uuid" UUID NOT NULL,
    "name" TEXT,
    "plan" TEXT NOT NULL,
    "applied_plan" TEXT NOT NULL,
    "region" TEXT,
    "options" JSONB NOT NULL DEFAULT '{}',
    "state" TEXT NOT NULL DEFAULT 'provisioning',
    "answer_status" SMALLINT,
    "sealed_answer" BYTEA,
    "sealed_config" BYTEA,
    "sealed_log_input_url" BYTEA,
    "sealed_log_drain_token" BYTEA,
    "callback_url" TEXT,
    "app_id" UUID,
    "app_name" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "resources_pkey" PRIMARY KEY ("uuid"),
    CONSTRAINT "resources_state" CHECK ("state" IN ('provisioning', 'provisioned', 'failed', 'deprovisioned'))
);

CREATE TABLE "credentials" (
    "uuid" UUID NOT NULL,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "sealed_grant_code" BYTEA,
    "grant_number" INTEGER NOT NULL DEFAULT 0,
    "grant_expires_at" TIMESTAMPTZ(6),
    "grant_deadline" TIMESTAMPTZ(6),
    "sealed_access_token" BYTEA,
    "sealed_refresh_token" BYTEA,
    "issued_at" TIMESTAMPTZ(6),
    "expires_at" TIMESTAMPTZ(6),
    "generation" INTEGER NOT NULL DEFAULT 0,
    "secret_version" INTEGER,
    "due_at" TIMESTAMPTZ(6),
    "lease" INTEGER NOT NULL DEFAULT 0,
    "leased_until" TIMESTAMPTZ(6),
    "sent_at" TIMESTAMPTZ(6),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "outcome_unknown" BOOLEAN NOT NULL DEFAULT false,
    "rejected_at" TIMESTAMPTZ(6),
    "verify_at" TIMESTAMPTZ(6),
    "last_error" TEXT,
    "flags" TEXT[] DEFAULT ARRAY[]::TEXT[],

    CONSTRAINT "credentials_pkey" PRIMARY KEY ("uuid"),
    CONSTRAINT "credentials_state" CHECK ("state" IN ('grant_pending', 'active', 'needs_reauth', 'grant_lost', 'no_grant', 'quarantined', 'erased')),
    -- Nothing sealed outlives a deprovision: the database itself refuses it.
    CONSTRAINT "credentials_erased_is_empty" CHECK ("state" <> 'erased' OR ("sealed_grant_code" IS NULL AND "sealed_access_token" IS NULL AND "sealed_refresh_token" IS NULL))
);

CREATE TABLE "steps" (
    "id" BIGSERIAL NOT NULL,
    "key" UUID NOT NULL DEFAULT gen_random_uuid(),
    "uuid" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(6),
    "lease" INTEGER NOT NULL DEFAULT 0,
    "leased_until" TIMESTAMPTZ(6),
    "last_error" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "steps_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    "uuid" UUID NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "type" TEXT NOT NULL,
    "detail" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "client_secrets" (
    "version" SERIAL NOT NULL,
    "sealed_secret" BYTEA NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "spread_at" TIMESTAMPTZ(6),
    "rejected_at" TIMESTAMPTZ(6),
    "probe_at" TIMESTAMPTZ(6),

    CONSTRAINT "client_secrets_pkey" PRIMARY KEY ("version")
);

CREATE TABLE "sealing_keys" (
    "key_id" TEXT NOT NULL,
    "first_used_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sealing_keys_pkey" PRIMARY KEY ("key_id")
);

CREATE TABLE "heartbeats" (
    "name" TEXT NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "heartbeats_pkey" PRIMARY KEY ("name")
);

CREATE INDEX "steps_uuid_id_idx" ON "steps"("uuid", "id");
CREATE INDEX "events_uuid_id_idx" ON "events"("uuid", "id");

-- The queues. Each holds only rows that may fall due, in the order they do; a claim reads its head and stops.
CREATE INDEX "credentials_grants_due" ON "credentials"("due_at") WHERE "state" = 'grant_pending';
CREATE INDEX "credentials_refresh_due" ON "credentials"("due_at") WHERE "state" IN ('active', 'needs_reauth');
CREATE INDEX "credentials_verify" ON "credentials"("verify_at") WHERE "verify_at" IS NOT NULL;
CREATE INDEX "steps_due" ON "steps"("due_at") WHERE "due_at" IS NOT NULL;
-- The operator's list, newest first, and by what needs attention.
CREATE INDEX "resources_created_at_idx" ON "resources"("created_at", "uuid");
CREATE INDEX "credentials_state_idx" ON "credentials"("state") WHERE "state" IN ('grant_lost', 'needs_reauth', 'no_grant', 'quarantined');
