import { randomUUID } from "node:crypto";
import os from "node:os";
import type { Database } from "../../database/database.ts";
import { readUuid } from "../../uuid.ts";
import { beginAction, followAction } from "../audit.ts";

const LONGEST_ACTION = 500;

/**
 * Writes a command into the audit trail, the same that has the actions of the operator's pages, as it was typed but for
 * values, which may be secrets. Answers what writes its progress and its end.
 */
export async function beginEntry(db: Database, typed: readonly string[], scrub: (text: string) => string) {
  const words = typed
    .filter((word) => word !== "--json")
    .map((word, at, all) => (all[at - 1] === "--data" ? "…" : word.replace(/=.*/s, "=…")));
  const action = scrub(["kit", ...words].join(" ")).slice(0, LONGEST_ACTION);
  const [uuid = null, ...others] = new Set(words.flatMap((word) => readUuid(word) ?? []));
  const operator = { name: systemUser(), account: null, address: os.hostname() };
  const form = `kit-${randomUUID()}`;
  const about = { action, uuid: others.length === 0 ? uuid : null, operator };
  return followAction(db, (await beginAction(db, { ...about, form, requestId: form })).id);
}

/** In a container the user may have no name. */
function systemUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return "unknown";
  }
}
