import { KitError } from "../../errors.ts";
import type { TokenSource } from "../../platform/api.ts";
import { tokenAfter } from "../../platform/token-after.ts";
import type { Secret } from "../../secret.ts";
import type { Opening } from "./opening.ts";
import type { Refresh } from "./refresh.ts";
import type { Pair, TokenStore } from "./store.ts";

/** Thrown when a person has no usable access token. Only for `not_refreshed` can one come without a new sign-in. */
export class NoPersonToken extends KitError {}

/** Access to one person's tokens. */
export interface PersonTokens extends TokenSource {
  /**
   * Records that the platform refuses even a fresh token: the person must sign in again. False: there is another token
   * by now.
   */
  giveUp(refused: Secret): Promise<boolean>;
}

const notYet = () => new NoPersonToken("not_refreshed", "This person's token could not be refreshed yet.");

/**
 * The access token of one person, for calls to the platform in their name; refreshed on use when it has expired or was
 * refused.
 */
export function createTokenSources({
  store,
  opening,
  refresh,
}: {
  store: TokenStore;
  opening: Opening;
  refresh: Refresh;
}): (person: string) => PersonTokens {
  async function stored(uuid: string) {
    const row = await store.read(uuid);
    const token = row?.sealedAccessToken
      ? await opening.open(uuid, "sealed_access_token", row.sealedAccessToken)
      : null;
    if (!row || !token)
      throw new NoPersonToken("no_token", "There is no token of this person that can be used.");
    return { ...row, token };
  }

  function renew(uuid: string, dead: Secret): Promise<Secret> {
    return tokenAfter(dead, {
      stored: () => stored(uuid),
      async replace(pair) {
        const result = pair.canRefresh ? await refresh.now(pair) : await giveUp(pair);
        if (result === "refused" || result === "quarantined")
          throw new NoPersonToken("refused", "The platform no longer accepts this person's tokens.");
        if (result === "later") throw notYet();
        return result === "busy" ? "busy" : "done";
      },
      stillBusy: notYet,
    });
  }

  /** Without a refresh token the pair cannot be renewed. `busy`: the row already has another pair. */
  const giveUp = async (pair: Pair) => ((await store.giveUp(pair)) ? "refused" : "busy");

  return (uuid) => ({
    async current() {
      const { token, isExpired } = await stored(uuid);
      return isExpired ? renew(uuid, token) : token;
    },
    renew: (rejected) => renew(uuid, rejected),
    async giveUp(refused) {
      const { token, ...pair } = await stored(uuid);
      return token.reveal() === refused.reveal() && store.giveUp(pair);
    },
  });
}
