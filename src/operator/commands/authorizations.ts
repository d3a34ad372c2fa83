import { revealed, SCOPES, type Authorization } from "../../platform/authorizations.ts";
import { Secret } from "../../secret.ts";
import { AUTHORIZATION_SETTINGS, createAuthorization, revokeAuthorization } from "../authorizations.ts";
import { duration } from "../wording.ts";
import type { KitCommand } from "./command.ts";
import type { Screen } from "./host.ts";
import { facts } from "./table.ts";
import { EXAMPLE_UUID, examples, safe } from "./text.ts";

const USERS_TOKEN = "Your token for the platform's API";
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
      `${examples("kit authorizations create --description dashboards --scope read < token.txt")}

The new token is shown this once (with --json, the whole record): nobody can
show it again, so --reveal is not needed here. It is not stored and not logged.`,
    )
    .does(async (session, { description, scope: typed }: { description: string; scope: string[] }) => {
      const settings = session.settings(AUTHORIZATION_SETTINGS);
      const scope = [...new Set(typed.flatMap((names) => names.split(/[\s,]+/)).filter(Boolean))];
      const unknown = scope.filter((name) => !(SCOPES as readonly string[]).includes(name));
      if (unknown.length > 0)
        session.say(`Not a scope we know, so the platform decides: ${safe(unknown.join(", "))}`);
      const token = await session.secret(USERS_TOKEN, MOST_TOKEN_BYTES);
      const record = await createAuthorization(settings, { description, scope }, token);
      return { data: revealed(record), show: (screen) => createdText(screen, record) };
    });

  authorizations
    .command("revoke")
    .argument("<id>", "the authorization")
    .description("end an authorization: its tokens are blocked at once")
    .addHelpText(
      "after",
      `${examples(`kit authorizations revoke ${EXAMPLE_UUID} < token.txt`)}

The tokens in the answer are dead, and shown as [secret].`,
    )
    .does(async (session, id: string) => {
      const settings = session.settings(AUTHORIZATION_SETTINGS);
      const token = await session.secret(USERS_TOKEN, MOST_TOKEN_BYTES);
      const record = await revokeAuthorization(settings, id, token);
      return { data: record, show: () => `Revoked ${safe(record.id)}: its tokens are blocked.` };
    });
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
