import { randomUUID } from "node:crypto";
import type { CodeRecord } from "./records.ts";
import type { World } from "./world.ts";

/** See docs/assumed.md, section 7. */
export const CODE_LIFE_SECONDS = 600;

/** A person has allowed it: a code for the client to exchange, once. */
export function issueCode(
  world: World,
  wish: Pick<CodeRecord, "clientId" | "userId" | "scope" | "redirectUri">,
): CodeRecord {
  return world.codes.add({
    code: randomUUID(),
    ...wish,
    expiresAt: world.clock.now() + CODE_LIFE_SECONDS * 1000,
    accessToken: null,
  });
}

/** Why a code is not for whoever sends it, as a sentence; null when it is. */
export function whyNotTheirs(
  code: CodeRecord,
  by: { clientId: string; redirectUri: string | null },
): string | null {
  if (code.clientId !== by.clientId) return "The code was issued to another client.";
  // Not asked for, but wrong when it differs from where the code was sent (assumed, section 7).
  if (by.redirectUri !== null && by.redirectUri !== code.redirectUri) {
    return "The redirect_uri is not the one the code was sent to.";
  }
  return null;
}

/** Why a code cannot be exchanged any more, as a sentence; null when it can. */
export function whyNotExchanged(world: World, code: CodeRecord): string | null {
  if (code.accessToken !== null) return "The code was used a second time.";
  if (world.clock.now() >= code.expiresAt) return "The code is older than 10 minutes.";
  return null;
}
