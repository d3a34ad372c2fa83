// In a file of their own, because the command line's help needs them and must not load the code that reads resources.

export const BUSINESS_STATES = ["provisioning", "provisioned", "failed", "deprovisioned"] as const;
export const CREDENTIAL_STATES = [
  "grant_pending",
  "active",
  "needs_reauth",
  "grant_lost",
  "no_grant",
  "quarantined",
  "erased",
] as const;
