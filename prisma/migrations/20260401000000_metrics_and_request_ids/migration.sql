CREATE TABLE "metric_totals" (
    "sample" TEXT NOT NULL,
    "labels" TEXT NOT NULL,
    "value" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "metric_totals_pkey" PRIMARY KEY ("sample", "labels")
);

ALTER TABLE "credentials" ADD COLUMN "request_id" TEXT;
ALTER TABLE "steps" ADD COLUMN "request_id" TEXT;
