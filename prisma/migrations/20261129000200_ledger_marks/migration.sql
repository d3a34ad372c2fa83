-- Where the platform's ledger and ours were seen to differ: an add-on of ours that the platform no longer has, a uuid
-- that the platform asked about and that we do not have. A few rows; `alarmed_at` says in which alarm each was reported.
CREATE TABLE "ledger_marks" (
    "uuid" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "first_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "times" INTEGER NOT NULL DEFAULT 1,
    "detail" JSONB NOT NULL DEFAULT '{}',
    "alarmed_at" TIMESTAMPTZ(6),

    CONSTRAINT "ledger_marks_pkey" PRIMARY KEY ("uuid","kind"),
    CONSTRAINT "ledger_marks_kind" CHECK ("kind" IN ('gone_at_platform', 'unknown_resource'))
);
