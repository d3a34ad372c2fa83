// Services and machines that are not as expected: each run ends, says so, and leaves nothing behind.

import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { startExample } from "../examples/service/service.ts";
import { freePort } from "../free-port.ts";
import { conformance, running } from "./command.ts";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));

const credentials = `Basic ${Buffer.from("mine:p").toString("base64")}`;
const WORDS = [
  "--id",
  "mine",
  "--password",
  "p",
  "--sso-salt",
  "a-salt",
  "--patience",
  "1",
  "--token-life",
  "1",
];

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A service that lets all in, with one difference. */
function service(change: (answer: Answer, request: IncomingMessage) => Partial<Answer>) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    const [, uuid] = /"uuid":"([^"]+)"/.exec(await text(request)) ?? [];
    const isKnown = request.headers.authorization === credentials || request.url!.startsWith("/sso");
    const usual: Answer = {
      status: isKnown ? (request.method === "DELETE" ? 204 : 200) : 401,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: uuid ?? "refused", message: "Always." }),
    };
    const { status, headers, body } = { ...usual, ...change(usual, request) };
    response.writeHead(status, headers);
    response.end(status === 204 ? undefined : body);
  };
}

async function run(
  serve: (request: IncomingMessage, response: ServerResponse, stop: () => void) => unknown,
  ...words: string[]
) {
  const server = createServer((request, response) => void serve(request, response, stop));
  let stop = () => {};
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const own = ["--platform-port", String(await freePort()), "--url", `http://127.0.0.1:${port}`];
  const started = running(folder, ...WORDS, ...own, ...words);
  stop = () => void started.child.kill("SIGINT");
  const ended = await started.ended;
  server.closeAllConnections();
  server.close();
  return ended;
}

const loops = service((_answer, { method, url }) =>
  method === "GET" || url!.startsWith("/sso") ? { status: 303, headers: { location: "/sso/login" } } : {},
);

it.concurrent.each([
  {
    what: "pages of HTML",
    serve: service(() => ({ headers: { "content-type": "text/html" }, body: "<h1>Welcome</h1>" })),
    only: ["PROV", "ERR-03"],
    says: /✗ PROV-02 [^]* The Content-Type is text\/html\.\n[^]*Broken: PROV-02\.\n/,
  },
  {
    what: "a million bytes each time",
    serve: service(({ body }) => ({ body: body.replace("Always.", "x".repeat(1_000_000)) })),
    only: ["PROV", "AUTH", "SECR"],
    says: /✓ PROV-01 [^]*\sin \d+ s\.\n$/,
    due: 0,
  },
  {
    what: "a sign-on whose redirects never end",
    serve: loops,
    only: ["SSO-01", "SSO-11"],
    says: /✗ SSO-01 [^]* After 10 redirects there was still no page\.\n/,
  },
])(
  "judges a service that answers with $what",
  async ({ serve, only, says, due = 1 }) => {
    const { code, stdout, stderr } = await run(serve, "--only", ...only);
    expect(stdout).toMatch(says);
    expect({ code, left: /^Left /m.test(stderr) }).toEqual({ code: due, left: false });
  },
  600_000,
);

it("says that an answer does not end, and not that there is none", async () => {
  const drips = (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    const dripping = setInterval(() => void response.write(" "), 200);
    response.on("close", () => clearInterval(dripping));
  };
  const { code, stdout, stderr } = await run(drips);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /✗ http:.* begins an answer and does not end it: The answer had no end within 10 s\.\n/,
  );
});

it("refuses a report that cannot be written before it calls the service", async () => {
  let calls = 0;
  const file = path.join(folder, "no-such-folder", "report");
  for (const form of ["--junit", "--html", "--badge"]) {
    const { code, stdout, stderr } = await run(() => (calls += 1), form, file);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(`✗ The report cannot be written with ${form}: ENOENT`);
  }
  expect(calls).toBe(0);
});

