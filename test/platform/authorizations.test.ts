import { inspect } from "node:util";
import { afterEach, expect, it } from "@jest/globals";
import {
  createAuthorization,
  revealed,
  revokeAuthorization,
  type AuthorizationRequest,
} from "../../src/platform/authorizations.ts";
import { createHttp } from "../../src/platform/http.ts";
import { Secret } from "../../src/secret.ts";
import { inOrder, MEDIA_TYPE } from "./api-client.ts";
import { type Answering, aServer } from "./local-server.ts";

const TOKEN = new Secret("SVCK-the-token-a-user-has");
const REQUEST: AuthorizationRequest = { description: "dashboards", scope: ["read", "identity"] };

/** The record of the platform document, with one additional member. */
const RECORD = {
  id: "01234567-89ab-cdef-0123-456789abcdef",
  access_token: { expires_in: null, id: "1", token: "SVCK-new-access" },
  refresh_token: { expires_in: null, id: "2", token: "new-refresh" },
  grant: { code: "a-grant-code", expires_in: 300, id: "3" },
  client: { id: "4", name: "a client", redirect_uri: "https://client.example/callback" },
  scope: ["read", "a-scope-of-tomorrow"],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  of_tomorrow: { kept: true },
};

let closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
});

async function aClient(answer: Answering, { below = "" } = {}) {
  const { url, seen, close } = await aServer(answer);
  const http = createHttp();
  closing.push(http.close, close);
  const calls = { http, apiUrl: url + below, mediaType: MEDIA_TYPE };
  return {
    seen,
    create: () => createAuthorization(calls, REQUEST, TOKEN),
    revoke: (id: string) => revokeAuthorization(calls, id, TOKEN),
  };
}

it("creating an authorization posts description and scopes with the user's token", async () => {
  const { create, seen } = await aClient(inOrder(RECORD), { below: "/platform" });
  await create();
  const headers = { accept: MEDIA_TYPE, authorization: `Bearer ${TOKEN.reveal()}` };
  expect(seen).toMatchObject([{ method: "POST", url: "/platform/oauth/authorizations", headers }]);
  expect(seen[0]!.headers["content-type"]).toBe("application/json");
  expect(JSON.parse(seen[0]!.body)).toEqual(REQUEST);
});

it("the record shows its tokens only when revealed", async () => {
  const record = await (await aClient(inOrder(RECORD))).create();
  expect(record.access_token?.token.reveal()).toBe("SVCK-new-access");
  for (const text of [JSON.stringify(record), inspect(record, { depth: 9 })]) {
    expect(text).not.toMatch(/SVCK-new-access|new-refresh|a-grant-code/);
    expect(text).toContain("a client");
  }
  expect(revealed(record)).toEqual(RECORD);
});

it("revoking an authorization sends a DELETE with the id encoded", async () => {
  const { revoke, seen } = await aClient(inOrder(RECORD));
  await expect(revoke("a/b?c=d#e ü")).resolves.toMatchObject({ id: RECORD.id });
  const url = "/oauth/authorizations/a%2Fb%3Fc%3Dd%23e%20%C3%BC";
  expect(seen).toMatchObject([{ method: "DELETE", url, body: "" }]);
  for (const id of ["", ".", ".."]) await expect(revoke(id)).rejects.toMatchObject({ id: "invalid_path" });
  expect(seen).toHaveLength(1);
});

const redirect: Answering = (_, response) => response.writeHead(307, { location: "/elsewhere" }).end();

it.each<[string, string, number | string | object | Answering]>([
  ["a refusal", "said_422", 422],
  ["trouble at the platform: the first call may have created a token", "said_503", 503],
  ["a redirect: the token would be sent along", "redirect_refused", redirect],
  ["a page", "unreadable_answer", "<html>"],
  ["a list", "unreadable_answer", []],
  ["an object without an id", "unreadable_answer", { access_token: { token: "SVCK-lost" } }],
  ["nothing", "unreadable_answer", ""],
])("an answer that is no record ends the call at once, and is not shown: %s", async (_, id, answer) => {
  const { create, seen } = await aClient(inOrder(answer));
  const error = await create().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ id });
  expect(inspect(error)).not.toContain("SVCK-lost");
  expect(seen).toHaveLength(1);
});

it("a refusal does not repeat the token that it echoes", async () => {
  const { revoke } = await aClient((_, response) =>
    response.writeHead(403).end(JSON.stringify({ id: "a_word", message: `no: ${TOKEN.reveal()}` })),
  );
  const refusal = await revoke("1").catch((error: unknown) => error);
  expect(refusal).toMatchObject({ id: "a_word", status: 403, message: expect.stringContaining("[secret]") });
  expect(inspect(refusal)).not.toContain(TOKEN.reveal());
});
