/** The background jobs, as the heartbeats, the metrics and the log name them. */
export type JobName =
  | "exchange-grants"
  | "refresh-tokens"
  | "run-steps"
  | "run-vendor-steps"
  | "find-late-steps"
  | "fail-stranded"
  | "spread-secret"
  | "reopen-quarantined"
  | "prune-sessions"
  | "prune-lost-provisions";
