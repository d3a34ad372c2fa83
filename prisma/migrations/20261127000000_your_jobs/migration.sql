-- The jobs of your service: when each is due, and which process runs it.
CREATE TABLE "your_jobs" (
  "name" TEXT NOT NULL,
  "cron" TEXT NOT NULL,
  "due_at" TIMESTAMPTZ(6) NOT NULL,
  "attempts" INTEGER NOT NULL DEFAULT 0,
  "lease" INTEGER NOT NULL DEFAULT 0,
  "leased_until" TIMESTAMPTZ(6),
  "started_at" TIMESTAMPTZ(6),
  "ended_at" TIMESTAMPTZ(6),
  "last_error" TEXT,
  CONSTRAINT "your_jobs_pkey" PRIMARY KEY ("name")
);
