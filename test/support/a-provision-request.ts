import { randomBytes, randomUUID } from "node:crypto";

/**
 * The body of a provision request as the platform sends it; each call makes another resource with a grant of its own.
 */
export function aProvisionRequest(
  change: Record<string, unknown> = {},
): { uuid: string } & Record<string, unknown> {
  const uuid = randomUUID();
  return {
    uuid,
    name: "teapots-cubed-1234",
    plan: "basic",
    region: "us",
    options: {},
    callback_url: `https://api.example.com/addons/${uuid}`,
    oauth_grant: aGrant(),
    ...change,
  };
}

export function aGrant(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    code: `grant-${randomBytes(16).toString("hex")}`,
    type: "authorization_code",
    expires_at: new Date(Date.now() + 300_000).toISOString(),
    ...change,
  };
}
