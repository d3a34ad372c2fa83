import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import express, { Router } from "express";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { site } from "../../src/pages/site.ts";
import { personOf, requirePerson, signInRoutes, type Person } from "../../src/people/sign-in.ts";
import { aBrowser } from "./browser.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

// Routes for signed-in people, for some of them, and for certain scopes, on which other parts build.

let people: PeopleWorld;
let server: Server;
let url: string;

beforeAll(async () => {
  people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } });
  const { services } = people.world.service;
  const signIn = signInRoutes(services, { person: async () => undefined });
  const router = Router();
  router.get("/open", async (request, response) => void response.json(await personOf(services, request)));
  const requirements = {
    anybody: {},
    owners: { isAllowed: ({ email }: Person) => email === "owner@example.com" },
    readers: { scopes: ["read"] },
  };
  for (const [path, requirement] of Object.entries(requirements)) {
    router.all(`/${path}`, requirePerson(services, requirement), (_request, response) => {
      response.json({ email: (response.locals["person"] as Person).email });
    });
  }
  server = express()
    .use(site(services, { "/oauth": [signIn], "/inside": [router] }))
    .listen(0);
  url = `http://localhost:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => people.forgetEverybody());
afterAll(async () => {
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  await people.close();
});

const browser = () => aBrowser(() => url);

describe("a page for signed-in people", () => {
  it("redirects others to the sign-in, and then back", async () => {
    const visitor = browser();
    const begun = await visitor.get("/inside/anybody?page=2");
    expect(begun.status).toBe(303);
    expect(begun.location).toContain("/oauth/authorize?");
    expect((await visitor.get(people.atPlatform(begun))).location).toBe("/inside/anybody?page=2");
    expect((await visitor.get("/inside/anybody?page=2")).text).toBe(`{"email":"owner@example.com"}`);
  });

  it("refuses a form from others", async () => {
    const { status, location, text } = await browser().post("/inside/anybody");
    expect({ status, location }).toEqual({ status: 401, location: null });
    expect(text).toContain("You are not signed in");
  });

  it("begins no sign-in for a HEAD request", async () => {
    const { status, headers } = await fetch(`${url}/inside/anybody`, { method: "HEAD", redirect: "manual" });
    expect([status, headers.getSetCookie()]).toEqual([401, []]);
  });

  it("refuses accounts that are not on its list", async () => {
    const [owner, colleague] = [browser(), browser()];
    await people.signIn(owner);
    await people.signIn(colleague, { user: "colleague@example.com" });
    expect((await owner.get("/inside/owners")).status).toBe(200);
    const refused = await colleague.get("/inside/owners");
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("Not for this account");
  });

  it("asks for missing scopes, and always for identity", async () => {
    const visitor = browser();
    await people.signIn(visitor);
    const begun = await visitor.get("/inside/readers");
    expect(new URL(begun.location!).searchParams.get("scope")).toBe("identity read");
    await visitor.get(people.atPlatform(begun));
    expect((await visitor.get("/inside/readers")).status).toBe(200);
    const { text } = await visitor.get("/oauth/me");
    expect(text).toContain("<code>read</code> read apps and resources, without account information");
  });

  it("does not redirect endlessly when the platform grants less than was asked for", async () => {
    const visitor = browser();
    await people.signIn(visitor);
    const begun = await visitor.get("/inside/readers");
    const { token } = people.control.userToken("owner@example.com", { scope: ["identity"] });
    people.control.fault("POST /oauth/token", {
      status: 200,
      body: { access_token: token, token_type: "Bearer", expires_in: 28_800, scope: "identity" },
    });
    expect((await visitor.get(people.atPlatform(begun))).location).toBe("/oauth/me");
    expect((await visitor.get("/oauth/me")).text).not.toContain("<code>read</code>");
  });

  it("refuses a person for whom the platform's answer is an error", async () => {
    const visitor = browser();
    await people.signIn(visitor);
    await people.world.rows(
      `UPDATE credentials SET state = 'needs_sign_in', sealed_access_token = NULL, sealed_refresh_token = NULL`,
    );
    expect((await visitor.get("/inside/anybody")).status).toBe(303);
    expect((await visitor.post("/inside/anybody")).status).toBe(401);
    expect((await visitor.get("/inside/open")).text).toBe("null");
  });
});

it("a page with optional sign-in shows nobody for an invalid session", async () => {
  for (const cookie of [
    "kit_session=made-up",
    `kit_session=${"A".repeat(43)}`,
    "kit_session=%zz",
    "=;;=",
    "",
  ]) {
    const response = await fetch(`${url}/inside/open`, { headers: { cookie } });
    expect([response.status, await response.text()]).toEqual([200, "null"]);
  }
});
