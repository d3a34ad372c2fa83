/**
 * The ids of all alarms that the kit raises. Each counter starts at 0: for Prometheus a series that begins at 1 has not
 * increased, so the first alarm of its kind would go unnoticed. docs/operate.md says what to do about each.
 */
export const ALARMS = [
  "client_secret_rejected",
  "clocks_apart",
  "crash",
  "database_unreachable",
  "event_loop_blocked",
  "grant_lost",
  "job_hangs",
  "mass_refusal",
  "needs_reauth",
  "no_grant",
  "no_refresh_token",
  "oauth_client_rejected",
  "plan_change_refused",
  "plan_unchanged_often",
  "provision_failed",
  "provision_lost",
  "quarantined",
  "refresh_misunderstood",
  "step_stuck",
  "stop_incomplete",
  "wrong_passwords",
] as const;
