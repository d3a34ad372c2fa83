-- Provisions that were answered with an error of ours: sales that are lost, until somebody has written to the customer.
CREATE TABLE "lost_sales" (
    "id" BIGSERIAL NOT NULL,
    "uuid" UUID NOT NULL,
    "plan" TEXT NOT NULL,
    "name" TEXT,
    "region" TEXT,
    "request_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(6) NOT NULL,
    "reason" TEXT NOT NULL,
    "done_at" TIMESTAMPTZ(6),
    "done_by" TEXT,

    CONSTRAINT "lost_sales_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "lost_sales_uuid_request_id_key" ON "lost_sales"("uuid", "request_id");
