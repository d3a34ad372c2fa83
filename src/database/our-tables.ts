/** The tables that the migrations create. A partner's own tables, with other rights, may stand beside them. */
export const OUR_TABLES = [
  ...[
    "resources",
    "credentials",
    "steps",
    "events",
    "client_secrets",
    "people",
    "sessions",
    "sign_in_attempts",
  ],
  ...["used_sign_ons", "customer_sessions", "sealing_keys", "heartbeats", "metric_totals", "metric_hours"],
  ...["operator_actions", "_prisma_migrations"],
];

/** The tables among them from which rows are deleted; from the others, no process needs the right to. */
export const DELETED_FROM = [
  "steps",
  "client_secrets",
  "people",
  "sessions",
  "sign_in_attempts",
  "used_sign_ons",
  "customer_sessions",
  "sealing_keys",
  "metric_hours",
];
