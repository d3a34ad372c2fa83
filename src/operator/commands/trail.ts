import { randomUUID } from "node:crypto";
import os from "node:os";
import type { Command } from "commander";
import type { Database } from "../../database/database.ts";
import { KitError, messageOf } from "../../errors.ts";
import { createAudit, type ActionRequest, type Audit } from "../audit.ts";
import type { OnProgress } from "../progress.ts";
import { readUuid } from "../../uuid.ts";
import { DONE, MISCONFIGURED, USED_WRONGLY } from "./exit-codes.ts";
import type { Failure } from "./failure.ts";
import type { Outcome } from "./outcome.ts";

/** Every other command changes something, and is in the audit trail; so are these with `--reveal`. */
const ONLY_READ: readonly string[] = [
  ...["doctor", "status", "audit", "apps", "resources list", "resources show", "config get", "config diff"],
  ...["manifest check", "manifest resolve", "manifest write", "api GET"],
];
const LONGEST_ACTION = 500;

/** Nothing is revealed that the audit trail does not have. */
class AuditUnavailable extends KitError {
  constructor(cause: unknown) {
    const message = `The audit trail cannot be written, and nothing is revealed without it: ${messageOf(cause)}`;
    super("audit_unavailable", message, { cause });
  }
}

/** The entry of one command in the audit trail, the same that has the actions of the operator's pages. */
export interface Trail {
  /**
   * Writes it, as soon as the database is open and before the command uses it. A failure is a warning, unless the
   * command reveals secrets: then nothing is done.
   */
  begin(db: Database): Promise<void>;
  onProgress: OnProgress;
  /**
   * Writes what came of the command. One that needs no database has its entry begun only now, by `open`, if one is set. Never throws.
   */
  end(result: Outcome | Failure, open: () => Promise<unknown>): Promise<void>;
}

/** `warn` is called with the reason why there is no entry, or none of its end. */
export function createTrail(
  command: Command,
  scrub: (text: string) => string,
  warn: (reason: string) => void,
): Trail | null {
  const { words, uuids, isRevealing } = read(command);
  if (!isRevealing && ONLY_READ.some((each) => `${words.join(" ")} `.startsWith(`${each} `))) return null;
  const form = `kit-${randomUUID()}`;
  const request: ActionRequest = {
    action: scrub(["kit", ...words].join(" ")).slice(0, LONGEST_ACTION),
    uuid: uuids.length === 1 ? uuids[0]! : null,
    operator: { name: systemUser(), account: null, address: os.hostname() },
    ...{ form, requestId: form },
  };
  let entry: ReturnType<Audit["follow"]> | null = null;
  let isTried = false;

  return {
    async begin(db) {
      if (isTried) return;
      isTried = true;
      try {
        const audit = createAudit(db);
        entry = audit.follow((await audit.begin(request)).id);
      } catch (error) {
        if (isRevealing) throw new AuditUnavailable(error);
        warn(messageOf(error));
      }
    },
    onProgress: (done, total) => entry?.onProgress(done, total),
    async end(result, open) {
      const { exitCode = DONE } = result;
      if (!entry && (isTried || isVain(result))) return;
      const state = exitCode === DONE ? "done" : "failed";
      const ended = { state, message: scrub(inWords(result)) } as const;
      try {
        if (!entry) await open();
        await entry?.end(ended);
      } catch (error) {
        warn(messageOf(error));
      }
    },
  };
}

/** The command as it was typed, but for values, which may be secrets; and the resources that it names. */
function read(command: Command) {
  const path: string[] = [];
  for (let at: Command = command; at.parent; at = at.parent) path.unshift(at.name());
  const given = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === "cli",
  );
  const options = given.map((option) => {
    const value: unknown = command.getOptionValue(option.attributeName());
    const values = option.isBoolean() || option.negate ? [] : [value].flat().map(String);
    return { name: option.long!, values: option.flags.includes("<json>") ? ["…"] : values };
  });
  const isOfResources = command.registeredArguments.some((argument) => argument.name() === "uuid");
  const typed = [
    ...(isOfResources ? command.args : []),
    ...options.flatMap(({ name, values }) => (name === "--resource" ? values : [])),
  ];
  const uuids = [...new Set(typed.flatMap((word) => readUuid(word) ?? []))];
  const words = [
    ...path,
    ...command.args.map((word) => word.replace(/=.*/s, "=…")),
    ...options.flatMap(({ name, values }) => (name === "--resource" ? [] : [name, ...values])),
  ].filter((word) => uuids.length !== 1 || readUuid(word) !== uuids[0]);
  return { words, uuids, isRevealing: options.some(({ name }) => name === "--reveal") };
}

/** Whether a command that did not come as far as the database did nothing at all. */
function isVain(result: Outcome | Failure): boolean {
  if ("data" in result) return result.isComplaint === true;
  return [USED_WRONGLY, MISCONFIGURED].includes(result.exitCode) || result.id === "database_unavailable";
}

/** The counts and the ids in the outcome's data; its other texts may be secrets. */
function inWords(result: Outcome | Failure): string {
  if ("message" in result) return result.message;
  const members = Array.isArray(result.data) ? [] : Object.entries(Object(result.data) as object);
  const told = members.flatMap(([name, value]: [string, unknown]) => {
    if (Array.isArray(value)) return [`${name} ${value.length}`];
    return typeof value === "number" || readUuid(value) ? [`${name} ${String(value)}`] : [];
  });
  return result.isComplaint ? "Nothing was changed." : told.join(", ");
}

function systemUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return "unknown";
  }
}
