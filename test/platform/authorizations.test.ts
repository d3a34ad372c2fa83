import { inspect } from "node:util";
import { afterEach, describe, expect, it } from "@jest/globals";
import {
  createAuthorization,
  revealed,
  revokeAuthorization,
  type AuthorizationRequest,
} from "../../src/platform/authorizations.ts";
import { createHttp } from "../../src/platform/http.ts";
import { Secret } from "../../src/secret.ts";
import { inOrder } from "./api-client.ts";
import { type Answering, aServer } from "./local-server.ts";

const MEDIA_TYPE = "application/vnd.svc+json; version=3";
const TOKEN = new Secret("SVCK-the-token-a-user-has");

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
    create: (request: AuthorizationRequest) => createAuthorization(calls, request, TOKEN),
    revoke: (id: string) => revokeAuthorization(calls, id, TOKEN),
  };
}

describe("creating an authorization", () => {
  it("posts description and scopes with the user's token as bearer", async () => {
    const { create, seen } = await aClient(inOrder(RECORD), { below: "/platform/" });
    await create({ description: "dashboards", scope: ["read", "identity"] });
    expect(seen).toMatchObject([
      {
        method: "POST",
        url: "/platform/oauth/authorizations",
        headers: {
          accept: MEDIA_TYPE,
          "content-type": "application/json",
          authorization: "Bearer SVCK-the-token-a-user-has",
        },
      },
    ]);
    expect(JSON.parse(seen[0]!.body)).toEqual({ description: "dashboards", scope: ["read", "identity"] });
  });

  it("returns a record that shows its tokens only when revealed", async () => {
    const { create } = await aClient(inOrder(RECORD));
    const record = await create({ description: "dashboards", scope: ["read"] });
    expect(record.access_token?.token.reveal()).toBe("SVCK-new-access");
    for (const text of [JSON.stringify(record), inspect(record, { depth: 9 })]) {
      expect(text).not.toMatch(/SVCK-new-access|new-refresh|a-grant-code/);
      expect(text).toContain("a client");
    }
    expect(revealed(record)).toEqual(RECORD);
  });

  it("is never retried, because the first try may have created a token", async () => {
    const { create, seen } = await aClient(inOrder(503));
    await expect(create({ description: "d", scope: ["read"] })).rejects.toMatchObject({
      id: "said_503",
      status: 503,
    });
    expect(seen).toHaveLength(1);
  });
});

describe("revoking an authorization", () => {
  it("sends a DELETE with the id encoded", async () => {
    const { revoke, seen } = await aClient(inOrder(RECORD));
    await expect(revoke("a/b?c=d#e ü")).resolves.toMatchObject({ id: RECORD.id });
    expect(seen).toMatchObject([
      { method: "DELETE", url: "/oauth/authorizations/a%2Fb%3Fc%3Dd%23e%20%C3%BC", body: "" },
    ]);
    expect(seen[0]!.headers).not.toHaveProperty("content-type");
  });

  it.each(["", ".", ".."])("refuses the id %j without a call", async (id) => {
    const { revoke, seen } = await aClient(inOrder(RECORD));
    await expect(revoke(id)).rejects.toMatchObject({ id: "invalid_path" });
    expect(seen).toEqual([]);
  });
});

describe("an answer that is not a record", () => {
  it.each([401, 403, 404, 422, 429])(
    "with status %i is a refusal without the echoed token",
    async (status) => {
      const { revoke } = await aClient((_, response) => {
        const message = `no: ${TOKEN.reveal()}`;
        response.writeHead(status).end(JSON.stringify({ id: "a_word", message }));
      });
      const refusal = await revoke("1").catch((error: unknown) => error as Error);
      expect(refusal).toMatchObject({ id: "a_word", status, message: expect.stringContaining("[secret]") });
      expect(inspect(refusal)).not.toContain(TOKEN.reveal());
    },
  );

  it.each([
    ["a page", "<html>"],
    ["a list", []],
    ["an object without an id", { access_token: { token: "SVCK-lost" } }],
    ["nothing", ""],
  ])("with %s is unreadable, and its content is not shown", async (_, answer) => {
    const { create } = await aClient(inOrder(answer));
    const error = await create({ description: "d", scope: ["read"] }).catch((each: unknown) => each);
    expect(error).toMatchObject({ id: "unreadable_answer" });
    expect(inspect(error)).not.toContain("SVCK-lost");
  });

  it("that redirects is not followed, because the token would be sent along", async () => {
    const elsewhere = await aServer(inOrder(RECORD));
    closing.push(elsewhere.close);
    const { create } = await aClient((_, response) =>
      response.writeHead(307, { location: elsewhere.url }).end(),
    );
    await expect(create({ description: "d", scope: ["read"] })).rejects.toMatchObject({
      id: "redirect_refused",
    });
    expect(elsewhere.seen).toEqual([]);
  });
});
