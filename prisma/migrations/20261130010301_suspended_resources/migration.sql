-- not in a transaction
-- The suspended resources, newest first: few among all.
CREATE INDEX CONCURRENTLY "resources_suspended" ON "resources"("created_at", "uuid") WHERE (suspended_at IS NOT NULL);
