import type { Context } from "../context.ts";
import { giveUpPerson, tokensOf } from "../credentials/token-source.ts";
import { isDatabaseAway } from "../database/database.ts";
import { KitError } from "../errors.ts";
import { Facts, type Page } from "../pages/pages.tsx";
import { accountOf, type Account } from "../platform/account.ts";
import { NoToken, PlatformRefused } from "../platform/errors.ts";
import type { Secret } from "../secret.ts";
import { within } from "../within.ts";
import { meaningOfScope } from "./scopes.ts";
import { describePerson, type Person } from "./store.ts";

/** `isLive`: the platform has just said who they are; otherwise it could not be asked, or does not say it now. */
interface Confirmed {
  person: Person;
  isLive: boolean;
}

/** Shorter than for other calls, because a person is waiting for the page. */
const CONFIRM_TIMEOUT_MS = 3_000;
/** For a token that is refreshed first. */
const TOKEN_TIMEOUT_MS = 10_000;

/**
 * Asks the platform again who a person is, with their token, which is refreshed if necessary, and stores a changed
 * answer. Null: it no longer accepts the person's tokens.
 */
export async function confirm(ctx: Context, person: Person): Promise<Confirmed | null> {
  try {
    const account = await accountNow(ctx, person);
    return account && { person: { ...person, ...account }, isLive: true };
  } catch (error) {
    if (!(error instanceof KitError) || isDatabaseAway(error)) throw error;
    return error instanceof NoToken && error.id === "needs_sign_in" ? null : { person, isLive: false };
  }
}

async function accountNow(ctx: Context, person: Person): Promise<Account | null> {
  const tokens = tokensOf(ctx, person.id);
  let token = await inTime(tokens.current());
  let account = await accountWith(ctx, token);
  if (!account) {
    token = await inTime(tokens.renew(token));
    account = await accountWith(ctx, token);
  }
  if (account?.id === person.id) {
    const { email, isEmailVerified, name } = account;
    if (email !== person.email || isEmailVerified !== person.isEmailVerified || name !== person.name)
      await describePerson(ctx, account);
    return account;
  }
  // Tokens of another account are not this person's, whoever mixed them up: a session never changes hands.
  if (account)
    ctx.log.error({ account: person.id }, "The platform names another account for a person's token");
  const isOver = await giveUpPerson(ctx, person.id, token);
  if (!account && !isOver) throw late();
  return null;
}

/** Null: the platform refuses the token. */
function accountWith(ctx: Context, token: Secret): Promise<Account | null> {
  return accountOf(ctx.platformCalls, token, CONFIRM_TIMEOUT_MS).catch((error: unknown) => {
    if (error instanceof PlatformRefused && error.status === 401) return null;
    throw error;
  });
}

const late = () => new NoToken("not_refreshed", "This person's token could not be refreshed in time.");
const inTime = (token: Promise<Secret>) => within(TOKEN_TIMEOUT_MS, token, late);

/** Who is signed in, what they allowed, and the button for signing out. */
export function whoPage({ person, isLive }: Confirmed, base: string): Page {
  const { name, email, scopes, signedInAt, sessionEndsAt } = person;
  return {
    title: "You are signed in",
    content: (
      <>
        <Facts
          of={[
            name === null ? null : ["Name", name],
            ["E-mail", email],
            [
              "You allowed",
              scopes.map((scope) => (
                <>
                  <code>{scope}</code> {meaningOfScope(scope)}
                  <br />
                </>
              )),
            ],
            ["Since", <Time at={signedInAt} />],
            ["Until", [<Time at={sessionEndsAt} />, ", or until you sign out"]],
          ]}
        />
        {!isLive && (
          <p>
            The platform does not say just now who you are; this is what it said when you signed in. If it
            goes on, sign in again, and allow this service to read your account's name and e-mail.
          </p>
        )}
        <form method="post" action={`${base}/oauth/logout`}>
          <button type="submit">Sign out</button>
        </form>
        <p>
          <a href={`${base}/oauth/login`}>Sign in with another account</a>
        </p>
      </>
    ),
  };
}

function Time({ at }: { at: Date }) {
  const shown = at.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
  return <time dateTime={at.toISOString()}>{shown} UTC</time>;
}
