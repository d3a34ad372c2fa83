-- What the platform refuses, or was asked for in vain several times: few among many. Its columns change together with
-- "due_at", which is in an index already; so what a claim, a mark and a re-seal write stays on its page as before, and a
-- refresh that succeeds writes nothing to it.
CREATE INDEX IF NOT EXISTS "credentials_failing" ON "credentials"("state", "rejected_at") WHERE ("state" = ANY (ARRAY['active'::text, 'needs_reauth'::text]) AND ("attempts" >= 3 OR "rejected_at" IS NOT NULL));
