import { isDatabaseAway } from "../database/database.ts";
import { KitError } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Account } from "../platform/account.ts";
import { PlatformRefused } from "../platform/api-errors.ts";
import type { Secret } from "../secret.ts";
import { isForLater } from "./platform-problems.ts";
import type { Person, Sessions } from "./sessions.ts";
import { NoPersonToken, type PersonTokens } from "./tokens/token-source.ts";

/**
 * `unknown`: the platform could not be asked. `withheld`: it accepts the token, but does not say whose it is.
 * `forbidden`: it does not say so because the person has not allowed it. `refused`: it no longer accepts the person's
 * tokens.
 */
export type Confirmed =
  { person: Person; as: "live" | "unknown" | "withheld" | "forbidden" } | { as: "refused" };

/**
 * Asks the platform again who a person is, with their token, which is refreshed if necessary, and stores a changed
 * answer.
 */
export function createConfirm({
  tokensOf,
  accountOf,
  sessions,
  log,
}: {
  tokensOf(person: string): PersonTokens;
  accountOf(token: Secret): Promise<Account>;
  sessions: Sessions;
  log: Log;
}) {
  async function ask(person: Person): Promise<Person | null> {
    const tokens = tokensOf(person.id);
    const token = await tokens.current();
    const account =
      (await accountOf(token).catch(nullIfRefused)) ??
      (await askWithFresh(tokens, await tokens.renew(token)));
    if (!account) return null;
    // Tokens of another account are not this person's, whoever mixed them up: a session never changes hands.
    if (account.id !== person.id) {
      log.error(
        { account: person.id },
        "The platform names another account for a person's token: they must sign in again",
      );
      await tokens.giveUp(await tokens.current());
      return null;
    }
    const { email, isEmailVerified, name } = account;
    const isChanged =
      email !== person.email || isEmailVerified !== person.isEmailVerified || name !== person.name;
    if (isChanged) await sessions.describe(account);
    return { ...person, ...account };
  }

  /** Null: the platform refuses the fresh token too, and the person must sign in again. */
  async function askWithFresh(tokens: PersonTokens, token: Secret): Promise<Account | null> {
    try {
      return await accountOf(token);
    } catch (error) {
      if (isRefused(error) && (await tokens.giveUp(token))) return null;
      throw error;
    }
  }

  return async function confirm(person: Person): Promise<Confirmed> {
    try {
      const confirmed = await ask(person);
      return confirmed ? { person: confirmed, as: "live" } : { as: "refused" };
    } catch (error) {
      if (!(error instanceof KitError) || isDatabaseAway(error)) throw error;
      const isOver = error instanceof NoPersonToken && error.id === "refused";
      if (isOver) return { as: "refused" };
      return { person, as: whyNotLive(error) };
    }
  };
}

function isRefused(error: unknown): boolean {
  return error instanceof PlatformRefused && error.status === 401;
}

function whyNotLive(error: KitError): "unknown" | "withheld" | "forbidden" {
  if (!(error instanceof PlatformRefused) || isRefused(error) || isForLater(error)) return "unknown";
  return error.status === 403 ? "forbidden" : "withheld";
}

function nullIfRefused(error: unknown): null {
  if (isRefused(error)) return null;
  throw error;
}

export type Confirm = ReturnType<typeof createConfirm>;
