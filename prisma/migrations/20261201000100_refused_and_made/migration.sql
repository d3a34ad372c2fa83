-- What was made here for a provision that was answered with an error is taken down after an hour, which begins when the lost sale is
-- stored. Of those that are stored already it is not known whether the platform has the answer: an operator decides.
ALTER TABLE "lost_sales" ADD COLUMN "stored_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "lost_sales" ADD COLUMN "is_heard" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "lost_sales_heard" ON "lost_sales"("stored_at") WHERE (is_heard);
