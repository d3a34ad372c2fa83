import { HOW_TO_MIGRATE } from "../../database/migration-comparison.ts";
import { fact } from "./fact.ts";

// What may be wrong with the installation: settings, database, keys.

interface Words {
  words: string;
}
const asItIs = ({ words }: Words) => words;

/** SQLSTATEs of a refused write, and what helps. */
const ADVICE: readonly [states: RegExp, advice: string][] = [
  [
    /^(53100|58)/,
    "Make room on the disk of the database, or repair it. The service continues by itself; do not stop it before: it may hold tokens that nobody else has.",
  ],
  [/^53300/, "Let PostgreSQL take more connections, or lower DATABASE_POOL (docs/scale.md)."],
  [/^53/, "Give PostgreSQL more memory, or fewer connections (docs/scale.md)."],
  [/^25006/, "It is a standby, or was made read-only: let DATABASE_URL lead to the primary."],
  [/^42501/, "Grant the right to the role of DATABASE_URL (docs/database.md)."],
  [/^XX/, "Its files are damaged: stop the service, and restore a backup."],
];
const adviceOn = (state: string | null): string =>
  ADVICE.find(([states]) => states.test(state ?? ""))?.[1] ??
  "PostgreSQL's own log says more. Does each commit wait for a standby that is gone?";

/** PostgreSQL's or the network's words, and what helps. */
const REACH: readonly [words: RegExp, advice: string][] = [
  [/read-only/, "It is a standby, or was made read-only: let DATABASE_URL lead to the primary."],
  [
    /password authentication|no pg_hba|role .* does not exist/,
    "Set the user and password of DATABASE_URL to those of the database, and restart.",
  ],
  [/database .* does not exist/, "Set the name of the database in DATABASE_URL, and restart."],
  [
    /too many (clients|connections)|remaining connection slots/,
    "Let PostgreSQL take more connections, or lower DATABASE_POOL (docs/scale.md).",
  ],
  [/certificate|SSL|TLS/i, "Compare DATABASE_CA and sslmode with the database's certificate."],
  [/ENOTFOUND|EAI_AGAIN/, "The name in DATABASE_URL is not known: is it right, and does DNS answer here?"],
  [
    /ECONNREFUSED|terminated|ECONNRESET|starting up|shutting down/,
    "PostgreSQL does not run there, or has just ended: start it, and read its log. Is its disk full? Is DATABASE_URL its address?",
  ],
];
const adviceOnReach = (words: string): string =>
  REACH.find(([pattern]) => pattern.test(words))?.[1] ??
  "Is it running, no standby, its disk not full, and is DATABASE_URL the right address and user?";

/** `state`: SQLSTATE. */
interface RefusedWrite extends Words {
  state: string | null;
  isRecent?: boolean;
}

/** `isVery`: sales are about to be lost. */
interface Slow {
  ms: number;
  isVery: boolean;
}
const ofSlow = { usually: "now", isUrgent: ({ isVery }: Slow) => isVery } as const;
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

const SET_THE_SECRET = "Run kit secret set, and give it the one that the platform's partner portal shows.";

