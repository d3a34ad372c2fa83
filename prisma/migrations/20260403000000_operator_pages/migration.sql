CREATE TABLE "operator_actions" (
    "id" BIGSERIAL NOT NULL,
    "action" TEXT NOT NULL,
    "uuid" UUID,
    "form" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'running',
    "message" TEXT,
    "done" INTEGER NOT NULL DEFAULT 0,
    "total" INTEGER NOT NULL DEFAULT 0,
    "request_id" TEXT,
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(6),

    CONSTRAINT "operator_actions_pkey" PRIMARY KEY ("id")
);

CREATE UNIQUE INDEX "operator_actions_form_key" ON "operator_actions"("form");
CREATE INDEX "operator_actions_uuid_id_idx" ON "operator_actions"("uuid", "id");

CREATE TABLE "metric_hours" (
    "hour" TIMESTAMPTZ(6) NOT NULL,
    "sample" TEXT NOT NULL,
    "labels" TEXT NOT NULL,
    "value" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "metric_hours_pkey" PRIMARY KEY ("hour", "sample", "labels")
);

CREATE INDEX "resources_name_idx" ON "resources"("name" text_pattern_ops) WHERE (name IS NOT NULL);
CREATE INDEX "resources_app_name_idx" ON "resources"("app_name" text_pattern_ops) WHERE (app_name IS NOT NULL);
