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
