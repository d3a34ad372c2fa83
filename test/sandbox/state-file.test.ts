import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSandbox } from "../../sandbox/index.ts";
import { aPartner } from "./partner.ts";
import { client } from "./world.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "sandbox-"))));
afterEach(() => rmSync(folder, { recursive: true }));

it("A sandbox goes on where the one before it stopped", async () => {
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
  await third.close();
  await partner.close();
});

it("A reset leads back to what the sandbox was started with, also after a restart", async () => {
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

it("A state file that is none, and a folder that is not there, are named before anything begins", async () => {
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
