import { randomUUID } from "node:crypto";
import { judgeRequest } from "../oauth/authorize-request.ts";
import { decide } from "../oauth/decision.ts";
import type { Platform } from "../platform.ts";
import { invalid } from "../refusal.ts";
import { newClientShape } from "../shapes/client.ts";
import { addConsent } from "../world/authorizations.ts";
import { type ClientWish, registerClient } from "../world/clients.ts";
import { checkScope } from "../world/scopes.ts";
import { issueAccessToken } from "../world/tokens.ts";
import { findUser } from "../world/users.ts";

export interface UserTokenWish {
  /** `global` when absent, like the token of the command line. */
  scope?: string[];
  /** False: a token from before the prefix was introduced. */
  prefix?: boolean;
}

export interface AuthorizeWish {
  /** The URL of the authorize page, as a client sends a browser there. */
  url: string;
  /** E-mail or id of the user; when absent, `owner@example.com`, who owns most apps. */
  user?: string;
  /** False: the person denies access. */
  allow?: boolean;
}

/** What people, and those who build clients for them, do at the platform. */
export function createPeople(platform: Platform) {
  const { world } = platform;
  return {
    /**
     * Registers an OAuth client for the web flow, owned by a user, who can change it by the API. Returns it with its
     * secret.
     */
    registerClient({ owner = "owner@example.com", ...wish }: ClientWish & { owner?: string }) {
      const client = registerClient(world, wish, findUser(world, owner).id);
      platform.changed();
      return newClientShape(client);
    },

    /** An API token as the command line gives it to a user: it expires. An unknown e-mail gets a new account. */
    userToken(
      user = "owner@example.com",
      { scope = ["global"], prefix = true }: UserTokenWish = {},
    ): { token: string } {
      const authorization = addConsent(world, {
        userId: findUser(world, user).id,
        clientId: null,
        scope: checkScope(scope),
        description: "A token of the command line",
      });
      const { token } = issueAccessToken(world, authorization, prefix ? undefined : randomUUID());
      platform.changed();
      return { token };
    },

    /**
     * Acts as a person at the authorize page. Returns the URL their browser is sent to; throws what the page would show
     * as an error.
     */
    authorize({ url, user = "owner@example.com", allow = true }: AuthorizeWish): string {
      const { pathname, search } = readAddress(url, platform.url());
      if (pathname !== "/oauth/authorize") throw invalid("url is not one of /oauth/authorize.");
      const judged = judgeRequest(world, search);
      if ("location" in judged) return judged.location;
      const location = decide(world, judged.asked, findUser(world, user), allow);
      platform.changed();
      return location;
    },
  };
}

function readAddress(url: string, base: string): URL {
  if (!URL.canParse(url, base)) throw invalid("url must be an address.");
  return new URL(url, base);
}
