import type { ClientWish } from "../world/clients.ts";
import { checkMembers, flag, listOf, text } from "./members.ts";
import type { AuthorizeWish, UserTokenWish } from "./people.ts";

/** Checks the request for a user's token. */
export function checkUserToken(wish: object): UserTokenWish {
  return checkMembers(wish, { scope: listOf(text), prefix: flag });
}

/** Checks the request to register a client, with the API's member names. */
export function checkClient(wish: object): ClientWish & { owner?: string } {
  const members = { name: text, redirect_uri: text, owner: text, partners: flag };
  const checked = checkMembers(wish, members, ["name", "redirect_uri"]);
  const { redirect_uri: redirectUri, partners: isPartners = false, ...rest } = checked;
  return { ...rest, redirectUri, isPartners } as ClientWish & { owner?: string };
}

/** Checks the request to play a person at the authorize page. */
export function checkAuthorize(wish: object): AuthorizeWish {
  return checkMembers(wish, { url: text, user: text, allow: flag }, ["url"]) as unknown as AuthorizeWish;
}
