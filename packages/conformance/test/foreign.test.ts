// The checker as a command, on a service of another implementation.

import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort } from "../free-port.ts";
import { conformance as inFolder, withoutWaits } from "./command.ts";

const at = (place: string) => fileURLToPath(new URL(place, import.meta.url));
const SERVICE = `exec ${process.execPath} ${at("foreign-service.mjs")}`;
const JUDGED_BY = ["AUTH-01", "AUTH-03", "PROV", "EXCH-01", "PLAN-01", "TOMB-01", "ASYNC", "SSO"];

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), "conformance-"))));
afterAll(() => rm(folder, { recursive: true }));

async function conformance(...words: string[]) {
  const { stderr, ...ended } = await inFolder(folder, "--grace", "1", ...words);
  return { ...ended, stderr: withoutWaits(stderr) };
}

const judged = (...words: string[]) =>
  conformance("--command", SERVICE, "--plan", "small", "--other-plan", "large", ...words);

describe("the command against a service of another implementation", () => {
  it("finds its one fault, and counts nothing that it does not offer", async () => {
    const junit = path.join(folder, "report.xml");
    const { code, stdout, stderr } = await judged("--json", "--junit", junit, "--only", ...JUDGED_BY);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const report = JSON.parse(stdout) as { rules: { id: string; outcome: string; reason: string | null }[] };
    const ids = (outcome: string) =>
      report.rules.filter((rule) => rule.outcome === outcome).map(({ id }) => id);
    expect(ids("broken")).toEqual(["AUTH-03"]);
    expect(ids("not_applicable").filter((id) => /^(SSO|ASYNC)-/.test(id))).toHaveLength(28);
    expect(ids("passed")).toEqual(
      expect.arrayContaining(["AUTH-01", "PROV-01", "EXCH-01", "PLAN-01", "TOMB-01"]),
    );
    expect(ids("skipped")).toEqual([]);
    expect((await readFile(junit, "utf8")).match(/<failure/g)).toHaveLength(1);
  });

  it("prints the report in 80 columns, without a progress bar when there is no terminal", async () => {
    const { code, stdout, stderr } = await judged("--only", "AUTH-03", "SSO");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toMatch(
      / ✗ AUTH-03 .*\n +An empty user was|\n +Another user was answered with 200; 401 was due\./,
    );
    expect(stdout).toContain("  – SSO-01 to SSO-12: not applicable: no sign-on salt was given (SSO_SALT).");
    expect(stdout).toContain("\nThe service is not fit for the platform yet.\nBroken: AUTH-03.\n");
  });

  it("writes the report as a web page and the result for a badge, and both say that a service was not checked", async () => {
    const [html, badge] = [path.join(folder, "report.html"), path.join(folder, "badge.json")];
    const files = ["--html", html, "--badge", badge];
    await judged(...files, "--only", "AUTH-03", "SSO");
    const page = await readFile(html, "utf8");
    expect(page).toContain("<h1>Not fit for the platform yet</h1>");
    expect(page).toContain('<a href="#AUTH-03">');
    expect(page).toContain("12 rules are judged only if you give: SSO_SALT (12).");
    const label = { schemaVersion: 1, label: "add-on conformance" };
    expect(JSON.parse(await readFile(badge, "utf8"))).toEqual({
      ...label,
      message: "1 broken",
      color: "red",
    });
    await conformance("--command", "exit 3", "--id", "x", ...files);
    expect(await readFile(html, "utf8")).toContain("The service could not be checked");
    expect(JSON.parse(await readFile(badge, "utf8"))).toMatchObject({ message: "not checked" });
  });

  it("stops at once with the last output of a service that cannot be started", async () => {
    const { code, stdout, stderr } = await conformance("--command", "echo no database; exit 3", "--id", "x");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(
      "The service ended before it answered, with exit status 3. Its last lines:\nno database",
    );
    const json = await conformance("--command", "exit 3", "--id", "x", "--json");
    expect(JSON.parse(json.stdout)).toEqual({
      id: "not_checked",
      message: "The service ended before it answered, with exit status 3, and said nothing.",
    });
  });

  it("ends although a process that the command started is none of its process group", async () => {
    const service = `setTimeout(process.exit, 90_000, 0); import(${JSON.stringify(at("foreign-service.mjs"))})`;
    const words = JSON.stringify(["-e", service]);
    const daemon = `require("child_process").spawn(process.execPath, ${words}, { detached: true, stdio: "inherit" }).unref()`;
    const run = ["--command", `${process.execPath} -e '${daemon}'`, "--plan", "small", "--only", "PROV-01"];
    const since = performance.now();
    expect(await conformance(...run)).toMatchObject({ code: 0, stderr: "" });
    expect(performance.now() - since).toBeLessThan(80_000);
  });

  it("reports the last output of a service that exits during the run, and the resources that remain", async () => {
    const words = ["--plan", "small", "--only", "PROV-01", "REQ"];
    const { code, stdout, stderr } = await conformance(
      "--command",
      `FOREIGN="ends soon" ${SERVICE}`,
      ...words,
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^Left at your service, [^]+\n✗ The service ended in the middle of the run, with exit status 3\. Its last lines:\nOut of memory\.\n$/,
    );
  });

  it("lists its rules as JSON, all or selected ones", async () => {
    const { code, stdout } = await conformance("--list", "--json", "--only", "AUTH-08", "TOMB");
    expect(code).toBe(0);
    const { rules } = JSON.parse(stdout) as { rules: { id: string }[] };
    expect(rules.map(({ id }) => id)).toEqual([
      "AUTH-08",
      "TOMB-01",
      "TOMB-02",
      "TOMB-03",
      "TOMB-04",
      "TOMB-05",
    ]);
    expect(rules[0]).toEqual({
      ...{ id: "AUTH-08", group: "Authentication", severity: "should" },
      title: "Credentials are checked before the body is read",
      ...{ section: expect.stringContaining("docs/assumed.md"), source: "ruled", mend: expect.any(String) },
    });
  });

  it("does not judge another process that listens at the address of the command", async () => {
    const other = createServer((_request, response) => void response.end());
    await once(other.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const { code, stdout, stderr } = await conformance("--command", "exit 3", "--url", url, "--id", "x");
    other.close();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`✗ Somebody answers at ${url} already, before the command is started.`);
  });

  it("says why the service does not answer, and what to do about an untrusted certificate", async () => {
    const pem = await readFile(at("untrusted.pem"));
    const server = createTlsServer({ key: pem, cert: pem }, (_request, response) => void response.end());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const words = ["--id", "x", "--password", "p", "--platform-port", String(await freePort()), "--url"];
    const untrusted = await conformance(...words, `https://127.0.0.1:${port}`);
    await new Promise((resolve) => server.close(resolve));
    expect(untrusted).toMatchObject({ code: 1, stdout: "" });
    expect(untrusted.stderr).toContain(`✗ The certificate of https://127.0.0.1:${port} is not trusted: `);
    expect(untrusted.stderr).toContain("NODE_EXTRA_CA_CERTS=");
    const nobody = await conformance(...words, `http://127.0.0.1:${await freePort()}`);
    expect(nobody).toMatchObject({ code: 1, stdout: "" });
    expect(nobody.stderr).toMatch(/✗ Nobody answers at http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  });
});
