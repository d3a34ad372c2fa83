import type { Request } from "express";
import type { Context } from "../context.ts";
import { retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import { clientAddress } from "../http/requests.ts";
import { inSmallLetters } from "../people/roles.ts";
import type { Account } from "../platform/account.ts";
import {
  noteAction,
  noteEnd,
  noteProgress,
  type ActionEnd,
  type ActionRequest,
  type Operator,
} from "./store.ts";
import type { OnProgress } from "./work-through.ts";

export const BY_PASSWORD: Operator = { name: "operator", account: null, address: null };

const SEEN_EVERY_MS = 1_000;

/** Writes the beginning of an action into the audit trail. `isNew` is false if its form was sent before. */
export function beginAction(db: Queryable, request: ActionRequest): Promise<{ id: number; isNew: boolean }> {
  return retryWhileDatabaseAway(() => noteAction(db, request));
}

/** Stores the progress of an action that has begun each second, so that any process can show it; and then its end. */
export function followAction(db: Queryable, id: number) {
  let [done, total] = [0, 0];
  const store = () => void noteProgress(db, id, done, total).catch(() => undefined);
  const timer = setInterval(store, SEEN_EVERY_MS).unref();
  return {
    onProgress: ((now, of) => ([done, total] = [now, of])) satisfies OnProgress,
    async end(ended: ActionEnd): Promise<void> {
      clearInterval(timer);
      await retryWhileDatabaseAway(() => noteEnd(db, id, [done, total], ended));
    },
  };
}

/** Anybody can be refused, in any number: so many refusals of each kind are written in an hour by one process. */
const MOST_REFUSALS = 20;

export type AccessTrail = ReturnType<typeof createAccessTrail>;

/**
 * Writes into the audit trail who came in as an operator, went, or was refused, and from where. A browser sends the
 * password with each request, so its use is written once a day for each address; a refusal once an hour for each account
 * or address. While the database is unreachable nothing is written, and nobody waits for it.
 */
export function createAccessTrail({ db, config, log }: Pick<Context, "db" | "config" | "log">) {
  let hour = "";
  /** What was written in this hour, by its form. */
  const written = new Set<string>();

  async function write(
    request: Request,
    form: string,
    { name, account }: Omit<Operator, "address">,
    { action = "sign-in", failure = null }: { action?: string; failure?: string | null } = {},
  ): Promise<void> {
    if (written.has(form)) return;
    written.add(form);
    const operator = { name, account, address: clientAddress(request) };
    const asked = { action, uuid: null, operator, form, requestId: String(request.id) };
    const ended = { state: failure === null ? "done" : "failed", message: failure } as const;
    await noteAction(db, asked, ended).catch((error: unknown) => {
      written.delete(form);
      log.debug({ requestId: request.id, error }, "The audit trail could not be written");
    });
  }

  function thisHour(): string {
    const now = new Date().toISOString().slice(0, 13);
    if (now !== hour) written.clear();
    return (hour = now);
  }

  function refused(request: Request, kind: string, who: Omit<Operator, "address">, failure: string): void {
    const form = `refused ${kind} ${who.account ?? clientAddress(request)} ${thisHour()}`;
    const others = [...written].filter((each) => each.startsWith(`refused ${kind} `));
    if (others.length < MOST_REFUSALS) void write(request, form, who, { failure });
  }

  return {
    /** A person signed in or out; written if `OPERATOR_ACCOUNTS` lists them. */
    async person(action: "sign-in" | "sign-out", request: Request, account: Account): Promise<void> {
      if (!isListed(config.operatorAccounts, account)) return;
      const who = { name: account.email, account: account.id };
      await write(request, `${action} ${account.id} ${request.id}`, who, { action });
    },
    /** A request with the operator's password was let in. */
    password(request: Request): void {
      const day = thisHour().slice(0, 10);
      void write(request, `password ${clientAddress(request)} ${day}`, BY_PASSWORD);
    },
    refusedPassword: (request: Request) =>
      refused(request, "password", BY_PASSWORD, "The password is wrong."),
    refusedAccount: (request: Request, { id, email }: Account) =>
      refused(
        request,
        "account",
        { name: email, account: id },
        "OPERATOR_ACCOUNTS does not list this account.",
      ),
  };
}

/**
 * Whether `OPERATOR_ACCOUNTS` lists an account, by its id, or by its e-mail if the platform has verified that. An entry
 * without "@" is compared with ids alone, because what the platform calls an e-mail need not look like one.
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
