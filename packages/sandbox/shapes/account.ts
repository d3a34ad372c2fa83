import { isoTime } from "../world/clock.ts";
import type { UserRecord } from "../world/records.ts";

/** An account as the API shows it to its user. Users from an old state file have no times. */
export function accountShape({ id, email, name, createdAt = 0, lastSignInAt = null }: UserRecord) {
  return {
    id,
    email,
    name,
    acknowledged_msa: false,
    acknowledged_msa_at: null,
    allow_tracking: true,
    beta: false,
    country_of_residence: null,
    default_organization: null,
    default_team: null,
    delinquent_at: null,
    federated: false,
    identity_provider: null,
    last_login: lastSignInAt === null ? null : isoTime(lastSignInAt),
    sms_number: null,
    suspended_at: null,
    two_factor_authentication: true,
    verified: true,
    created_at: isoTime(createdAt),
    updated_at: isoTime(createdAt),
  };
}