export const OF_THE_INSTALLATION = {
  settings_invalid: fact<Words>({
    title: "The settings are invalid",
    urgency: "urgent",
    says: asItIs,
    names: "the settings",
    cure: "Fix them in the environment, or in the .env beside the process.",
    runbook: "Settings and start",
    noAlert: "a process with them ends with 78, for which `AddonProcessMisconfigured` or `AddonDown` rings",
  }),
  settings_remarkable: fact<Words>({
    title: "Some settings are remarkable",
    urgency: "remark",
    says: asItIs,
    names: "the settings",
    cure: "Change them where they are set, unless this is development.",
    runbook: "Settings and start",
  }),
  cannot_start: fact<Words>({
    title: "The service cannot be started",
    urgency: "urgent",
    says: asItIs,
    cure: "Fix what it names; after a change of src/your-service/, build it again.",
    runbook: "Settings and start",
    noAlert: "a process that cannot start ends, for which `AddonProcessMisconfigured` or `AddonDown` rings",
  }),
  database_unreachable: fact<Words>({
    title: "The database cannot be used",
    urgency: "urgent",
    says: asItIs,
    cure: ({ words }) =>
      `${adviceOnReach(words)} A service that runs waits for it, and continues by itself. Do not stop it before: it may hold tokens that nobody else has.`,
    runbook: "AddonDatabaseAway",
    alerts: ["AddonDatabaseAway"],
    alarms: ["database_unreachable", "tokens_held"],
  }),
  database_slow: fact<Slow>({
    title: "The database is slow",
    urgency: ofSlow,
    says: ({ ms }) =>
      `PostgreSQL takes ${seconds(ms)} to answer a statement that does nothing; a provision sends two or more, and is lost if they take 8 s.`,
    cure: "Its machine is busy, or the network between is slow: look at processor and disk, at pg_stat_activity for who works there, and at a connection pooler.",
    runbook: "The database is slow",
    noAlert: "`AddonAnswersSlow` rings once provisions are answered late",
  }),
  writes_slow: fact<Slow>({
    title: "The database is slow to write",
    urgency: ofSlow,
    says: ({ ms }) => `PostgreSQL took ${seconds(ms)} to write what a sale writes; after 8 s a sale is lost.`,
    cure: "Look at its disk, and at a standby for which each commit waits (synchronous_standby_names).",
    causes: ["database_slow"],
    runbook: "The database is slow",
    noAlert: "`AddonAnswersSlow` rings once provisions are answered late",
  }),
  database_locked: fact<Words>({
    title: "A lock keeps a check from being made",
    urgency: "urgent",
    says: asItIs,
    cure: "Another session of PostgreSQL holds a lock. How to find it: AddonDatabaseAway in docs/operate.md.",
    runbook: "AddonDatabaseAway",
    noAlert:
      "`AddonAnswersSlow`, `AddonProvisionsFail` or `AddonMetricsMissing` rings, by what waits for the lock",
  }),
  check_failed: fact<Words>({
    title: "A check could not be made",
    urgency: "urgent",
    says: asItIs,
    cure: "The log says more of the error.",
    runbook: "A check that fails",
    noAlert: "only who looks makes the checks",
  }),
  migrations_missing: fact<Words>({
    title: "The database lacks migrations",
    urgency: "urgent",
    says: asItIs,
    names: "the migrations",
    cure: HOW_TO_MIGRATE,
    command: "kit migrate",
    runbook: "Migrations and rights",
    noAlert:
      "a process that lacks them ends with 78, for which `AddonProcessMisconfigured` or `AddonDown` rings",
  }),
  migrations_differ: fact<Words>({
    title: "The migrations are not those of this build",
    urgency: "remark",
    says: asItIs,
    names: "the migrations",
    cure: 'See docs/upgrade.md, "How a migration can end".',
    runbook: "Migrations and rights",
  }),
  rights_too_many: fact({
    title: "The service's role has more rights than it needs",
    urgency: "remark",
    says: () => "The service's role has rights that it does not need: it may delete the audit trail.",
    cure: "Run ops/database-rights.sql as the owner of the tables (docs/database.md).",
    runbook: "Migrations and rights",
  }),
  writes_refused: fact<RefusedWrite>({
    title: "The database takes no writes",
    urgency: "urgent",
    says: ({ words }) => `The database takes no writes, and each sale is lost: ${words}`,
    cure: ({ state }) => adviceOn(state),
    runbook: "AddonProvisionsFail",
    alerts: ["AddonProvisionsFail"],
    alarms: ["tokens_held"],
  }),
  write_refused: fact<RefusedWrite>({
    title: "The database refused a write",
    urgency: { usually: "later", isUrgent: ({ isRecent }) => isRecent === true },
    says: asItIs,
    names: "the process",
    cure: ({ state, isRecent }) =>
      isRecent ? adviceOn(state) : `If it lasts: ${adviceOn(state)} Which sales were lost: kit lost`,
    command: "kit lost",
    causes: ["writes_refused"],
    runbook: "AddonProvisionsFail",
    alerts: ["AddonProvisionsFail"],
  }),
  key_missing: fact<{ keys: string }>({
    title: "A key is missing",
    urgency: "urgent",
    says: ({ keys }) =>
      `Rows are sealed with keys that are neither ENCRYPTION_KEY nor in DECRYPTION_KEYS: ${keys}.`,
    names: "the keys",
    cure: "Put the missing key into DECRYPTION_KEYS: without it, what it sealed cannot be decrypted.",
    runbook: "Keys",
    noAlert: "`AddonNeedsAttention` rings once a customer's tokens cannot be decrypted",
  }),
  keys_old: fact<{ now: string; others: string }>({
    title: "Older keys still seal some rows",
    urgency: "remark",
    says: ({ now, others }) => `${now}; older keys still seal some: ${others}.`,
    names: "the keys",
    cure: "When all processes run with the new ENCRYPTION_KEY, run: kit keys reseal",
    command: "kit keys reseal",
    buttons: ["/reseal"],
    runbook: "Keys",
  }),
  keys_unused: fact<{ now: string }>({
    title: "An old key seals nothing",
    urgency: "remark",
    says: ({ now }) => `${now}, and nothing is sealed with any of DECRYPTION_KEYS.`,
    names: "the keys",
    cure: "An old key can be dropped 12 hours after no process seals with it any more. A new one stays: make it ENCRYPTION_KEY next.",
    runbook: "Keys",
  }),
  secret_missing: fact<Words>({
    title: "There is no client secret that can be used",
    urgency: "urgent",
    says: asItIs,
    cure: `Fix the keys, if they are what it names. Otherwise: ${SET_THE_SECRET}`,
    command: "kit secret set",
    buttons: ["/secret"],
    causes: ["key_missing"],
    runbook: "AddonClientSecretRejected",
    noAlert: "a process without one ends with 78, for which `AddonProcessMisconfigured` or `AddonDown` rings",
  }),
  secret_rejected: fact<{ version: number }>({
    title: "The platform rejects our client secret",
    urgency: "urgent",
    says: ({ version }) =>
      `The platform rejects our client secret (version ${version}): no token can be refreshed.`,
    cure: SET_THE_SECRET,
    command: "kit secret set",
    buttons: ["/secret"],
    runbook: "AddonClientSecretRejected",
    alerts: ["AddonClientSecretRejected"],
    alarms: ["client_secret_rejected"],
  }),
  secret_accepted_again: fact<{ version: number }>({
    title: "The platform accepts our client secret again",
    urgency: "now",
    says: ({ version }) =>
      `The platform rejected our client secret (version ${version}), and accepts it now: no token is refreshed until the service has noticed.`,
    cure: "Wait a minute: a running service tries it once a minute, and then refreshes what is due.",
    runbook: "AddonClientSecretRejected",
    alerts: ["AddonClientSecretRejected"],
  }),
  secret_doubtful: fact<{ version: number; because: string }>({
    title: "Whether our client secret is right is not known",
    urgency: "later",
    says: ({ version, because }) =>
      `The client secret is version ${version}; whether the platform accepts it is not known: ${because}.`,
    cure: `Look again when the platform answers (kit status). Is PLATFORM_AUTH_URL its authorization service? If it was reset: ${SET_THE_SECRET}`,
    command: "kit secret set",
    buttons: ["/secret"],
    causes: ["platform_unreachable", "platform_fails", "platform_odd"],
    runbook: "AddonClientSecretRejected",
    alerts: ["AddonClientSecretRejected"],
  }),
};
