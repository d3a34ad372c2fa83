-- The daily look also marks an add-on that the platform has on another plan.
ALTER TABLE "ledger_marks" DROP CONSTRAINT "ledger_marks_kind";
ALTER TABLE "ledger_marks" ADD CONSTRAINT "ledger_marks_kind" CHECK ("kind" IN ('gone_at_platform', 'plan_differs', 'unknown_resource')) NOT VALID;

-- When several contradictions together were last reported as what a restore leaves. Without a default, no row is written again.
ALTER TABLE "database_history" ADD COLUMN "suspected_at" TIMESTAMPTZ(6);
