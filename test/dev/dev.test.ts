import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseEnv } from "node:util";
import { freePorts, run, stateOf, type Run } from "./dev-run.ts";

let folder: string;
let ports: { PORT: string; SANDBOX_PORT: string };
let running: Run | null;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "addon-test-"));
  ports = await freePorts();
  running = null;
});
afterEach(async () => {
  await running?.end("SIGKILL");
  await rm(folder, { recursive: true });
});

const dev = (more = {}) => (running = run("dev", { ...ports, DATA_DIR: folder, ...more }));
const settings = async () => parseEnv(await readFile(path.join(folder, "dev.env"), "utf8"));

it("installs the sample through the real protocol, tells the story, and stops in good order", async () => {
  const first = dev();
  const story = await first.until("Ready.");
  expect(story).toMatch(/platform → you {2}POST \/resources +200/);
  expect(story).toMatch(/you → platform {2}POST \/oauth\/token +200/);
  expect(story).toContain(`You asked where it is attached: "shop".`);
  const { addons } = await stateOf(ports);
  expect(addons).toMatchObject([
    { state: "provisioned", grant: { state: "exchanged" }, tokens: [{ state: "valid" }] },
  ]);
  expect(await first.end("SIGINT")).toBe(0);
}, 60_000);

it("shows no secret, and keeps its settings where only their owner can read them", async () => {
  const { output, until, end } = dev();
  await until("Ready.");
  await end("SIGTERM");
  const { ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, OAUTH_CLIENT_SECRET } = await settings();
  const log = await readFile(path.join(folder, "service.log"), "utf8");
  for (const secret of [ADDON_PASSWORD, CLIENT_SECRET, ENCRYPTION_KEY, OAUTH_CLIENT_SECRET]) {
    expect(secret).toMatch(/^[0-9a-f]{48,}$/);
    expect(output() + log).not.toContain(secret);
  }
  for (const file of ["dev.env", "sandbox.json", "service.log"])
    expect((await stat(path.join(folder, file))).mode & 0o777).toBe(0o600);
}, 60_000);

it("goes on where the last run stopped, also where that was killed", async () => {
  await dev().until("Ready.");
  const [before] = (await stateOf(ports)).addons;
  const made = await settings();
  // The platform's own memory is a quarter of a second behind.
  await wait(500);
  await running!.end("SIGKILL");

  const second = dev();
  const story = await second.until("Ready.");
  expect(story).toContain(`Going on where the last run stopped: ${before!.name}`);
  expect(story).not.toContain("POST /resources");
  const { addons } = await stateOf(ports);
  expect(addons).toMatchObject([{ id: before!.id, tokens: [{ state: "valid" }] }]);
  expect(await settings()).toEqual(made);
  expect(await second.end("SIGINT")).toBe(0);
}, 90_000);

it("tells what a customer does while it is up", async () => {
  const { until, end } = dev();
  const story = await until("Ready.");
  const [, url, body] = /curl -s -X PATCH (\S+) -d '(.*)'/.exec(story)!;
  const answer = await fetch(`http://${url}`, { method: "PATCH", body: body! });
  expect(answer.status).toBe(200);
  await until("changed its plan to premium");
  expect((await stateOf(ports)).addons[0]!.plan.name).toBe("teapots:premium");
  expect(await end("SIGINT")).toBe(0);
}, 60_000);

it("says where to sign in, and the platform knows the service that sends one there", async () => {
  const { until, end } = dev();
  const [, address] = /sign in +(http:\S+\/oauth\/login)/.exec(await until("Ready."))!;
  const page = await fetch(address!);
  expect(page.url).toContain(`http://127.0.0.1:${ports.SANDBOX_PORT}/oauth/authorize?`);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain("teapots");
  expect(await end("SIGINT")).toBe(0);
}, 60_000);

it("says which port is taken, in one sentence", async () => {
  const other: Server = createServer().listen(Number(ports.PORT));
  await once(other, "listening");
  const { ended, output } = dev();
  expect(await ended).toBe(1);
  expect(output()).toMatch(new RegExp(`^Port ${ports.PORT}, for your service, is in use: .*\n$`));
  await once(other.close(), "close");
});

it("does not play with somebody else's platform", async () => {
  const { ended, output } = dev({ PLATFORM_API_URL: "https://api.example.com" });
  expect(await ended).toBe(78);
  expect(output()).toMatch(/names another platform in PLATFORM_API_URL/);
});
