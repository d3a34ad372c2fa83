import { KitError } from "../../errors.ts";
import { type PlatformCalls, withHttp } from "../../platform/http.ts";
import {
  createAuthorization,
  revealed,
  revokeAuthorization,
  type Authorization,
} from "../../platform/authorizations.ts";
import { TransportError, UnreadableAnswer } from "../../platform/errors.ts";
import { Secret } from "../../secret.ts";
import { UsedWrongly } from "../errors.ts";
import { duration } from "../wording.ts";
import type { KitCommand, Session } from "./session.ts";
import type { Screen } from "./host.ts";
import { example, facts, safe } from "./text.ts";

const MOST_TOKEN_BYTES = 64 * 1024;

export function addAuthorizations(program: KitCommand): void {
  const authorizations = program
    .command("authorizations")
    .description("tokens of your own for the platform's API; your present token comes on standard input");

  authorizations
    .command("create")
    .requiredOption("--description <text>", "what it is for, to tell it from your others")
    .requiredOption(
      "--scope <scope...>",
      "what it may do: identity, read, write, read-protected, …, or global: all",
    )
    .description("exchange your token, which expires, for one that does not")
    .addHelpText(
      "after",
      `${example("kit authorizations create --description dashboards --scope read < token.txt")}

The new token is shown this once (with --json, the whole record): nobody can
show it again, so --reveal is not needed here. It is not stored and not logged.`,
    )
    .does(async (session, { description, scope: typed }: { description: string; scope: string[] }) => {
      const scope = [...new Set(typed.flatMap((names) => names.split(/[\s,]+/)).filter(Boolean))];
      if (description.trim() === "") throw new UsedWrongly("Describe what the authorization is for.");
      if (scope.length === 0)
        throw new UsedWrongly("Say with --scope what it may do: without a scope it could do everything.");
      const record = await asked(session, (calls, token) =>
        createAuthorization(calls, { description, scope }, token),
      );
      return { data: revealed(record), show: (screen) => createdText(screen, record) };
    });

  authorizations
    .command("revoke")
    .argument("<id>", "the authorization")
    .description("end an authorization: its tokens are blocked at once")
    .does(async (session, id: string) => {
      const record = await asked(session, (calls, token) => revokeAuthorization(calls, id, token));
      return { data: record, show: () => `Revoked ${safe(record.id)}: its tokens are blocked.` };
    });
}

/** Needs neither the database nor a secret of the service. */
async function asked(
  session: Session,
  ask: (calls: PlatformCalls, userToken: Secret) => Promise<Authorization>,
): Promise<Authorization> {
  const settings = session.settings(["platformApiUrl", "platformMediaType"]);
  const { platformApiUrl: apiUrl, platformMediaType: mediaType } = settings;
  const token = await session.secret("Your token for the platform's API", MOST_TOKEN_BYTES);
  if (!/^[\x21-\x7e]+$/.test(token.reveal()))
    throw new UsedWrongly("Standard input does not hold a token: it has white space or odd characters.");
  try {
    return await withHttp((http) => ask({ http, apiUrl, mediaType }, token));
  } catch (error) {
    const isKnown =
      error instanceof TransportError ? !error.mayHaveArrived : !(error instanceof UnreadableAnswer);
    if (isKnown) throw error;
    const message = `${(error as Error).message}. It may have been done all the same: look at your authorizations on the platform before you try again.`;
    throw new KitError("authorization_unknown", message, { cause: error });
  }
}

function createdText(screen: Screen, { id, access_token: issued, scope }: Authorization): string {
  const life = issued?.expires_in;
  const expires = typeof life === "number" ? `in ${duration(life)}` : "never";
  const about = facts(screen, Object.entries({ id, scope: [scope].flat().join(", "), expires }));
  const token: unknown = issued?.token;
  if (!(token instanceof Secret)) return `Created, but the platform sent no token.\n${about}`;
  return [
    "Created. Its token is shown this once; keep it where secrets are kept:",
    `\n${screen.paint.bold(safe(token.reveal()))}\n`,
    about,
    screen.paint.dim(`To end it: kit authorizations revoke ${safe(id)}`),
  ].join("\n");
}
