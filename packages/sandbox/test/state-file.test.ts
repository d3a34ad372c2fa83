import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { jest } from "@jest/globals";
import { type Sandbox, startSandbox } from "../index.ts";
import { aPartner, success } from "./partner.ts";
import { client } from "./world.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "sandbox-"))));
afterEach(() => rmSync(folder, { recursive: true }));

it("a sandbox continues from its state file", async () => {
  const partner = await aPartner();
  const given = {
    partnerUrl: partner.url,
    statePath: join(folder, "state.json"),
    clientSecret: "given-at-the-start",
  };
  const first = await startSandbox(given);
  const before = client(first);
  before.control.settings({ refreshStatus: 200 });
  const { addon, refreshToken } = await before.installed();
  before.control.advanceClock(3600);
  const { secret } = before.control.resetClientSecret();
  await first.close();
  expect(statSync(given.statePath).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["state.json"]);

  const second = await startSandbox(given);
  const after = client(second);
  expect(second.settings.clientSecret).toBe(secret);
  const { status, body } = await after.refresh(refreshToken);
  expect(status).toBe(200);
  const found = await after.call(body.access_token, `/addons/${addon.name}/addon-attachments`);
  expect(found).toMatchObject({ status: 200, body: [{ addon: { id: addon.id } }] });
  expect(Date.parse(after.control.state().now) - Date.now()).toBeGreaterThan(3_500_000);
  await second.close();

  const third = await startSandbox({ ...given, clientSecret: "another", refreshStatus: 201 });
  expect(third.settings).toMatchObject({ clientSecret: "another", refreshStatus: 201 });
  expect(await client(third).call(body.access_token, "/addons")).toMatchObject({ status: 401 });
  const { body: refused } = await client(third).refresh(refreshToken, secret);
  expect(refused.error_description).toBe("The client secret was reset; this is a former one.");
  expect(JSON.stringify(third.control.ledger())).not.toContain(secret);
  await third.close();
  await partner.close();
});

it("a reset restores the state of the start, also after a restart", async () => {
  const given = { statePath: join(folder, "state.json"), rateLimit: 100 };
  const first = await startSandbox(given);
  first.control.settings({ refreshStatus: 200 });
  await first.close();
  const second = await startSandbox(given);
  expect(second.settings).toMatchObject({ refreshStatus: 200, rateLimit: 100 });
  second.control.reset();
  expect(second.settings).toMatchObject({ refreshStatus: 201, rateLimit: 100 });
  await second.close();
});

describe("a provision under way, when the sandbox", () => {
  const manifest = { id: "widgets", plans: [{ name: "basic" }] };
  const never = () => new Promise<never>(() => undefined);

  async function underWay(begin: (sandbox: Sandbox) => Promise<unknown>) {
    const partner = await aPartner();
    partner.answers(never);
    const given = { partnerUrl: partner.url, addonManifest: manifest, statePath: join(folder, "state.json") };
    const first = await startSandbox(given);
    const begun = begin(first).catch((error: Error) => error);
    while (partner.requests.length === 0 || !isWritten(given.statePath)) await sleep(5);
    return { partner, given, first, begun };
  }
  const isWritten = (path: string) => existsSync(path) && readFileSync(path, "utf8").includes("provisioning");
  const addonsOf = (sandbox: Sandbox) => sandbox.control.state().addons.map(({ state }) => state);
  async function becomes(sandbox: Sandbox, ...states: string[]) {
    for (let tries = 0; tries < 1000 && addonsOf(sandbox).join() !== states.join(); tries++) await sleep(10);
    expect(addonsOf(sandbox)).toEqual(states);
  }

  it("is killed: the next one delivers it again unchanged", async () => {
    const { partner, given, first } = await underWay(({ control }) => control.install());
    const statePath = join(folder, "as-it-was-left.json");
    copyFileSync(given.statePath, statePath);
    partner.answers(success);
    const second = await startSandbox({ ...given, statePath });
    await becomes(second, "provisioned");
    const [before, after] = partner.requests.map(({ body }) => JSON.parse(body) as { callback_url: string });
    expect({ ...after, callback_url: "" }).toEqual({ ...before, callback_url: "" });
    expect((await client(second).exchange(client(second).lastCode())).status).toBe(200);
    await Promise.all([first.close(), second.close()]);
    await partner.close();
  });

  it("is closed: it is not judged, and is delivered again", async () => {
    const { partner, given, first, begun } = await underWay(({ control }) => control.install());
    await first.close();
    expect(await begun).toMatchObject({ addon: { state: "provisioning" }, response: { status: null } });
    partner.answers(success);
    const second = await startSandbox(given);
    await becomes(second, "provisioned");
    await second.close();
    await partner.close();
  });
});

