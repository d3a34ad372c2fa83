-- not in a transaction
-- No statement reads these any more: the operator's search reads parts of names, and each lane of steps has its own index.
DROP INDEX CONCURRENTLY IF EXISTS "resources_name_idx";
DROP INDEX CONCURRENTLY IF EXISTS "resources_app_name_idx";
DROP INDEX CONCURRENTLY IF EXISTS "steps_due";

-- The answer to a provision changes the resource's state. While no index names the state, and there is room on the page,
-- that change needs no new entry in any index.
CREATE INDEX CONCURRENTLY IF NOT EXISTS "resources_looks" ON "resources"("looked_at") WHERE (app_id IS NOT NULL);
DROP INDEX CONCURRENTLY IF EXISTS "resources_looked_at";
ALTER TABLE "resources" SET (fillfactor = 70);
