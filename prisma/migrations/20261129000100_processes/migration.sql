-- Every web process and worker has a row, and updates it while it lives (src/processes).
CREATE TABLE "processes" (
  "id" UUID NOT NULL,
  "role" TEXT NOT NULL,
  "host" TEXT NOT NULL,
  "pid" INTEGER NOT NULL,
  "version" TEXT NOT NULL,
  "commit" TEXT NOT NULL,
  "node" TEXT NOT NULL,
  "key_id" TEXT,
  "key_ids" TEXT[] DEFAULT '{}',
  "state" TEXT NOT NULL,
  "why" TEXT,
  "started_at" TIMESTAMPTZ(6) NOT NULL,
  "beat_at" TIMESTAMPTZ(6) NOT NULL,
  "steady_since" TIMESTAMPTZ(6) NOT NULL,
  "missed_at" TIMESTAMPTZ(6),
  "refused_at" TIMESTAMPTZ(6),
  "refused_state" TEXT,
  "refused_reason" TEXT,
  "database_ahead" DOUBLE PRECISION,
  "platform_ahead" DOUBLE PRECISION,
  CONSTRAINT "processes_pkey" PRIMARY KEY ("id")
);