it("the service is told of a provision that was given up, also if the sandbox is closed while it tells it", async () => {
  const partner = await aPartner();
  partner.answers(({ method }) =>
    method === "DELETE" ? new Promise(() => undefined) : { status: 202, body: { id: "1" } },
  );
  const given = { partnerUrl: partner.url, statePath: join(folder, "state.json") };
  const asked = async (times: number) => {
    for (let tries = 0; tries < 200 && partner.requests.length < times; tries++) await sleep(10);
    return partner.requests.map(({ method }) => method);
  };
  const first = await startSandbox(given);
  await first.control.install();
  first.control.advanceClock(12 * 3600);
  expect(await asked(2)).toEqual(["POST", "DELETE"]);
  await first.close();
  partner.answers({ status: 204 });
  const second = await startSandbox(given);
  second.control.advanceClock(1);
  second.control.advanceClock(1);
  expect(await asked(3)).toEqual(["POST", "DELETE", "DELETE"]);
  // It has the answer.
  while (!second.control.ledger().entries.some(({ method }) => method === "DELETE")) await sleep(10);
  await second.close();
  const third = await startSandbox(given);
  third.control.advanceClock(1);
  await sleep(100);
  expect(await asked(3)).toHaveLength(3);
  await third.close();
  await partner.close();
});

it("a state file that cannot be written is written once it can be", async () => {
  const statePath = join(folder, "state.json");
  const { control, close } = await startSandbox({ statePath });
  const told = jest.spyOn(console, "error").mockImplementation(() => undefined);
  rmSync(folder, { recursive: true });
  control.createApp({ name: "shop" });
  while (told.mock.calls.length === 0) await sleep(10);
  mkdirSync(folder);
  while (!existsSync(statePath)) await sleep(10);
  expect(told.mock.calls[0]).toEqual([expect.stringContaining("tried again: ENOENT")]);
  told.mockRestore();
  await close();
});

it("an invalid state file or a missing folder is reported before the start", async () => {
  const path = join(folder, "notes.json");
  for (const text of ["not JSON", "{}"]) {
    writeFileSync(path, text);
    await expect(startSandbox({ statePath: path })).rejects.toThrow(
      `${path} is no state file of the sandbox`,
    );
  }
  const nowhere = join(folder, "nowhere");
  await expect(startSandbox({ statePath: join(nowhere, "state.json") })).rejects.toThrow(nowhere);
});

describe("a second sandbox on the same state file", () => {
  it.each(["state.json", `${"a-long-name-".repeat(10)}.json`])(
    "is refused while the first runs: %s",
    async (name) => {
      const statePath = join(folder, name);
      const first = await startSandbox({ statePath });
      first.control.createApp({ name: "of-the-first" });
      await expect(startSandbox({ statePath })).rejects.toThrow(
        `${statePath} is kept by another sandbox that is running: end that one, or give this one another file.`,
      );
      await expect(startSandbox({ statePath })).rejects.toThrow(
        /If none is running, delete \/.+\.lock, the sign of one that another user may have left\.$/,
      );
      await first.close();
      expect(readdirSync(folder)).toEqual([name]);
      const second = await startSandbox({ statePath });
      expect(second.control.state().apps).toMatchObject([{ name: "of-the-first" }]);
      await second.close();
    },
  );
});
