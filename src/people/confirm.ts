import type { Context } from "../context.ts";
import { giveUpPerson, NoToken, tokensOf } from "../credentials/token-source.ts";
import { isDatabaseAway } from "../database/database.ts";
import { KitError } from "../errors.ts";
import { accountOf, type Account } from "../platform/account.ts";
import { PlatformRefused } from "../platform/errors.ts";
import type { TokenSource } from "../platform/api.ts";
import type { Secret } from "../secret.ts";
import { within } from "../within.ts";
import { isForLater } from "./problems.ts";
import { describePerson, type Person } from "./store.ts";

/**
 * `unknown`: the platform could not be asked. `withheld`: it accepts the token, but does not say whose it is.
 * `forbidden`: it does not say so because the person has not allowed it. `refused`: it no longer accepts the person's
 * tokens.
 */
export type Confirmed =
  { person: Person; as: "live" | "unknown" | "withheld" | "forbidden" } | { as: "refused" };

/** Shorter than for other calls, because a person is waiting for the page. */
const CONFIRM_TIMEOUT_MS = 3_000;
/** For a token that is refreshed first. */
const TOKEN_TIMEOUT_MS = 10_000;

/**
 * Asks the platform again who a person is, with their token, which is refreshed if necessary, and stores a changed
 * answer.
 */
export async function confirm(ctx: Context, person: Person): Promise<Confirmed> {
  try {
    const confirmed = await ask(ctx, person);
    return confirmed ? { person: confirmed, as: "live" } : { as: "refused" };
  } catch (error) {
    if (!(error instanceof KitError) || isDatabaseAway(error)) throw error;
    if (error instanceof NoToken && error.id === "needs_sign_in") return { as: "refused" };
    return { person, as: whyNotLive(error) };
  }
}

async function ask(ctx: Context, person: Person): Promise<Person | null> {
  const tokens = inTime(tokensOf(ctx, person.id));
  const token = await tokens.current();
  const account =
    (await accountOf(ctx.platformCalls, token, CONFIRM_TIMEOUT_MS).catch(nullIfRefused)) ??
    (await askWithFresh(ctx, person.id, await tokens.renew(token)));
  if (!account) return null;
  // Tokens of another account are not this person's, whoever mixed them up: a session never changes hands.
  if (account.id !== person.id) {
    const what = "The platform names another account for a person's token: they must sign in again";
    ctx.log.error({ account: person.id }, what);
    await giveUpPerson(ctx, person.id, await tokens.current());
    return null;
  }
  const { email, isEmailVerified, name } = account;
  if (email !== person.email || isEmailVerified !== person.isEmailVerified || name !== person.name)
    await describePerson(ctx, account);
  return { ...person, ...account };
}

/** Null: the platform refuses the fresh token too, and the person must sign in again. */
async function askWithFresh(ctx: Context, person: string, token: Secret): Promise<Account | null> {
  try {
    return await accountOf(ctx.platformCalls, token, CONFIRM_TIMEOUT_MS);
  } catch (error) {
    if (isRefused(error) && (await giveUpPerson(ctx, person, token))) return null;
    throw error;
  }
}

function inTime({ current, renew }: TokenSource): TokenSource {
  const late = () => new NoToken("not_refreshed", "This person's token could not be refreshed in time.");
  return {
    current: () => within(TOKEN_TIMEOUT_MS, current(), late),
    renew: (token) => within(TOKEN_TIMEOUT_MS, renew(token), late),
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
