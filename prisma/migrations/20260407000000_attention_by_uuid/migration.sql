-- What needs attention, by uuid too: work on all in a state goes on where it stopped. Whoever writes to the table waits
-- while an index is made, two seconds for three million rows. With many millions make it before, by hand and CONCURRENTLY,
-- which keeps nobody waiting; then it is only put in the place of the old one. So for the next two, each in a script of
-- its own.
CREATE INDEX IF NOT EXISTS "credentials_state_new" ON "credentials"("state", "uuid") WHERE ("state" = ANY (ARRAY['grant_lost'::text, 'needs_reauth'::text, 'no_grant'::text, 'quarantined'::text]));
DROP INDEX "credentials_state_idx";
ALTER INDEX "credentials_state_new" RENAME TO "credentials_state_idx";
