// Apart from what reads resources, for the command line's help, which loads as little as it can.

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
