-- Since when no run of a job of your service has ended well, the regular time by which one should have, and when the
-- first alarm about it was raised.
ALTER TABLE "your_jobs" ADD COLUMN "failing_since" TIMESTAMPTZ(6), ADD COLUMN "overdue_at" TIMESTAMPTZ(6),
  ADD COLUMN "alarmed_at" TIMESTAMPTZ(6);
