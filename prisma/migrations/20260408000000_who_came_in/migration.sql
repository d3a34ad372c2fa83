-- The address from which an operator acted, signed in or out, or was refused.
ALTER TABLE "operator_actions" ADD COLUMN "address" TEXT;

-- A session ends when it was not used for an hour.
ALTER TABLE "sessions" ADD COLUMN "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now();
ALTER TABLE "customer_sessions" ADD COLUMN "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT now();

-- An operator is recognised by the e-mail only if the platform has verified it.
ALTER TABLE "people" ADD COLUMN "is_email_verified" BOOLEAN NOT NULL DEFAULT false;
