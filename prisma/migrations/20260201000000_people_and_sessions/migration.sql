CREATE TABLE "people" (
    "uuid" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT,
    "scopes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "state" TEXT NOT NULL DEFAULT 'active',
    "reason" TEXT,
    "sealed_access_token" BYTEA,
    "sealed_refresh_token" BYTEA,
    "expires_at" TIMESTAMPTZ(6),
    "generation" INTEGER NOT NULL DEFAULT 1,
    "due_at" TIMESTAMPTZ(6),
    "lease" INTEGER NOT NULL DEFAULT 0,
    "leased_until" TIMESTAMPTZ(6),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,
    "signed_in_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "people_pkey" PRIMARY KEY ("uuid"),
    CONSTRAINT "people_state" CHECK ("state" IN ('active', 'needs_sign_in', 'quarantined')),
    -- Whom the platform no longer vouches for, leaves no token behind.
    CONSTRAINT "people_refused_are_empty" CHECK ("state" <> 'needs_sign_in' OR ("sealed_access_token" IS NULL AND "sealed_refresh_token" IS NULL))
);

CREATE TABLE "sessions" (
    "id_hash" BYTEA NOT NULL,
    "person" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id_hash")
);

CREATE TABLE "sign_in_attempts" (
    "state_hash" BYTEA NOT NULL,
    "browser_hash" BYTEA NOT NULL,
    "scopes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "return_to" TEXT,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "sign_in_attempts_pkey" PRIMARY KEY ("state_hash")
);

CREATE INDEX "people_refresh_due" ON "people"("due_at") WHERE "state" = 'active';
CREATE INDEX "sessions_person_idx" ON "sessions"("person");
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");
CREATE INDEX "sign_in_attempts_expires_at_idx" ON "sign_in_attempts"("expires_at");
