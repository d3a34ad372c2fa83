import { CommanderError } from "commander";
import { isTransient } from "../../database/failure.ts";
import { KitError, messageOf, Misconfigured } from "../../errors.ts";
import { FAILED, MISCONFIGURED, USED_WRONGLY } from "./exit-codes.ts";

/** Why a command failed: an id and a sentence, what to do next, and the exit code. */
export interface Failure {
  id: string;
  message: string;
  next: string | null;
  exitCode: number;
}

const SLOW_DOWN = "The platform takes no more calls for now. Wait a minute, then run it again.";

/** What to do about a failure, by its id, or by its id and its reason. */
const NEXT: Readonly<Record<string, string>> = {
  not_found: "See what there is: kit resources list",
  database_unavailable: "Is it running? kit doctor looks at everything the service needs.",
  client_secret_rejected: "Run kit secret set, and give it the newest one of the platform's partner portal.",
  key_missing: "kit doctor says which key is missing.",
  integrity: "kit doctor says how many rows are affected.",
  connection_failed: "Is the platform reachable from here? kit doctor tries.",
  timed_out: "Is the platform reachable from here? kit doctor tries.",
  erased: "It was deprovisioned: there is nothing left to ask with.",
  grant_lost: "No token ever came. If the platform opened its oauth-grant endpoint: kit grants recover UUID",
  no_grant: "No grant ever came. Where the platform opened its oauth-grant endpoint: kit grants recover UUID",
  grant_pending:
    "Its grant is not exchanged yet: within five minutes of the provision it has tokens, or is grant_lost.",
  user_token_rejected: "It may have expired: get a new one from the platform's own command-line tool.",
  user_token_forbidden: "Use a token whose scope is global, and of an account that may do it.",
  unknown_authorization:
    "Check the id, and that the token is of the same user. What was revoked before is gone.",
  authorization_refused: "Mend the description or the scopes as it says.",
  authorization_unknown: "Look at your authorizations on the platform before you try again.",
  status_unavailable: "Look at the platform's status site. Grants and refreshes go on without the feed.",
  unknown_incident: "See what there is: kit status --since YYYY-MM-DD",
  migration_failed:
    "Correct what the database says: its user may not change the schema (MIGRATION_DATABASE_URL can name another), or a session held a table for ten minutes. Then run kit migrate again: it begins where this one ended.",
  needs_reauth: "The platform refused its refresh token. Named by its uuid, it is tried once more.",
  quarantined:
    "kit resources show UUID says why: for key_missing kit doctor names the key, for integrity kit tokens refresh UUID may bring fresh tokens.",
  "quarantined key_missing": "kit doctor says which key is missing.",
  "quarantined integrity":
    "Its row was changed. If the refresh token still opens, kit tokens refresh UUID may bring fresh tokens.",
  invalid_grant:
    "Ask the platform's support: a refresh token that is refused twice, a minute apart, was revoked. kit resources list --state needs_reauth",
  rate_limit: SLOW_DOWN,
  slow_down: SLOW_DOWN,
  http_429: SLOW_DOWN,
  unreadable_answer: "Does the platform stand there? kit doctor looks.",
  kept: "What differs on the platform stays as it is there; --overwrite NAME changes it.",
  misconfigured: "kit doctor looks at everything that is set.",
};

/** The ids of the platform's errors for its own failures; `http_5xx` if the answer named none. */
const PLATFORM_IN_TROUBLE = /^(http_5\d\d|(service|temporarily)_unavailable|(internal_)?server_error)$/;

/** What to do about a failure, as a sentence; null if nothing is known to help. */
export function nextStep(id: string, reason?: unknown): string | null {
  if (PLATFORM_IN_TROUBLE.test(id))
    return "The platform is in trouble: kit status shows what it says of it. Then the same command can be run again.";
  return NEXT[`${id} ${String(reason)}`] ?? NEXT[id] ?? null;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) {
    const isUnfinished = error.code === "commander.help";
    const message = isUnfinished
      ? "What to do is missing: a command."
      : sentence(error.message.replace(/^error: /, "").replace(/\n\((Did you mean .*)\)$/, ". $1"));
    return { id: "used_wrongly", message, next: null, exitCode: USED_WRONGLY };
  }
  if (error instanceof Misconfigured) {
    return { id: error.id, message: error.message, next: nextStep(error.id), exitCode: MISCONFIGURED };
  }
  if (error instanceof KitError && error.id === "used_wrongly") {
    return { id: error.id, message: error.message, next: null, exitCode: USED_WRONGLY };
  }
  const { id, message } = described(error);
  const { reason } = Object(error) as { reason?: unknown };
  return { id, message: sentence(message), next: nextStep(id, reason), exitCode: FAILED };
}

function described(error: unknown): { id: string; message: string } {
  if (error instanceof KitError) {
    const cause = error.id === "database_unavailable" && error.cause ? ` (${messageOf(error.cause)})` : "";
    return { id: error.id, message: error.message + cause };
  }
  const message = messageOf(error);
  if (isTransient(error))
    return { id: "database_unavailable", message: `The database does not answer: ${message}` };
  return { id: "internal_error", message };
}

/** Gives a message from elsewhere a capital letter, unless it begins with a name, a code or a call. */
function sentence(text: string): string {
  return /^[a-z]+ /.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
}
