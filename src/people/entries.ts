import { randomUUID } from "node:crypto";
import type { Request } from "express";
import { databaseClock } from "../database/clock.ts";
import type { Database } from "../database/database.ts";
import { clientAddress } from "../http/requests.ts";
import { createSample, type Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { Account } from "../platform/authorizations.ts";

// Who came in, went out or was refused: rows of the audit trail, beside what operators did.

type Person = Pick<Account, "id" | "email">;

export type Entries = ReturnType<typeof createEntries>;

/** A holder of the password sends it with each request: one row for an address in this time. */
const PASSWORD_AGAIN_MS = 3_600_000;

/** An entry that cannot be written is a warning of the log: nobody is kept out for that. */
export function createEntries({ db, log, pace }: { db: Database; log: Log; pace: Pace }) {
  /** The last entry: they are written one after the other, in the order in which they came. */
  let last = Promise.resolve();
  const refusals = createSample(pace.logAgainMs);
  const passwords = createSample(PASSWORD_AGAIN_MS);

  async function write(action: string, person: Person | null, about: object, message: string | null) {
    const { operatorAction } = await db.prisma();
    const now = new Date(await databaseClock(db));
    const who = { operator: person?.email ?? "operator", account: person?.id ?? null };
    const times = { startedAt: now, seenAt: now, endedAt: now };
    const data = {
      action,
      ...who,
      ...about,
      message,
      state: "done",
      form: `entry-${randomUUID()}`,
      ...times,
    };
    await operatorAction.create({ data });
  }

  function note(
    action: string,
    request: Request,
    person: Person | null,
    message: string | null = null,
  ): void {
    const about = { address: clientAddress(request), requestId: String(request.id) };
    last = last
      .then(() => write(action, person, about, message))
      .catch((error: unknown) =>
        log.warn({ ...about, action, error }, "An entry is missing in the audit trail"),
      );
  }

  return {
    signedIn: (request: Request, person: Person) => note("signed in", request, person),
    signedOut: (request: Request, person: Person) => note("signed out", request, person),
    /** The operator's password was right. */
    cameByPassword(request: Request): void {
      passwords(clientAddress(request) ?? "", () => note("came in with the password", request, null));
    },
    /**
     * Somebody was refused, for `why`. Of each account, and of all strangers together, the first is written, and then one
     * each minute.
     */
    refused(request: Request, why: string, person: Person | null = null): void {
      refusals(`${person?.id} ${why}`, (leftOut) => {
        const others = leftOut > 0 ? ` ${leftOut} more were refused for that since the entry before.` : "";
        note("refused", request, person, why + others);
      });
    },
    /** Resolves when all entries are written. */
    async settled(): Promise<void> {
      await last;
    },
  };
}
