import { createPlatformFor } from "../../src/platform/api.ts";
import {
  accountOf,
  createAuthorization,
  oauthGrantOf,
  revokeAuthorization,
} from "../../src/platform/authorizations.ts";
import type { Http } from "../../src/platform/call.ts";
import { tokenEndpointAt } from "../../src/platform/oauth.ts";
import { currentStatus, incident, incidents } from "../../src/platform/status.ts";
import { Secret } from "../../src/secret.ts";

/**
 * Every documented endpoint of the platform that the kit can call, such as `GET /apps/:id`: calls each method and records the
 * request.
 */
export async function clientEndpoints(): Promise<string[]> {
  const asked = new Set<string>();
  const http: Http = {
    send({ method, url }) {
      asked.add(`${method} ${new URL(url).pathname.replaceAll("KEY", ":id")}`);
      return Promise.resolve({ status: 200, headers: {}, body: "[]" });
    },
    close: () => Promise.resolve(),
  };
  const secret = new Secret("x");
  const url = "https://platform.example";
  const needs = { http, apiUrl: url, mediaType: "application/json" };
  const tokens = { current: () => Promise.resolve(secret), renew: () => Promise.resolve(secret) };

  const {
    request: _request,
    ofYours: _ofYours,
    ...groups
  } = createPlatformFor({ ...needs, tokensOf: () => tokens })("KEY");
  const endpoint = tokenEndpointAt({ http, authUrl: url });
  const feed = { http, statusUrl: url };
  const calls = Object.values(groups)
    .flatMap((group) => Object.values(group) as ((...keys: unknown[]) => Promise<unknown>)[])
    .map((call) => () => call("KEY", "KEY"));
  const others = [
    () => endpoint.exchange(secret, secret),
    () => endpoint.refresh(secret, secret),
    () => createAuthorization(needs, { description: "x", scope: [] }, secret),
    () => revokeAuthorization(needs, "KEY", secret),
    () => oauthGrantOf(needs, { addonId: "x", addonPassword: secret }, "KEY"),
    () => accountOf(needs, secret),
    () => currentStatus(feed),
    () => incidents(feed),
    () => incident(feed, "KEY"),
  ];
  // How they handle the answer does not matter here.
  await Promise.allSettled([...calls, ...others].map(async (call) => call()));
  return [...asked];
}
