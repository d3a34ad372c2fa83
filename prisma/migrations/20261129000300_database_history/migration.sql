-- One row says which transaction wrote it: after a dump was loaded, PostgreSQL names another one (src/processes/history.ts).
-- No later migration may rewrite this table, as that writes its rows again.
CREATE TABLE "database_history" (
  "id" INTEGER NOT NULL DEFAULT 1,
  "written_by" BIGINT NOT NULL,
  "timeline" INTEGER,
  "promoted_at" TIMESTAMPTZ(6),
  "restored_at" TIMESTAMPTZ(6),
  "because" TEXT,
  "done_at" TIMESTAMPTZ(6),
  CONSTRAINT "database_history_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "database_history_one" CHECK ("id" = 1)
);

-- How often a process has beaten: it notices when its row went back.
ALTER TABLE "processes" ADD COLUMN "beats" INTEGER NOT NULL DEFAULT 0;
