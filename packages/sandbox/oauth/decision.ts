import { issueCode } from "../world/codes.ts";
import type { UserRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { type AuthorizeRequest, backTo } from "./authorize-request.ts";

/** Turns a person's decision into the URL their browser is sent to. */
export function decide(world: World, asked: AuthorizeRequest, user: UserRecord, isAllowed: boolean): string {
  if (!isAllowed) {
    return backTo(asked, { error: "access_denied", error_description: "The person said no." });
  }
  const { client, scope, challenge } = asked;
  const redirectUri = asked.isUriNamed ? asked.redirectUri : null;
  const { code } = issueCode(world, { clientId: client.id, userId: user.id, scope, redirectUri, challenge });
  return backTo(asked, { code });
}
