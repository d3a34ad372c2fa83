import type { Context } from "../context.ts";
import { LEGACY_GRANTS_OFF, recoverGrants } from "./grants.ts";
import { NO_ROTATION } from "../work/rotation.ts";
import { rotateCredentials } from "./rotation.ts";
import { refreshTokens } from "./tokens.ts";
import type { How, Report, Which } from "./work-through.ts";

/**
 * Something that an operator does to the credential of one resource, of several, or of all: the command `kit GROUP VERB`,
 * or `kit VERB`, and two pages.
 */
export interface BulkAction {
  group?: string;
  /** What the group is about. */
  about?: string;
  verb: string;
  /** What it does, and which resources "all" means. */
  does: string;
  all: string;
  doneWord: string;
  /** On the pages: their titles, and what they say before the button is pressed. */
  labels: { one: string; all: string };
  effect: string;
  /** A sentence if it cannot be done now. */
  whyNot(ctx: Context): string | null;
  work(ctx: Context, which: Which, how: How): Promise<Report>;
}

export const REFRESH: BulkAction = {
  group: "tokens",
  about: "the access tokens of resources",
  verb: "refresh",
  does: "get new access tokens now, due or not",
  all: "all resources that have working tokens",
  doneWord: "refreshed",
  labels: { one: "Refresh its token", all: "Refresh all tokens" },
  effect:
    "The platform is asked for new access tokens, due or not. The one there is works until the new one is stored. The service refreshes by itself when it is time: this is for after an incident, or to be sure.",
  whyNot: () => null,
  work: refreshTokens,
};

export const RECOVER: BulkAction = {
  group: "grants",
  about: "the grants of resources that have no tokens",
  verb: "recover",
  does: "get lost grants again at the platform's oauth-grant endpoint, and exchange them",
  all: "all resources whose grant was lost or never came",
  doneWord: "recovered",
  labels: { one: "Recover its grant", all: "Recover all lost grants" },
  effect:
    "The platform's oauth-grant endpoint is asked for a new grant, which is exchanged at once. Where the grant was exchanged before, it gives no other.",
  whyNot: ({ config }) => (config.legacyGrants ? null : LEGACY_GRANTS_OFF),
  work: recoverGrants,
};

export const ROTATE: BulkAction = {
  verb: "rotate",
  does: "have your service make new credentials, and retire the old ones later",
  all: "all resources that are provisioned",
  doneWord: "asked for",
  labels: { one: "Rotate its credentials", all: "Rotate all credentials" },
  effect:
    "Your service makes new credentials, which are set as config vars. The old ones work for two hours after that, or as long as your service says, and are then retired. Those of an earlier rotation that still work are retired at once.",
  whyNot: ({ vendor }) => (vendor.rotation ? null : NO_ROTATION),
  work: rotateCredentials,
};
