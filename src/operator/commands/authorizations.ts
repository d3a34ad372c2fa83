import type { Authorization } from "../authorizations.ts";
import { EXAMPLE_UUID, examples, type AddCommand } from "./command.ts";
import type { Outcome } from "./outcome.ts";
import type { Screen } from "./screen.ts";
import { Secret } from "../../secret.ts";
import type { Session } from "./session.ts";
import { readSecret } from "./standard-input.ts";
import { members } from "./table.ts";
import { momentAway, safe } from "./text.ts";

export const addAuthorizations: AddCommand = (program, act) => {
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
    .action(act(create));

  authorizations
    .command("revoke")
    .argument("<id>", "the authorization")
    .description("end an authorization: its tokens are blocked at once")
    .addHelpText(
      "after",
      `${examples(`kit authorizations revoke ${EXAMPLE_UUID} < token.txt`)}

The tokens in the answer are dead, and shown as [secret].`,
    )
    .action(act(revoke));
};

async function create(
  session: Session,
  { description, scope }: { description: string; scope: string[] },
): Promise<Outcome> {
  const { AUTHORIZATION_SETTINGS, createAuthorization, openRecord, unheardOf } = await parts();
  const settings = session.settings(AUTHORIZATION_SETTINGS);
  const wanted = [...new Set(scope.flatMap((names) => names.split(/[\s,]+/)).filter(Boolean))];
  const odd = unheardOf(wanted);
  if (odd.length > 0) session.say(`Not a scope we know, so the platform decides: ${safe(odd.join(", "))}`);
  const token = await userToken(session);
  session.begin();
  const record = await createAuthorization(settings, { description, scope: wanted }, token);
  return { data: openRecord(record), show: (screen) => showCreated(screen, record) };
}

async function revoke(session: Session, id: string): Promise<Outcome> {
  const { AUTHORIZATION_SETTINGS, revokeAuthorization } = await parts();
  const settings = session.settings(AUTHORIZATION_SETTINGS);
  const token = await userToken(session);
  session.begin();
  const record = await revokeAuthorization(settings, id, token);
  return { data: record, show: () => `Revoked ${safe(record.id)}: its tokens are blocked.` };
}

const parts = () => import("../authorizations.ts");
const userToken = ({ host }: Session) => readSecret(host, "Your token for the platform's API");

function showCreated(screen: Screen, record: Authorization): string {
  const { id, access_token: issued, scope } = record;
  const life = issued?.expires_in;
  const facts = members(screen, [
    ["id", safe(id)],
    ["scope", Array.isArray(scope) ? safe(scope.join(" ")) : "–"],
    ["expires", typeof life === "number" ? expiryIn(life) : "never"],
  ]);
  const token: unknown = issued?.token;
  if (!(token instanceof Secret)) return `Created, but the platform sent no token.\n${facts}`;
  const { paint } = screen;
  return [
    "Created. Its token is shown this once; keep it where secrets are kept:",
    `\n${paint.bold(safe(token.reveal()))}\n`,
    facts,
    paint.dim(`To end it: kit authorizations revoke ${safe(id)}`),
  ].join("\n");
}

/** A time after the year 9999, or beyond what a date can hold, is shown as never. */
function expiryIn(seconds: number): string {
  const at = new Date(Date.now() + seconds * 1_000);
  return at.getUTCFullYear() <= 9999 ? momentAway(at.toISOString()) : "never";
}
