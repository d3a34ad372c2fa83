import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startSandbox } from "../index.ts";
import { aWorld, client } from "./world.ts";

/**
 * After a reset of the client secret and of the sandbox, the configured secret is current again, as test suites need.
 */
const given = { clientSecret: "given-at-the-start" };

it("after a reset the client secret of the start is current again, and no secret is a former one", async () => {
  const world = await aWorld(given);
  const { secret } = world.control.resetClientSecret();
  world.control.reset();
  const { refreshToken } = await world.installed();
  expect(await world.refresh(refreshToken, given.clientSecret)).toMatchObject({ status: 201 });
  const { status, body } = await world.refresh(refreshToken, secret);
  expect([status, body.error_description]).toEqual([401, "The client secret is wrong."]);
  await world.close();
});

describe("a reset after a restart", () => {
  let statePath: string;
  beforeEach(() => void (statePath = join(mkdtempSync(join(tmpdir(), "sandbox-")), "state.json")));
  afterEach(() => rmSync(join(statePath, ".."), { recursive: true }));

  /** The client secret after a start on the state file, and after a reset then. */
  async function secretsOf(settings: { clientSecret?: string }) {
    const sandbox = await startSandbox({ statePath, ...settings });
    const atStart = sandbox.settings.clientSecret;
    sandbox.control.reset();
    const afterReset = sandbox.settings.clientSecret;
    await sandbox.close();
    return { atStart, afterReset };
  }

  async function resetSecret(settings: { clientSecret?: string }, later?: string): Promise<string> {
    const sandbox = await startSandbox({ statePath, ...settings });
    if (later !== undefined) sandbox.control.partner({ clientSecret: later });
    const { secret } = sandbox.control.resetClientSecret();
    await sandbox.close();
    return secret;
  }

  it("restores the client secret of the start", async () => {
    const secret = await resetSecret(given);
    expect(await secretsOf(given)).toEqual({ atStart: secret, afterReset: given.clientSecret });
  });

  it("restores a generated client secret", async () => {
    const first = await startSandbox({ statePath });
    const { clientSecret: madeUp } = first.settings;
    first.control.resetClientSecret();
    await first.close();
    expect(await secretsOf({})).toMatchObject({ afterReset: madeUp });
  });
});

it("a reset while the service is asked ends what was asked for, and sends nothing more", async () => {
  const world = await aWorld({ redeliveries: 1 });
  world.control.createApp({ name: "shop" });
  await world.control.install({ app: "shop" });
  const call = (method: string, path: string) =>
    fetch(`${world.sandbox.url}/sandbox/apps/${path}`, { method }).then(({ status }) => status);
  async function resetDuring(status: number, begin: () => Promise<number>) {
    const expected = world.partner.requests.length + 1;
    const begun = begin();
    while (world.partner.requests.length < expected) await sleep(5);
    world.control.reset();
    answer();
    expect(await begun).toBe(status);
    expect(world.partner.requests).toHaveLength(expected);
    world.control.createApp({ name: "shop" });
  }
  let answer = () => {};
  world.partner.answers(async () => {
    await new Promise<void>((resolve) => (answer = resolve));
    return { status: 200, body: { id: "1", log_drain_url: "syslog://logs.example.com" } };
  });
  await resetDuring(404, () => call("DELETE", "shop"));
  await resetDuring(409, () => call("POST", "shop/addons"));
  // No answer comes: the call is not repeated.
  world.partner.answers(() => new Promise(() => (answer = world.partner.drop)));
  await resetDuring(409, () => call("POST", "shop/addons"));
  await world.close();
});

it("a reset keeps an OAuth client of the partner", async () => {
  const world = await aWorld();
  const redirectUri = "https://addon.example.com/callback";
  const { id, secret } = world.control.registerClient({ name: "Sign-in", redirectUri, isPartners: true });
  world.control.reset();
  const { status, body } = await client(world.sandbox).post({
    client_id: id,
    client_secret: secret,
    code: "unknown",
    grant_type: "authorization_code",
  });
  expect([status, body.error]).toEqual([400, "invalid_grant"]);
  await world.close();
});
