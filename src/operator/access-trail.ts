import type { Request } from "express";
import type { Queryable } from "../database/database.ts";
import { clientAddress } from "../http/requests.ts";
import type { Log } from "../logging/log.ts";
import type { Account } from "../platform/account.ts";
import { createAudit, type AuditEntry } from "./audit.ts";

/** Anybody can be refused, in any number: so many refusals of each kind are written in an hour by one process. */
const MOST_REFUSALS = 20;

const PASSWORD = { id: null, email: "operator" };

/**
 * Writes into the audit trail who came in as an operator, went, or was refused, and from where. A browser sends the
 * password with each request, so its use is written once a day for each address; a refusal once an hour for each account
 * or address. While the database is unreachable nothing is written, and nobody waits for it.
 */
export function createAccessTrail({
  db,
  accounts,
  log,
}: {
  db: Queryable;
  /** `OPERATOR_ACCOUNTS`. */
  accounts: readonly string[];
  log: Log;
}) {
  const audit = createAudit(db);
  let hour = "";
  /** What was written in this hour, by its form. */
  const written = new Set<string>();

  async function write(
    request: Request,
    { action = "sign-in", form }: { action?: string; form: string },
    { id, email }: { id: string | null; email: string },
    outcome: Pick<AuditEntry, "state" | "message">,
  ): Promise<void> {
    if (written.has(form)) return;
    written.add(form);
    const operator = { name: email, account: id, address: clientAddress(request) };
    await audit
      .note({ action, operator, form, requestId: String(request.id) }, outcome)
      .catch((error: unknown) => {
        written.delete(form);
        log.debug({ requestId: request.id, error }, "The audit trail could not be written");
      });
  }

  function startHour(): void {
    const now = new Date().toISOString().slice(0, 13);
    if (now !== hour) written.clear();
    hour = now;
  }

  async function refused(request: Request, who: Pick<Account, "email"> & { id: string | null }, why: string) {
    startHour();
    const kind = who.id ? "account" : "password";
    const form = `refused ${kind} ${who.id ?? clientAddress(request)} ${hour}`;
    const others = [...written].filter((each) => each.startsWith(`refused ${kind} `));
    if (others.length < MOST_REFUSALS) await write(request, { form }, who, { state: "failed", message: why });
  }

  return {
    /** A person signed in or out; written if `OPERATOR_ACCOUNTS` lists them. */
    async person(action: "sign-in" | "sign-out", request: Request, account: Account): Promise<void> {
      startHour();
      const form = `${action} ${account.id} ${request.id}`;
      if (isListed(accounts, account)) await write(request, { action, form }, account, DONE);
    },
    /** A request with the operator's password was let in. */
    password(request: Request): void {
      startHour();
      void write(
        request,
        { form: `password ${clientAddress(request)} ${hour.slice(0, 10)}` },
        PASSWORD,
        DONE,
      );
    },
    refusedPassword: (request: Request) => void refused(request, PASSWORD, "The password is wrong."),
    refusedAccount: (request: Request, account: Account) =>
      void refused(request, account, "OPERATOR_ACCOUNTS does not list this account."),
  };
}

const DONE = { state: "done", message: null } as const;

export type AccessTrail = ReturnType<typeof createAccessTrail>;

/**
 * Whether `OPERATOR_ACCOUNTS` lists an account, by its id, or by its e-mail if the platform has verified that. An entry without "@" is compared with ids
 * alone, because what the platform calls an e-mail need not look like one. Only ASCII letters are compared without
 * case: in Unicode, the lower case of the kelvin sign is an ordinary "k", so another person's e-mail could match.
 */
export function isListed(
  accounts: readonly string[],
  { id, email, isEmailVerified }: Pick<Account, "id" | "email" | "isEmailVerified">,
): boolean {
  return accounts.some((account) => {
    const isEmail = account.includes("@");
    return inSmallLetters(account) === inSmallLetters(isEmail ? email : id) && (isEmailVerified || !isEmail);
  });
}

function inSmallLetters(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
