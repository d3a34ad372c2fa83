-- Provisions that were refused: few among the resources. They are events that no row of events says.
CREATE INDEX IF NOT EXISTS "resources_failed" ON "resources"("created_at", "uuid") WHERE ("state" = 'failed');
