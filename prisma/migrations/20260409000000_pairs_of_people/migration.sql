-- The token pairs of people who signed in stand beside those of resources, and are refreshed by the same code. They have
-- states of their own, which the release before does not know: what it claims and counts leaves them out.
ALTER TABLE "credentials" ADD COLUMN "owner" TEXT NOT NULL DEFAULT 'resource';
-- Not checked again for the rows there are: what held for the shorter list holds for the longer one.
ALTER TABLE "credentials" DROP CONSTRAINT "credentials_state";
ALTER TABLE "credentials" ADD CONSTRAINT "credentials_state" CHECK ("state" IN ('grant_pending', 'active', 'needs_reauth', 'grant_lost', 'no_grant', 'signed_in', 'needs_sign_in', 'quarantined', 'erased')) NOT VALID;
-- Whom the platform no longer vouches for, leaves no token behind.
ALTER TABLE "credentials" ADD CONSTRAINT "credentials_needs_sign_in_is_empty" CHECK ("state" <> 'needs_sign_in' OR ("sealed_access_token" IS NULL AND "sealed_refresh_token" IS NULL)) NOT VALID;

-- One queue for all pairs. Whoever writes to the table waits while the index is made, two seconds for three million rows.
CREATE INDEX IF NOT EXISTS "credentials_refresh_new" ON "credentials"("due_at") WHERE ("state" = ANY (ARRAY['active'::text, 'needs_reauth'::text, 'signed_in'::text]));
DROP INDEX "credentials_refresh_due";
ALTER INDEX "credentials_refresh_new" RENAME TO "credentials_refresh_due";

-- Moves the pair of a person who signs in at a process of the release before. Sealed values keep the place they are bound
-- to (`people`). A later release drops the trigger, and the columns that it empties.
CREATE FUNCTION move_pair_of_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO credentials (uuid, owner, state, reason, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at, generation, lease)
  VALUES (NEW.uuid, 'person', CASE NEW.state WHEN 'active' THEN 'signed_in' ELSE NEW.state END, NEW.reason,
    NEW.sealed_access_token, NEW.sealed_refresh_token, now(), NEW.expires_at, NEW.due_at, NEW.generation, NEW.lease)
  ON CONFLICT (uuid) DO UPDATE SET state = excluded.state, reason = excluded.reason,
    sealed_access_token = excluded.sealed_access_token, sealed_refresh_token = excluded.sealed_refresh_token,
    issued_at = excluded.issued_at, expires_at = excluded.expires_at, due_at = excluded.due_at,
    generation = credentials.generation + 1, lease = credentials.lease + 1, leased_until = NULL, sent_at = NULL,
    attempts = 0, rejected_at = NULL, last_error = NULL
  WHERE credentials.owner = 'person';
  NEW.sealed_access_token := NULL;
  NEW.sealed_refresh_token := NULL;
  NEW.due_at := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER "move_pair_of_person" BEFORE INSERT OR UPDATE ON "people" FOR EACH ROW WHEN (NEW.sealed_access_token IS NOT NULL) EXECUTE FUNCTION move_pair_of_person();
UPDATE "people" SET "sealed_access_token" = "sealed_access_token";
