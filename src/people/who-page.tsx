import type { Page } from "../pages/pages.tsx";
import type { Confirmed } from "./confirm.ts";
import { meaningOfScope } from "./scopes.ts";
import type { Person } from "./store.ts";

type As = Exclude<Confirmed["as"], "refused">;

/**
 * Who is signed in, what they allowed, and the button for signing out. `as`: what the platform has just said about
 * them.
 */
export function whoPage(person: Person, { base, as }: { base: string; as: As }): Page {
  const { name, email, scopes, signedInAt, sessionEndsAt } = person;
  return {
    title: "You are signed in",
    content: (
      <>
        <dl>
          {name !== null && (
            <>
              <dt>Name</dt>
              <dd>{name}</dd>
            </>
          )}
          <dt>E-mail</dt>
          <dd>{email}</dd>
          <dt>You allowed</dt>
          <dd>
            <ul>
              {scopes.map((scope) => (
                <Scope name={scope} />
              ))}
            </ul>
          </dd>
          <dt>Since</dt>
          <dd>
            <Time at={signedInAt} />
          </dd>
          <dt>Until</dt>
          <dd>
            <Time at={sessionEndsAt} />, or until you sign out
          </dd>
        </dl>
        {as === "unknown" && (
          <p>The platform could not be asked just now; this is what it said when you signed in.</p>
        )}
        {(as === "withheld" || as === "forbidden") && (
          <p>
            The platform refuses to tell this service who you are now; this is what it said when you signed
            in.
            {as === "forbidden" && " Sign in again, and allow it to read your account's name and e-mail."}
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

function Scope({ name }: { name: string }) {
  const meaning = meaningOfScope(name);
  return (
    <li>
      <code>{name}</code>
      {meaning !== null && ` ${meaning}`}
    </li>
  );
}

function Time({ at }: { at: Date }) {
  const shown = at.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" });
  return <time dateTime={at.toISOString()}>{shown} UTC</time>;
}
