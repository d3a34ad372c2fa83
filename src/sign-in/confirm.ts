import { KitError } from "../errors.ts";
import type { AccountOf } from "../platform/account.ts";
import type { TokenSource } from "../platform/api.ts";
import { PlatformRefused } from "../platform/api-errors.ts";
import type { Person, Sessions } from "./sessions.ts";
import { NoPersonToken } from "./tokens/token-source.ts";

/** `unknown`: the platform could not be asked. `refused`: it no longer accepts what the person allowed. */
export type Confirmed = { person: Person; as: "live" | "unknown" } | { as: "refused" };

/** Asks the platform anew who a person is, with their token, which is refreshed if need be; keeps what it says. */
export function createConfirm({
  tokensOf,
  accountOf,
  sessions,
}: {
  tokensOf(person: string): TokenSource;
  accountOf: AccountOf;
  sessions: Sessions;
}) {
  async function ask(person: Person): Promise<Person> {
    const tokens = tokensOf(person.id);
    const token = await tokens.current();
    const { email, name } = await accountOf(token).catch(async (error: unknown) => {
      if (!(error instanceof PlatformRefused && error.status === 401)) throw error;
      return accountOf(await tokens.renew(token));
    });
    if (email !== person.email || name !== person.name) await sessions.rename(person.id, email, name);
    return { ...person, email, name };
  }

  return async function confirm(person: Person): Promise<Confirmed> {
    try {
      return { person: await ask(person), as: "live" };
    } catch (error) {
      if (!(error instanceof KitError)) throw error;
      const isRefused =
        (error instanceof NoPersonToken && error.id === "refused") ||
        (error instanceof PlatformRefused && error.status === 401);
      return isRefused ? { as: "refused" } : { person, as: "unknown" };
    }
  };
}

export type Confirm = ReturnType<typeof createConfirm>;
