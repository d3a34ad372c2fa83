-- The trace that work belongs to, as W3C's `traceparent`, so that whichever process goes on with it goes on with its
-- trace. Null: no trace was made, or the row is older.
ALTER TABLE "credentials" ADD COLUMN "traceparent" TEXT;
ALTER TABLE "steps" ADD COLUMN "traceparent" TEXT;
