import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { kit, kitJson } from "../../support/kit.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "manifests-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const broken = { env: { PORT: { value: 5000 } }, addons: ["redis"] };

function file(name: string, content: unknown): string {
  const at = path.join(folder, name);
  writeFileSync(at, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  return at;
}

// Without any settings and without a database: kit() gives none.
describe("kit manifest check", () => {
  it("lists every fault with its JSON pointer, and exits with 1 on an error", async () => {
    const { code, data } = await kitJson({}, ["manifest", "check", file("broken.json", broken)]);
    expect({ code, data }).toEqual({
      code: 1,
      data: {
        ok: false,
        faults: [
          { pointer: "/env/PORT/value", severity: "error", message: expect.any(String) },
          { pointer: "/addons/0", severity: "warning", message: expect.any(String) },
        ],
      },
    });
  });

  it("exits with 0 when there are only warnings", async () => {
    const { code, data } = await kitJson({}, ["manifest", "check", file("fair.json", { addons: ["redis"] })]);
    expect({ code, data }).toMatchObject({ code: 0, data: { ok: true, faults: [{ severity: "warning" }] } });
  });

  it("reads standard input for -", async () => {
    const sound = await kitJson({}, ["manifest", "check", "-"], '{ "name": "x" }');
    expect(sound).toEqual({ code: 0, data: { ok: true, faults: [] } });
    const empty = await kitJson({}, ["manifest", "check", "-"]);
    expect(empty).toMatchObject({ code: 1, data: { faults: [{ pointer: "", severity: "error" }] } });
  });

  it("tells people, with the file's control characters escaped", async () => {
    const at = file("coloured.json", { ...broken, "\u001b[2J\u001b[31m": 1 });
    const { code, stdout, stderr } = await kit({}, ["manifest", "check", at]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/✗ \/env\/PORT\/value\n[^]*\[2J/);
    expect(stdout).not.toContain("\u001b");
  });

  it("fails for a file that cannot be read", async () => {
    const words = ["manifest", "check", path.join(folder, "nowhere.json")];
    expect(await kitJson({}, words)).toMatchObject({ code: 1, data: { id: "unreadable" } });
  });
});

describe("kit manifest resolve", () => {
  const manifest = {
    $schema: "./app.schema.json",
    name: "x",
    env: { A: "1", B: "2" },
    environments: { test: { env: { A: "3" } }, review: { env: {}, $schema: 5, environments: {} } },
  };

  it.each([
    [[], { A: "1", B: "2" }],
    [["--environment", "test"], { A: "3" }],
    [["--environment", "review"], {}],
  ])("prints the effective manifest of an environment: %j", async (options, env) => {
    const words = ["manifest", "resolve", file("app.json", manifest), ...options];
    const { code, data } = await kitJson({}, words);
    expect({ code, data }).toEqual({ code: 0, data: { name: "x", env } });
    expect(JSON.parse((await kit({}, words)).stdout)).toEqual(data);
  });

  it("prints no result for an invalid manifest, and its faults on standard error", async () => {
    const words = ["manifest", "resolve", file("broken.json", broken)];
    const { code, data } = await kitJson<{ faults: object[] }>({}, words);
    expect({ code, data }).toMatchObject({ code: 1, data: { id: "manifest_broken" } });
    expect(data.faults).toContainEqual(expect.objectContaining({ pointer: "/env/PORT/value" }));
    const { stdout, stderr } = await kit({}, words);
    expect(stdout).toBe("");
    expect(stderr).toContain("/env/PORT/value");
  });
});
