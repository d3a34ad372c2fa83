-- Tokens that came without a refresh token. "due_at" says it too, and "sealed_refresh_token" is named in no index, so that
-- a re-seal stays on its page.
CREATE INDEX IF NOT EXISTS "credentials_unrefreshable" ON "credentials"("uuid") WHERE ("state" = 'active' AND "due_at" IS NULL);
