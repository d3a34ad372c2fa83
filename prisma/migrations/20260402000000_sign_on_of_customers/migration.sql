CREATE TABLE "used_sign_ons" (
    "token_hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "used_sign_ons_pkey" PRIMARY KEY ("token_hash")
);

CREATE TABLE "customer_sessions" (
    "id_hash" BYTEA NOT NULL,
    "uuid" UUID NOT NULL,
    "email" TEXT,
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(6) NOT NULL,

    CONSTRAINT "customer_sessions_pkey" PRIMARY KEY ("id_hash")
);

CREATE INDEX "used_sign_ons_expires_at_idx" ON "used_sign_ons"("expires_at");
CREATE INDEX "customer_sessions_expires_at_idx" ON "customer_sessions"("expires_at");
CREATE INDEX "customer_sessions_uuid_idx" ON "customer_sessions"("uuid");
