import { randomUUID } from "node:crypto";
import type { CodeRecord } from "./records.ts";
import type { World } from "./world.ts";

/** See docs/assumed.md, section 7. */
export const CODE_LIFE_SECONDS = 600;

/** Issues a single-use code for the client, after a person has allowed access. */
export function issueCode(
  world: World,
  wish: Pick<CodeRecord, "clientId" | "userId" | "scope" | "redirectUri" | "challenge">,
): CodeRecord {
  return world.codes.add({
    code: randomUUID(),
    ...wish,
    expiresAt: world.clock.now() + CODE_LIFE_SECONDS * 1000,
    accessToken: null,
  });
}

/** Why a code does not belong to the client that sends it, as a sentence; null when it does. */
export function whyNotTheirs(
  code: CodeRecord,
  by: { clientId: string; redirectUri: string | null },
): string | null {
  if (code.clientId !== by.clientId) return "The code was issued to another client.";
  // Compared only where both requests name one (assumed, section 7).
  if (by.redirectUri !== null && code.redirectUri !== null && by.redirectUri !== code.redirectUri) {
    return "The redirect_uri is not that of the authorize request.";
  }
  return null;
}

/** Why a code cannot be exchanged any more, as a sentence; null when it can. */
export function whyNotExchanged(world: World, code: CodeRecord): string | null {
  if (code.accessToken !== null) return "The code was used a second time.";
  if (world.clock.now() >= code.expiresAt) return "The code is older than 10 minutes.";
  return null;
}
