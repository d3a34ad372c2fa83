import { CommanderError } from "commander";
import { isTransient } from "../../database/database.ts";
import { errorIdOf, KitError, messageOf } from "../../errors.ts";
import { adviceOn } from "../advice.ts";
import { typedUuid, UsedWrongly } from "../errors.ts";
import { isWhole, reportInWords, type Report } from "../work-through.ts";
import type { Screen } from "./host.ts";
import { safe, wrapped } from "./text.ts";

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
  /** What came of it, without secrets, for the audit trail; unless given, the counts and ids in the data. */
  message?: string;
  /** The lines say why there is no result: they go to standard error. */
  isComplaint?: boolean;
  /** 0 by default; 1 if the command ran but its purpose failed. */
  exitCode?: number;
}

/** Why a command failed, as the outcome that it has then. The data is `{id, message}`. */
export interface Failure extends Outcome {
  id: string;
  message: string;
}

const HOW_IT_IS_USED = "How it is used: the same command with --help";
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
  busy: "Another process is refreshing it: run this again in a moment.",
  rate_limit: SLOW_DOWN,
  slow_down: SLOW_DOWN,
  http_429: SLOW_DOWN,
  under_way: "Its last rotation has not reached the app: kit resources show UUID says what it waits for.",
  overlap:
    "What the last rotation replaced is not retired yet, and the app has the new ones. kit rotate UUID, by name, retires the old ones at once.",
  kept: "What differs on the platform stays as it is there; --overwrite NAME changes it.",
};

/** The ids of the platform's errors for its own failures; `http_5xx` if the answer named none. */
const PLATFORM_IN_TROUBLE = /^(http_5\d\d|(service|temporarily)_unavailable|(internal_)?server_error)$/;

/** What to do about a failure, or about a credential's state; null if nothing is known to help. */
function nextStep(id: string, reason?: unknown): string | null {
  if (PLATFORM_IN_TROUBLE.test(id))
    return "The platform is in trouble: kit status shows what it says of it. Then the same command can be run again.";
  return NEXT[id] ?? adviceOn(id, reason)?.todo ?? null;
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  used_wrongly: USED_WRONGLY,
  misconfigured: MISCONFIGURED,
};

/** A failure in words; `scrub` takes the secrets out of them. */
export function failureOf(error: unknown, scrub: (text: string) => string): Failure {
  const [id, text] = described(error);
  // Messages from elsewhere begin small; names, codes and calls stay as they are.
  const message = scrub(text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase()));
  const next = nextStep(id, (Object(error) as { reason?: unknown }).reason);
  return {
    ...{ id, message, data: { id, message }, isComplaint: true, exitCode: EXIT_CODES[id] ?? FAILED },
    show: (screen) => complaint(screen, message, next),
  };
}

/** What went wrong and, below it, what to do. */
export function complaint({ columns, paint }: Screen, message: string, next: string | null): string {
  const text = message.split("\n").map(safe).join("\n");
  const advice = next === null ? [] : [`  ${paint.dim(wrapped(next, columns, "  "))}`];
  return [`${paint.red("✗")} ${wrapped(text, columns, "  ")}`, ...advice].join("\n");
}

function described(error: unknown): [id: string, message: string] {
  const message = messageOf(error);
  if (error instanceof CommanderError) return ["used_wrongly", message.replace(/^error: /, "")];
  if (!(error instanceof KitError) && isTransient(error))
    return ["database_unavailable", `The database does not answer: ${message}`];
  const id = errorIdOf(error);
  const { cause } = Object(error) as { cause?: unknown };
  return [id, id === "database_unavailable" && cause ? `${message} (${messageOf(cause)})` : message];
}

/** The uuids of the named resources in canonical form, or "all". Throws `UsedWrongly` if both are given, or neither. */
export function namesOrAll(typed: readonly string[], { all = false }: { all?: boolean }): string[] | "all" {
  if (all === typed.length > 0) throw new UsedWrongly("Name the resources by uuid, or say --all.");
  return all ? "all" : typed.map(typedUuid);
}

/** The outcome of work on many resources; `doneWord` names the success. */
export function bulkOutcome(report: Report, doneWord: string): Outcome {
  return {
    data: report,
    exitCode: isWhole(report) ? DONE : FAILED,
    show: (screen) => bulkText(screen, report, doneWord),
  };
}

/** A report as {@link reportInWords} says it, and what to do next. */
export function bulkText(screen: Screen, report: Report, doneWord: string): string {
  const ids = [...report.failed.map(({ id }) => id), ...report.skipped.map(({ reason }) => reason)];
  const advice = [...new Set(ids.map((id) => nextStep(id)))].filter((each) => each !== null);
  const told = advice.map((each) => screen.paint.dim(wrapped(each, screen.columns)));
  return [onScreen(screen, reportInWords(report, doneWord)), ...told].join("\n");
}

/** Lines that may hold text from elsewhere, made safe and broken to fit the screen. */
export function onScreen({ columns, paint }: Screen, text: string): string {
  const marked = (line: string) => line.replace(/^✗/, paint.red("✗")).replace(/^[–!]/, paint.yellow);
  return text
    .split("\n")
    .map((line) => marked(wrapped(safe(line), columns, "    ")))
    .join("\n");
}
