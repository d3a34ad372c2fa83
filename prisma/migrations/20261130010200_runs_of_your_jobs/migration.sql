-- The time zone of a job of your service, the regular time that its next run is for, who asked for a run by hand, and which
-- process has the last one. And the runs themselves, the last ones of each job.
ALTER TABLE "your_jobs" ADD COLUMN "time_zone" TEXT NOT NULL DEFAULT 'UTC', ADD COLUMN "regular_at" TIMESTAMPTZ(6),
  ADD COLUMN "asked_by" TEXT;
CREATE TABLE "your_job_runs" (
  "id" BIGSERIAL NOT NULL,
  "name" TEXT NOT NULL,
  "regular_at" TIMESTAMPTZ(6) NOT NULL,
  "asked_by" TEXT,
  "process" TEXT NOT NULL,
  "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "ended_at" TIMESTAMPTZ(6),
  "result" TEXT NOT NULL DEFAULT 'running',
  "error" TEXT,
  CONSTRAINT "your_job_runs_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "your_job_runs_result" CHECK ("result" IN ('running', 'done', 'failed', 'stopped', 'died', 'missed'))
);
CREATE INDEX "your_job_runs_of_job" ON "your_job_runs"("name", "id");
