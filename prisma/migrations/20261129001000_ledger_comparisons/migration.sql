-- What the last comparison of the ledgers found, for the operator's page, and how far one came that was stopped. A few rows,
-- each with at most 25,000 differences; the next comparison that comes to its end replaces them.
CREATE TABLE "ledger_comparisons" (
    "id" BIGSERIAL NOT NULL,
    "started_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(6),
    "is_listed" BOOLEAN NOT NULL,
    "after" UUID,
    "next" UUID,
    "checked" INTEGER NOT NULL DEFAULT 0,
    "total" INTEGER NOT NULL DEFAULT 0,
    "backend" INTEGER,
    "unnamed" JSONB NOT NULL DEFAULT '{}',
    "notes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "faults" TEXT[] DEFAULT ARRAY[]::TEXT[],

    CONSTRAINT "ledger_comparisons_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "ledger_findings" (
    "uuid" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "comparison" BIGINT NOT NULL,
    "since" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ours" TEXT,
    "theirs" TEXT,
    "detail" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "ledger_findings_pkey" PRIMARY KEY ("uuid","kind","comparison")
);

CREATE INDEX "ledger_findings_comparison_idx" ON "ledger_findings"("comparison");
