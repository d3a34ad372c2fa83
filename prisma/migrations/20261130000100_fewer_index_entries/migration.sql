-- not in a transaction
-- No statement reads these any more: the operator's search reads parts of names, and each lane of steps has its own index.
DROP INDEX CONCURRENTLY IF EXISTS "resources_name_idx";
DROP INDEX CONCURRENTLY IF EXISTS "resources_app_name_idx";
DROP INDEX CONCURRENTLY IF EXISTS "steps_due";