it("shows the verdicts of a run whose report files can no longer be written at its end", async () => {
  const gone = await mkdtemp(path.join(folder, "gone-"));
  const usual = service(() => ({}));
  const { code, stdout, stderr } = await run(
    async (request, response) => {
      await rm(gone, { recursive: true, force: true });
      await usual(request, response);
    },
    ...["--html", path.join(gone, "report.html"), "--only", "AUTH-01"],
  );
  expect(stdout).toMatch(/✓ AUTH-01 /);
  expect(stderr).toMatch(/^✗ The report was not written with --html: ENOENT/m);
  expect(code).toBe(1);
});

it("two at once on one service: one finds no fault, the other says that its platform is not called", async () => {
  const [port, platformPort] = [await freePort(), await freePort()];
  const platform = `http://127.0.0.1:${platformPort}`;
  const partner = await startExample({
    ...{ port, addonId: "mine", addonPassword: "p", clientSecret: "c", ssoSalt: null },
    ...{ platformApiUrl: platform, platformAuthUrl: platform },
  });
  const only = ["--only", "AUTH", "PROV-01", "IDEM-01", "EXCH-01", "EXCH-03", "EXCH-06", "FAIL-01"];
  const check = (at: number, ...words: string[]) => {
    const where = ["--url", `http://127.0.0.1:${port}`, "--platform-port", String(at)];
    return conformance(folder, "--id", "mine", "--password", "p", ...where, ...words, ...only);
  };
  const first = check(platformPort, "--patience", "10");
  const [own, other] = await Promise.all([first, check(await freePort(), "--patience", "3")]);
  await partner.close();
  expect({ code: own.code, told: /Every must-rule/.test(own.stdout) }).toEqual({ code: 0, told: true });
  expect(other.code).toBe(1);
  expect(other.stdout.replace(/\s+/g, " ")).toMatch(
    /has not called the platform that is played at .*Broken: EXCH-01\./,
  );
});

it("says that another check may have the platform's port", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const port = String((server.address() as AddressInfo).port);
  const ended = await conformance(folder, ...WORDS, "--url", "http://127.0.0.1:9", "--platform-port", port);
  server.close();
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(ended.stderr).toMatch(
    /✗ Port \d+, .* is in use \(by npm run dev, a sandbox, or another check\?\)\./,
  );
});

it("writes what was judged into the files of a run that is stopped", async () => {
  const [junit, badge] = [path.join(folder, "stopped.xml"), path.join(folder, "stopped.json")];
  let calls = 0;
  const slow = service(() => ({}));
  const ended = await run(
    async (request, response, stop) => {
      // Long after the first rules, and long before the last.
      if ((calls += 1) === 60) stop();
      await slow(request, response);
    },
    ...["--junit", junit, "--badge", badge, "--json", "--patience", "30"],
  );
  expect(ended.code).toBe(130);
  expect(JSON.parse(ended.stdout)).toMatchObject({
    ...{ id: "interrupted", ok: false, left: [] },
    message: expect.stringMatching(/^Stopped after \d+ of 1\d\d rules; the others are not judged\.$/),
  });
  expect(await readFile(junit, "utf8")).toContain('<testcase name="Each rule is judged">');
  expect(await readFile(badge, "utf8")).toMatch(/broken|not checked/);
});

it("says that all is left when it is stopped twice, in place of an older report too", async () => {
  const junit = path.join(folder, "stopped-twice.xml");
  await writeFile(junit, "an older report");
  const usual = service(() => ({}));
  let calls = 0;
  let stopping: NodeJS.Timeout | undefined;
  const ended = await run(
    async (request, response, stop) => {
      if ((calls += 1) < 30) return usual(request, response);
      // From here on nothing is answered, so the first signal alone would not end the run yet.
      stopping ??= setInterval(stop, 400);
    },
    ...["--junit", junit, "--json"],
  );
  clearInterval(stopping);
  expect(ended.code).toBe(130);
  expect(JSON.parse(ended.stdout)).toEqual({
    id: "interrupted",
    message: expect.stringMatching(/^Stopped at once: .* is left at the service\.$/),
  });
  expect(await readFile(junit, "utf8")).toContain("Stopped at once");
});
