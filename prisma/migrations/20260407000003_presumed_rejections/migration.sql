-- Whether "rejected_at" is only presumed: several resources were refused, and the platform did not say why.
ALTER TABLE "client_secrets" ADD COLUMN IF NOT EXISTS "is_presumed" BOOLEAN NOT NULL DEFAULT false;
