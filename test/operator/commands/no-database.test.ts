import type { Command } from "commander";
import { startSandbox } from "../../../packages/sandbox/index.ts";
import { createProgram } from "../../../src/operator/commands/program.ts";
import { build, buildText } from "../../../src/version.ts";
import { aClosedPort, type Answering, aServer, inOrder } from "../../platform/local-server.ts";
import { kit, kitJson, runningKit } from "../../support/kit.ts";

// What needs no settings, or only an address of the platform.

const UUID = "01234567-89ab-cdef-0123-456789abcdef";

let answer: Answering;
const server = await aServer((seen, response) => answer(seen, response));
beforeEach(() => void (server.seen.length = 0));

/** The words of every command that does something. */
function commandsIn(command: Command, words: string[] = []): string[] {
  const inner = command.commands.flatMap((each) => commandsIn(each, [...words, each.name()]));
  return command.commands.length > 0 ? inner : [words.join(" ")];
}

it("kit --help lists all commands", async () => {
  const { stdout } = await kit({}, ["--help"]);
  for (const words of commandsIn(await createProgram(() => () => Promise.resolve()))) {
    const [group, inner] = words.split(" ");
    expect(stdout).toMatch(inner ? new RegExp(`^ {2}${group} (\\S+\\|)?${inner}\\b`, "m") : `\n  ${group}`);
  }
});

describe("kit without any settings", () => {
  it("prints its version", async () => {
    expect(await kit({}, ["--version"])).toMatchObject({ code: 0, stdout: `${buildText}\n`, stderr: "" });
    expect(await kitJson({}, ["--version"])).toEqual({ code: 0, data: { ...build } });
  });

  it("prints help as one JSON document with --json", async () => {
    const { code, data } = await kitJson({}, ["resources", "list", "--help"]);
    expect({ code, data }).toEqual({ code: 0, data: { help: expect.stringMatching(/^Usage: /) } });
  });

  it("says when a database cannot be migrated", async () => {
    const away = { DATABASE_URL: "postgresql://nobody@127.0.0.1:1/none" };
    expect(await kitJson(away, ["migrate"])).toMatchObject({ code: 1, data: { id: "database_unavailable" } });
  });

  it("prints usage when the command is missing", async () => {
    const stderr = expect.stringMatching(/^Usage: kit tokens/);
    expect(await kit({}, ["tokens"])).toEqual({ code: 2, stdout: "", stderr });
  });

  it.each([
    ["no command", []],
    ["an unknown command", ["teapots"]],
    ["a uuid that is none", ["tokens", "refresh", "teapot"]],
    ["a missing argument", ["apps"]],
    ["neither uuids nor --all", ["tokens", "refresh"]],
    ["both uuids and --all", ["grants", "recover", UUID, "--all"]],
    ["a config var without a value", ["config", "set", UUID, "TEAPOT_URL"]],
    ["nothing to set", ["config", "set", UUID]],
    ["no resource to ask for", ["api", "GET", "/apps"]],
    ["an empty secret", ["secret", "set"]],
    ["a day that is none", ["status", "--since", "yesterday"]],
    ["no page at all", ["status", "--per-page", "0"]],
    ["an incident and a day", ["status", "--incident", "7", "--since", "2026-01-31"]],
    ["an environment that is none", ["manifest", "resolve", "app.json", "--environment", "production"]],
    ["a token as an argument", ["authorizations", "create", "SVCK-x", "--description", "x", "--scope", "x"]],
    ["no scope", ["authorizations", "create", "--description", "x"]],
    ["an empty scope", ["authorizations", "create", "--description", "x", "--scope", " "]],
    ["a place in the audit trail that is none", ["audit", "--after", "x"]],
  ])("reports a usage error for %s", async (_, words) => {
    const { code, data } = await kitJson({}, words, "\n");
    expect({ code, data }).toEqual({ code: 2, data: { id: "used_wrongly", message: expect.any(String) } });
  });

  it("does not accept a file as a client secret", async () => {
    const message = expect.stringContaining("more than 4096 bytes");
    const long = await kitJson({}, ["secret", "set"], "x".repeat(5_000));
    expect(long).toMatchObject({ code: 2, data: { message } });
    const { stdin, ended } = runningKit({}, ["secret", "set"]);
    // It never ends.
    stdin.write(Buffer.alloc(5_000_000));
    expect(await ended).toMatchObject({ code: 2, stderr: expect.stringContaining("more than 64 KiB") });
  });

  it("names every missing setting, without values", async () => {
    const { code, stderr, stdout } = await kit({ ADDON_PASSWORD: "pass\u0007word" }, ["apps", UUID]);
    expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
    expect(stderr).toContain("ADDON_ID is required");
    expect(stderr).toContain("ADDON_PASSWORD must be one line");
    expect(stderr).not.toContain("word\n");
  });
});

