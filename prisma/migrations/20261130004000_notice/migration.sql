-- A notice of the operator's to all customers: one row, or none.
CREATE TABLE "notices" (
  "id" INTEGER NOT NULL DEFAULT 1,
  "text" TEXT NOT NULL,
  "severity" TEXT NOT NULL,
  "until" TIMESTAMPTZ(6),
  "set_by" TEXT NOT NULL,
  "set_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "notices_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "notices_one" CHECK ("id" = 1),
  CONSTRAINT "notices_severity" CHECK ("severity" IN ('info', 'warning', 'outage')),
  CONSTRAINT "notices_text" CHECK (length("text") BETWEEN 1 AND 500)
);
