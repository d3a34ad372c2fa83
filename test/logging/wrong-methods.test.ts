import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { basic } from "../support/partner-calls.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// Requests with a method that a route does not have: a stranger may send them by the thousand.

const MANY = 60;
const PASSWORD = "a-password-of-the-operator";

let world: World;
beforeAll(async () => {
  world = await aWorld({ environment: { OPERATOR_PASSWORD: PASSWORD, SSO_SALT: "a-salt-of-the-sign-on" } });
});
afterAll(() => world.close());

/** The lines about requests for a path that were answered 405. */
const linesOf = (path: string) =>
  world
    .logged()
    .split("\n")
    .filter((line) => line.includes(`"path":"${path}"`) && line.includes('"status":405'));

async function ask(path: string, method: string, authorization?: string): Promise<void> {
  const headers = authorization ? { authorization } : {};
  for (let asked = 0; asked < MANY; asked++) {
    const { status } = await fetch(world.service.url + path, { method, headers });
    expect(status).toBe(405);
  }
}

it("from strangers are logged as a sample, whatever credentials they claim to have; a wrong password still is", async () => {
  await ask("/healthz?really", "POST");
  await ask("/sso/login", "GET", basic("somebody", "a-guess"));
  await fetch(`${world.service.url}/resources`, { method: "POST" });
  await eventually(() => expect(world.logged()).toContain('"status":401'));
  // Twenty in ten seconds, however many there were.
  const logged = linesOf("/healthz").length + linesOf("/sso/login").length;
  expect(logged).toBeGreaterThanOrEqual(20);
  expect(logged).toBeLessThan(MANY);
});

it("from the platform and from operators are each logged", async () => {
  const { addonId, addonPassword } = world.sandbox.settings;
  await ask("/resources", "PATCH", basic(addonId, addonPassword));
  await eventually(() => expect(linesOf("/resources")).toHaveLength(MANY));
  for (const path of ["/metrics", "/operator/resources", "/operator/secret"]) {
    await ask(path, "DELETE", basic("operator", PASSWORD));
    await eventually(() => expect(linesOf(path)).toHaveLength(MANY));
  }
});
