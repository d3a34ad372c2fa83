import { randomUUID } from "node:crypto";
import os from "node:os";
import type { Command } from "commander";
import type { Database } from "../../database/database.ts";
import { KitError, messageOf } from "../../errors.ts";
import { readUuid } from "../../uuid.ts";
import { beginAction, followAction } from "../audit.ts";
import { DONE, type Failure, type Outcome } from "./outcome.ts";

/** Every other command changes something, and is in the audit trail; so are these with `--reveal`. */
const ONLY_READ = new RegExp(
  "^(doctor|status|audit|action( list)?$|apps|api get|resources (list|show)|config (get|diff)|manifest (check|resolve|write))\\b",
  "i",
);
/** A command that failed like this before the database was open did nothing at all. */
const IN_VAIN = ["used_wrongly", "misconfigured", "database_unavailable", "not_confirmed"];
const LONGEST_ACTION = 500;

/**
 * The entry of one command in the audit trail, the same that has the actions of the operator's pages. `warn` is called
 * with the reason why there is no entry, or none of its end.
 */
export function createTrail(
  command: Command,
  { scrub, warn }: { scrub(text: string): string; warn(reason: string): void },
) {
  const { words, uuids } = wordsOf(command);
  const isRevealing = words.includes("--reveal");
  const isWanted = isRevealing || !ONLY_READ.test(words.join(" "));
  let entry: ReturnType<typeof followAction> | null = null;
  let isTried = false;

  return {
    /**
     * Writes it, as soon as the database is open and before the command uses it. A failure is a warning, unless the
     * command reveals secrets: then nothing is done.
     */
    async begin(db: Database): Promise<void> {
      if (!isWanted || isTried) return;
      isTried = true;
      const form = `kit-${randomUUID()}`;
      const action = scrub(["kit", ...words].join(" ")).slice(0, LONGEST_ACTION);
      const uuid = uuids.length === 1 ? uuids[0]! : null;
      const operator = { name: systemUser(), account: null, address: os.hostname() };
      try {
        const { id } = await beginAction(db, { action, uuid, operator, form, requestId: form });
        entry = followAction(db, id);
      } catch (cause) {
        const why = messageOf(cause);
        if (!isRevealing) return warn(why);
        const message = `The audit trail cannot be written, and nothing is revealed without it: ${why}`;
        throw new KitError("audit_unavailable", message, { cause });
      }
    },
    onProgress: (done: number, total: number) => entry?.onProgress(done, total),
    /**
     * Writes what came of the command. One that needs no database has its entry begun only now, by `open`. Never throws.
     */
    async end(result: Outcome | Failure, open: () => Promise<unknown>): Promise<void> {
      const isVain = isTried || ("id" in result && IN_VAIN.includes(result.id));
      if (!isWanted || (!entry && isVain)) return;
      const state = (result.exitCode ?? DONE) === DONE ? "done" : "failed";
      const message = scrub(result.message ?? countsIn(result.data));
      try {
        if (!entry) await open();
        await entry?.end({ state, message });
      } catch (error) {
        warn(messageOf(error));
      }
    },
  };
}

/** The command as it was typed, but for values, which may be secrets; and the resources that it names. */
function wordsOf(command: Command) {
  const path: string[] = [];
  for (let at: Command = command; at.parent; at = at.parent) path.unshift(at.name());
  const isOfResources = command.registeredArguments.some((argument) => argument.name() === "uuid");
  const { resource } = command.opts<{ resource?: string }>();
  const named = [...(isOfResources ? command.args : []), resource];
  const uuids = [...new Set(named.flatMap((word) => readUuid(word) ?? []))];
  const options = command.options.flatMap((option) => {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) !== "cli" || name === "resource") return [];
    const values = [command.getOptionValue(name) as unknown].flat();
    return [option.long!, ...(name === "data" ? ["…"] : values.filter((value) => typeof value === "string"))];
  });
  const words = [...path, ...command.args.map((word) => word.replace(/=.*/s, "=…")), ...options];
  return { words: words.filter((word) => uuids.length !== 1 || readUuid(word) !== uuids[0]), uuids };
}

/** The counts and the ids in an outcome's data; its other texts may be secrets. */
function countsIn(data: unknown): string {
  const members = Array.isArray(data) ? [] : Object.entries(Object(data) as object);
  return members
    .flatMap(([name, value]: [string, unknown]) => {
      if (Array.isArray(value)) return [`${name} ${value.length}`];
      return typeof value === "number" || readUuid(value) ? [`${name} ${String(value)}`] : [];
    })
    .join(", ");
}

/** In a container the user may have no name. */
function systemUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return "unknown";
  }
}
