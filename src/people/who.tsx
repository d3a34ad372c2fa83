import type { Context } from "../context.ts";
import { tokensOf } from "../credentials/token-source.ts";
import { KitError } from "../errors.ts";
import { Facts, type Page } from "../pages/pages.tsx";
import { accountOf, type Account } from "../platform/account.ts";
import { PlatformRefused } from "../platform/errors.ts";
import { orNullAfter } from "../within.ts";

/** A person waits for the page. */
const PATIENCE_MS = 5_000;

/**
 * Who a person is now, as the platform says with their token, or as it said when they signed in. Null: it no longer
 * accepts the person's tokens.
 */
export async function accountNow(ctx: Context, person: Account): Promise<Account | null> {
  try {
    const account = await orNullAfter(PATIENCE_MS, askAgain(ctx, person.id));
    return account?.id === person.id ? account : person;
  } catch (error) {
    if (!(error instanceof KitError)) throw error;
    return error.id === "needs_sign_in" ? null : person;
  }
}

async function askAgain(ctx: Context, id: string): Promise<Account> {
  const tokens = tokensOf(ctx, id);
  const token = await tokens.current();
  return accountOf(ctx.platformCalls, token).catch(async (error: unknown) => {
    if (!(error instanceof PlatformRefused && error.status === 401)) throw error;
    return accountOf(ctx.platformCalls, await tokens.renew(token));
  });
}

/** Who is signed in, and the button for signing out. */
export function whoPage({ name, email }: Account, base: string): Page {
  return {
    title: "You are signed in",
    content: (
      <>
        <Facts of={[name === null ? null : ["Name", name], ["E-mail", email]]} />
        <form method="post" action={`${base}/oauth/logout`}>
          <button type="submit">Sign out</button>
        </form>
      </>
    ),
  };
}