const RECORD = {
  id: UUID,
  access_token: { expires_in: null, id: "1", token: "SVCK-brand-new" },
  refresh_token: { expires_in: null, id: "2", token: "refresh-brand-new" },
  grant: { code: "code-brand-new", expires_in: 300, id: "3" },
  client: { id: "4", name: "you", redirect_uri: "https://client.example" },
  scope: ["read"],
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};
const UNLIMITED = ["authorizations", "create", "--description", "dashboards"];
const CREATE = [...UNLIMITED, "--scope", "read"];
const USERS_TOKEN = "SVCK-of-the-user";

describe("kit authorizations", () => {
  /** The address is the only setting. */
  const environment = { PLATFORM_API_URL: server.url, ALLOW_INSECURE_PLATFORM: "on" };
  const run = (words: string[], input = `${USERS_TOKEN}\n`) => kit(environment, words, input);
  const runJson = (words: string[], input = `${USERS_TOKEN}\n`) => kitJson(environment, words, input);
  beforeEach(() => void (answer = inOrder(RECORD)));

  it("create shows the new token once, in text and in JSON", async () => {
    const { code, stdout, stderr } = await run(CREATE);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/\nSVCK-brand-new\n[^]* expires +never/);
    expect(stdout).not.toMatch(/refresh-brand-new|code-brand-new|SVCK-of-the-user/);
    expect(await runJson(CREATE)).toEqual({ code: 0, data: RECORD });
  });

  it("create sends the scopes with the token from standard input", async () => {
    await run([...UNLIMITED, "--scope", "read", "identity", "--scope", "write-protected"]);
    expect(JSON.parse(server.seen[0]!.body)).toEqual({
      description: "dashboards",
      scope: ["read", "identity", "write-protected"],
    });
    expect(server.seen[0]!.headers.authorization).toBe(`Bearer ${USERS_TOKEN}`);
  });

  it.each([
    ["no token", CREATE, "\n"],
    ["a token of two words", CREATE, "Bearer SVCK-of-the-user"],
    ["an invalid id", ["authorizations", "revoke", ".."], USERS_TOKEN],
  ])("are used wrongly with %s", async (_, words, input) => {
    const { code, data } = await runJson(words, input);
    expect(code).toBe(2);
    expect(data["message"]).not.toContain("of-the-user");
    expect(server.seen).toEqual([]);
  });

  it("revoke ends the authorization, and shows none of its tokens", async () => {
    const { code, data } = await runJson(["authorizations", "revoke", "an id/of theirs"]);
    expect({ code, data }).toMatchObject({ code: 0, data: { id: UUID, client: { name: "you" } } });
    expect(JSON.stringify(data)).not.toContain("brand-new");
    expect(data["access_token"]).toEqual({ expires_in: null, id: "1", token: "[secret]" });
    expect(server.seen).toMatchObject([
      { method: "DELETE", url: "/oauth/authorizations/an%20id%2Fof%20theirs" },
    ]);
    const human = await run(["authorizations", "revoke", UUID]);
    expect(human).toMatchObject({ code: 0, stdout: expect.not.stringContaining("brand-new") });
  });

  it("print an error answer without the echoed token", async () => {
    answer = ({ headers }, response) =>
      response.writeHead(401).end(JSON.stringify({ id: "unauthorized", message: headers.authorization }));
    const { stdout, stderr } = await run(CREATE);
    expect(stdout + stderr).toContain("[secret]");
    expect(stdout + stderr).not.toContain("of-the-user");
  });

  it("say after a lost answer that an unknown token may exist", async () => {
    const lost: (typeof answer)[] = [
      (_, response) => void response.destroy(),
      (_, response) => void response.writeHead(502).end(),
    ];
    for (answer of lost) {
      const { code, stderr } = await run(CREATE);
      expect(code).toBe(1);
      expect(stderr.replace(/\s+/g, " ")).toContain("look at your authorizations on the platform");
    }
    const away = { ...environment, PLATFORM_API_URL: await aClosedPort() };
    expect(await kitJson(away, CREATE, USERS_TOKEN)).toMatchObject({
      code: 1,
      data: { id: "connection_failed" },
    });
  });

  it("create a token that works in the sandbox and does not expire, and revoke it", async () => {
    const sandbox = await startSandbox({});
    const settings = { PLATFORM_API_URL: sandbox.url, ALLOW_INSECURE_PLATFORM: "on" };
    const accountOf = async (token: string) => {
      const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.svc+json; version=3" };
      return (await fetch(`${sandbox.url}/account`, { headers })).status;
    };
    const { token } = sandbox.control.userToken();
    const created = await kitJson(settings, [...UNLIMITED, "--scope", "identity"], token);
    expect(created).toMatchObject({ code: 0, data: { access_token: { expires_in: null } } });
    const { id, access_token } = created.data as { id: string; access_token: { token: string } };
    sandbox.control.advanceClock(365 * 86_400);
    expect(await accountOf(access_token.token)).toBe(200);
    const fresh = sandbox.control.userToken();
    const revoked = await kitJson(settings, ["authorizations", "revoke", id], fresh.token);
    expect(revoked).toMatchObject({ code: 0, data: { id, access_token: { token: "[secret]" } } });
    expect(await accountOf(access_token.token)).toBe(401);
    expect(await accountOf(fresh.token)).toBe(200);
    await sandbox.close();
  });
});

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

