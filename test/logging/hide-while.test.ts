import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { hideWhile } from "../../src/logging/hide-while.ts";
import { Secret } from "../../src/secret.ts";
import { SALT } from "../customer/customers.ts";
import { aWorldOfPeople, type PeopleWorld } from "../sign-in/people.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually } from "../support/world.ts";

/** A text that is in every log line: if it were hidden, all lines would be damaged. */
const IN_EVERY_LINE = '"level":"';

let people: PeopleWorld;
beforeAll(async () => {
  people = await aWorldOfPeople({ sandbox: { ssoSalt: SALT }, environment: { SSO_SALT: SALT } });
});
afterAll(() => people.close());

const scrub = (text: string) => people.world.service.services.scrubber.scrub(text);

/** Sends a request and disconnects before the answer. */
async function askAndGo(head: string, headers: Record<string, string>, body = ""): Promise<void> {
  const sent = body === "" ? {} : { "Content-Length": Buffer.byteLength(body) };
  const lines = Object.entries({ Host: "x", ...headers, ...sent }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const socket = connect(Number(new URL(people.url()).port), "localhost");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const text = `${head} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
  socket.write(text, () => socket.resetAndDestroy());
  await once(socket, "close");
}

describe("values that strangers send are not hidden in the log", () => {
  it("as the tokens of a sign-on", async () => {
    const form = new URLSearchParams({
      resource_token: IN_EVERY_LINE,
      user_scoped_resource_token: "password",
    });
    const type = { "Content-Type": "application/x-www-form-urlencoded" };
    for (let time = 0; time < 10; time++) await askAndGo("POST /sso/login", type, form.toString());
    await eventually(() => people.world.logged().includes('"problem":"sign_on_refused"'));
    expect(scrub('{"level":"info","msg":"the password"}')).toBe('{"level":"info","msg":"the password"}');
  });

  it("as the code of a sign-in, during and after the call to the platform", async () => {
    const browser = people.browser();
    const begun = await browser.get("/oauth/login");
    const state = new URL(begun.location!).searchParams.get("state")!;
    const [name, { value }] = [...browser.cookies][0]!;
    people.control.fault("POST /oauth/token", { delayMs: 500 });
    const path = `/oauth/callback?state=${state}&code=${encodeURIComponent(IN_EVERY_LINE)}`;
    await askAndGo(`GET ${path}`, { Cookie: `${name}=${value}` });
    const asked = () => people.control.ledger({}).entries.some(({ path: to }) => to === "/oauth/token");
    await eventually(asked);
    expect(scrub('{"level":"info"}')).toBe('{"level":"info"}');
    await eventually(() => people.world.logged().includes('"problem":"code_refused"'));
    expect(scrub('{"level":"info"}')).toBe('{"level":"info"}');
  });
});

describe("secrets that the platform sends", () => {
  it("are hidden only while their request is handled, also when the caller has gone away", async () => {
    const { addonId, addonPassword } = people.world.sandbox.settings;
    const request = aProvisionRequest({ log_input_url: "https://logs.example/input-of-a-caller-who-left" });
    const headers = {
      Authorization: basic(addonId, addonPassword),
      "Content-Type": "application/json",
    };
    const isProvisioned = async () =>
      (await people.world.rows(`SELECT 1 FROM resources WHERE uuid = $1`, [request.uuid])).length === 1;
    await eventually(async () => {
      await askAndGo("POST /resources", headers, JSON.stringify(request));
      return isProvisioned();
    });
    const address = String(request["log_input_url"]);
    await eventually(() => expect(scrub(address)).toBe(address), 3_000);
  });
});

describe("a temporarily hidden secret", () => {
  const secret = new Secret("correct-horse-battery-staple");
  const scrubber = createScrubber("");
  const shown = () => scrubber.scrub(secret.reveal());

  it("is hidden until the work is over and its caller has the result", async () => {
    let told = "";
    const work = hideWhile(scrubber, async (hide) => {
      hide(secret);
      await Promise.resolve();
      throw new Error(shown());
    });
    await work.catch((error: Error) => (told = `${error.message} ${shown()}`));
    expect(told).toBe("[secret] [secret]");
    await eventually(() => expect(shown()).toBe(secret.reveal()));
  });
});
