-- Takes from the service's role what it does not need, as in docs/database.md: run it as the owner of the tables, after each
-- migration. It can be run again, and beside the service and the release before.
BEGIN;
REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations FROM addon_service;
REVOKE UPDATE, DELETE ON operator_actions, events, lost_sales FROM addon_service;
GRANT UPDATE (state, message, done, total, seen_at, ended_at) ON operator_actions TO addon_service;
GRANT UPDATE (detail) ON events TO addon_service;
GRANT UPDATE (name, done_at, done_by) ON lost_sales TO addon_service;
REVOKE DELETE ON resources, your_jobs, heartbeats, metric_totals, database_history FROM addon_service;
REVOKE UPDATE ON sessions, customer_sessions, used_sign_ons, sign_in_attempts, sealing_keys FROM addon_service;
GRANT UPDATE (seen_at) ON sessions, customer_sessions TO addon_service;
COMMIT;