const INCIDENT = {
  id: 7,
  title: "Slow\u001b[31m builds",
  state: "monitoring",
  created_at: hoursAgo(5),
  updates: [
    { created_at: hoursAgo(5), update_type: "issue", contents: "The first word." },
    { created_at: hoursAgo(3), update_type: "update", contents: "The last word." },
  ],
  of_tomorrow: true,
};
const MAINTENANCE = { id: 8, title: "New disks", state: "scheduled", created_at: hoursAgo(50) };
const CURRENT = {
  status: [
    { system: "Apps", status: "green" },
    { system: "Tools", status: "yellow" },
    { system: "Data", status: "red" },
    { system: "CLI", status: "blue" },
    { system: "Rest", status: "mauve" },
  ],
  incidents: [INCIDENT, { id: 6, title: "Over", resolved: true }],
  scheduled: [MAINTENANCE],
};

describe("kit status", () => {
  /** The address is the only setting. */
  const environment = { PLATFORM_STATUS_URL: server.url, ALLOW_INSECURE_PLATFORM: "on" };
  const run = (...words: string[]) => kit(environment, ["status", ...words]);
  const runJson = (...words: string[]) => kitJson(environment, ["status", ...words]);
  beforeEach(() => void (answer = inOrder(CURRENT)));

  it("prints the systems, open incidents with their updates, and planned maintenance; with --json the feed's own", async () => {
    expect(await runJson()).toEqual({ code: 0, data: CURRENT });
    expect(server.seen).toMatchObject([{ method: "GET", url: "/api/v4/current-status", body: "" }]);
    const { code, stdout, stderr } = await run();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const part of [
      "Apps: Available\nTools: Performance Degradation\nData: Service Disruption\nCLI: Maintenance\nRest: mauve\n",
      "1 open incident.\n#7 Slow\\u001b[31m builds  monitoring, since ",
      "  update  The last word.\n1 maintenance window.\n#8 New disks  scheduled, since ",
    ])
      expect(stdout).toContain(part);
    expect(stdout).not.toContain("Over");
  });

  it("does not call an incident closed when the feed has no list of incidents", async () => {
    answer = inOrder({ status: CURRENT.status, incidents: "none" });
    expect((await run()).stdout).toContain("\nThe feed has no list of incidents.\n");
  });

  it("lists a limited number of incidents since a day", async () => {
    answer = inOrder([INCIDENT]);
    expect(await runJson("--since", "2026-01-31", "--per-page", "5")).toEqual({ code: 0, data: [INCIDENT] });
    expect(server.seen[0]!.url).toBe("/api/v4/incidents?since=2026-01-31&per_page=5");
    answer = inOrder([{ title: "Over", state: "monitoring", resolved: true }]);
    expect((await run("--since", "2026-01-31")).stdout).toMatch(/^1 incident\.\nOver {2}resolved\n/);
  });

  it("prints one incident with all its updates", async () => {
    answer = inOrder(INCIDENT);
    expect(await runJson("--incident", "7")).toEqual({ code: 0, data: INCIDENT });
    expect(server.seen[0]!.url).toBe("/api/v4/incidents/7");
    expect((await run("--incident", "7")).stdout).toMatch(/The first word\.[^]*The last word\./);
  });

  it("fails when the feed is unreachable, and when the incident is unknown or a path", async () => {
    expect(await runJson("--incident", "..")).toMatchObject({ code: 2 });
    expect(server.seen).toEqual([]);
    const away = { ...environment, PLATFORM_STATUS_URL: await aClosedPort() };
    expect(await kitJson(away, ["status"])).toMatchObject({ code: 1, data: { id: "connection_failed" } });
    answer = inOrder(404);
    const message = expect.stringContaining("404");
    expect(await runJson("--incident", "9")).toMatchObject({ code: 1, data: { message } });
  });
});
