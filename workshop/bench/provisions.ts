import { randomUUID } from "node:crypto";
import type { Traffic } from "./load.ts";

/** The Basic credentials of the platform in every bench. */
export const ADDON = { id: "teapots", password: "a-password-for-the-bench-only" };

/** The grant code for a resource, so that the checks know which code its row must hold. */
export const codeOf = (uuid: string): string => `grant-${uuid}`;

/**
 * The `number`-th token pair of a resource, for the same reason. An access token has 65 characters, as the platform's
 * have.
 */
export const tokensOf = (uuid: string, number: number) => ({
  accessToken: `SVCK-${uuid}-${String(number).padStart(23, "0")}`,
  refreshToken: `refresh-${uuid}-${number}`,
});

/**
 * Provision requests as the platform sends them, each for a new resource. `uuids` collects those that were answered
 * correctly.
 */
export function provisions({
  plan,
  status,
}: {
  plan: string;
  status: number;
}): Traffic & { uuids: string[] } {
  const uuids: string[] = [];
  return {
    uuids,
    next() {
      const uuid = randomUUID();
      return {
        bytes: requestFor(uuid, plan),
        isRight(given, body) {
          const { id, config } = parsed(body);
          const isRight = given === status && id === uuid && (status !== 200 || isObject(config));
          if (isRight) uuids.push(uuid);
          return isRight;
        },
      };
    },
  };
}

const authorization = `Basic ${Buffer.from(`${ADDON.id}:${ADDON.password}`).toString("base64")}`;

function requestFor(uuid: string, plan: string): Buffer {
  const body =
    `{"uuid":"${uuid}","name":"teapots-cubed-1234","plan":"${plan}","region":"us","options":{"colour":"blue"},` +
    `"callback_url":"https://api.example.com/addons/${uuid}","oauth_grant":{"code":"${codeOf(uuid)}",` +
    `"type":"authorization_code","expires_at":"2100-01-01T00:00:00+0000"}}`;
  return Buffer.from(
    `POST /resources HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n` +
      `Accept: application/vnd.svc-addons+json; version=3\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    "latin1",
  );
}

function parsed(body: string): { id?: unknown; config?: unknown } {
  try {
    return (JSON.parse(body) as object | null) ?? {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
