import type { ClientWish } from "../world/clients.ts";
import { checkMembers, flag, listOf, text } from "./members.ts";
import type { AuthorizeWish, UserTokenWish } from "./people.ts";

/** Checks which token a user is to have. */
export function checkUserToken(wish: object): UserTokenWish {
  return checkMembers(wish, { scope: listOf(text), prefix: flag });
}

/** Checks a client to be registered, in the words of the API. */
export function checkClient(wish: object): ClientWish & { owner?: string } {
  const members = { name: text, redirect_uri: text, owner: text, partners: flag };
  const checked = checkMembers(wish, members, ["name", "redirect_uri"]);
  const { redirect_uri: redirectUri, partners: isPartners = false, ...rest } = checked;
  return { ...rest, redirectUri, isPartners } as ClientWish & { owner?: string };
}

/** Checks what a person is to do at the authorize page. */
export function checkAuthorize(wish: object): AuthorizeWish {
  return checkMembers(wish, { url: text, user: text, allow: flag }, ["url"]) as unknown as AuthorizeWish;
}
