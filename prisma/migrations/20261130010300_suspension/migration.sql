-- A resource that is suspended: since when, and why, in the words that its customer reads. Null: it is not.
ALTER TABLE "resources" ADD COLUMN "suspended_at" TIMESTAMPTZ(6);
ALTER TABLE "resources" ADD COLUMN "suspend_reason" TEXT;
-- Suspensions are a lane of their own, so that a job that suspends thousands holds up no provision.
CREATE INDEX "steps_suspension_due" ON "steps"("due_at") WHERE (due_at IS NOT NULL AND kind IN ('suspend', 'resume'));
