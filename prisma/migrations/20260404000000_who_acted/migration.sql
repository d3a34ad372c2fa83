ALTER TABLE "operator_actions"
    ADD COLUMN "operator" TEXT NOT NULL DEFAULT 'operator',
    ADD COLUMN "account" UUID;
