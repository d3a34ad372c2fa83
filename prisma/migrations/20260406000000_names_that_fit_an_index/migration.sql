-- PostgreSQL refuses a row whose indexed text is longer than 2,704 bytes, and a name may be as long as a request. What is
-- longer than this stands in the table and in no index: a search by name passes it over. The old indexes go last, so that
-- nobody waits for the new ones to be made but who writes.
CREATE INDEX "resources_name_new" ON "resources"("name" text_pattern_ops) WHERE (octet_length(name) <= 1000);
CREATE INDEX "resources_app_name_new" ON "resources"("app_name" text_pattern_ops) WHERE (octet_length(app_name) <= 1000);
DROP INDEX "resources_name_idx";
DROP INDEX "resources_app_name_idx";
ALTER INDEX "resources_name_new" RENAME TO "resources_name_idx";
ALTER INDEX "resources_app_name_new" RENAME TO "resources_app_name_idx";
