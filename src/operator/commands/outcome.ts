import { CommanderError } from "commander";
import { isTransient } from "../../database/database.ts";
import { errorIdOf, KitError, messageOf } from "../../errors.ts";
import { adviceOn } from "../advice.ts";
import type { Screen } from "./host.ts";

/** The exit codes of `kit`. Scripts rely on them. */
export const DONE = 0;
export const FAILED = 1;
export const USED_WRONGLY = 2;
/** The command was done and its outcome printed, but something could not be closed at the end: do not run it again. */
export const DONE_NOT_CLOSED = 3;
export const MISCONFIGURED = 78;

/** The result of a command: one JSON document, and the same as text for people. */
export interface Outcome {
  data: unknown;
  /** Lines for standard output, without the last line end. */
  show(screen: Screen): string;
  /** The lines say why there is no result: they go to standard error. */
  isComplaint?: boolean;
  /** 0 by default; 1 if the command ran but its purpose failed. */
  exitCode?: number;
}

/** Why a command failed: an id and a sentence, what to do next, and the exit code. */
export interface Failure {
  id: string;
  message: string;
  next: string | null;
  exitCode: number;
}

/** The operator was asked, and said no or cancelled. */
export class NotConfirmed extends KitError {
  constructor() {
    super("not_confirmed", "Nothing was changed.");
  }
}

export const HOW_IT_IS_USED = "How it is used: the same command with --help";
const IS_IT_THERE = "Is the platform reachable from here? kit doctor tries.";
const SLOW_DOWN = "The platform takes no more calls for now. Wait a minute, then run it again.";

/** What to do about a failure whose own message does not say it, by its id. */
const NEXT: Readonly<Record<string, string>> = {
  used_wrongly: HOW_IT_IS_USED,
  misconfigured: "kit doctor looks at everything that is set.",
  database_unavailable: "Is it running? kit doctor looks at everything the service needs.",
  migration_failed: "Correct what the database says, then run kit migrate again: it begins where this ended.",
  key_missing: "kit doctor says which key is missing.",
  connection_failed: IS_IT_THERE,
  timed_out: IS_IT_THERE,
  unreadable_answer: IS_IT_THERE,
  grant_pending: "Within five minutes of the provision it has tokens, or its grant is lost.",
  client_secret_rejected: "Run kit secret set with the newest one of the platform's partner portal.",
  invalid_grant:
    "Ask the platform's support: a refresh token that is refused for a day was revoked. kit resources list --state needs_reauth",
  rate_limit: SLOW_DOWN,
  slow_down: SLOW_DOWN,
  http_429: SLOW_DOWN,
  kept: "What differs on the platform stays as it is there; --overwrite NAME changes it.",
};

/** The ids of the platform's errors for its own failures; `http_5xx` if the answer named none. */
const PLATFORM_IN_TROUBLE = /^(http_5\d\d|(service|temporarily)_unavailable|(internal_)?server_error)$/;

/** What to do about a failure, or about a credential's state; null if nothing is known to help. */
export function nextStep(id: string, reason?: unknown): string | null {
  if (PLATFORM_IN_TROUBLE.test(id))
    return "The platform is in trouble: kit status shows what it says of it. Then the same command can be run again.";
  return NEXT[id] ?? adviceOn(id, reason)?.todo ?? null;
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  used_wrongly: USED_WRONGLY,
  misconfigured: MISCONFIGURED,
};

export function failureOf(error: unknown): Failure {
  const { id, message: text } = described(error);
  // Messages from elsewhere begin small; names, codes and calls stay as they are.
  const message = text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  const { reason } = Object(error) as { reason?: unknown };
  return { id, message, next: nextStep(id, reason), exitCode: EXIT_CODES[id] ?? FAILED };
}

function described(error: unknown): { id: string; message: string } {
  const message = messageOf(error);
  if (error instanceof CommanderError) {
    const isMissing = error.code === "commander.help";
    return {
      id: "used_wrongly",
      message: isMissing ? "A command is missing." : message.replace(/^error: /, ""),
    };
  }
  const id = errorIdOf(error);
  if (id === "database_unavailable")
    return {
      id,
      message: `${message}${(error as Error).cause ? ` (${messageOf((error as Error).cause)})` : ""}`,
    };
  if (!(error instanceof KitError) && isTransient(error))
    return { id: "database_unavailable", message: `The database does not answer: ${message}` };
  return { id, message };
}
