import { readFileSync } from "node:fs";
import { type Sandbox, startSandbox } from "../../packages/sandbox/index.ts";
import { clientEndpoints } from "../support/client-endpoints.ts";

// Files that the page names are looked for by pages.test.ts.
const page = readFileSync(new URL("../../docs/platform-coverage.md", import.meta.url), "utf8");
const endpoints = [...page.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) \/[^`]*)`/g)].map(([, one]) => one!);

it("docs/platform-coverage.md names every endpoint that the kit calls", async () => {
  /** `GET /apps/{app_id_or_name}` and `GET /apps/:id` in one form. */
  const plain = (endpoint: string) => endpoint.replace(/\{[^}]+\}|:\w+/g, ":");
  const documented = endpoints.map(plain);
  const called = (await clientEndpoints()).map(plain);
  expect(called.filter((endpoint) => !documented.includes(endpoint))).toEqual([]);
});

describe("the sandbox", () => {
  let sandbox: Sandbox;
  let token: string;
  beforeAll(async () => {
    sandbox = await startSandbox();
    token = sandbox.control.userToken().token;
  });
  afterAll(() => sandbox.close());

  async function answerOf(endpoint: string): Promise<string> {
    const [method, pathname] = endpoint.replace(/\{[^}]+\}/g, "x").split(" ") as [string, string];
    const headers = { authorization: `Bearer ${token}`, accept: sandbox.settings.mediaType };
    const response = await fetch(sandbox.url + pathname, { method, headers, redirect: "manual" });
    return `${response.status} ${await response.text()}`;
  }
  const UNKNOWN = /^40[45] .*(has|plays) no [A-Z/]|Cannot [A-Z]+|is only read/;

  it("serves every endpoint that the page names", async () => {
    for (const endpoint of new Set(endpoints)) {
      const answer = await answerOf(endpoint);
      expect([endpoint, answer]).toEqual([endpoint, expect.not.stringMatching(UNKNOWN)]);
      expect([endpoint, answer]).toEqual([endpoint, expect.not.stringMatching(/^5/)]);
    }
  });
});
