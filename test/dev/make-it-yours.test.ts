import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { appendFile, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { testServerUrl } from "../support/database.ts";

// `npm run make-it-yours` and `npm run check` in a copy of this repository, in a folder whose path has a space. Of the
// kit's own tests it has what a fork's need.

const root = fileURLToPath(new URL("../..", import.meta.url));
/** A fork that has removed the sample, and this test of it, has nothing to rename. */
const withSample = existsSync(path.join(root, "test/your-service/docs.test.ts")) ? describe : describe.skip;
const LEFT_OUT = /^(node_modules|\.git|dist|\.data|coverage|\.env|workshop|test|packages\/\w+\/test)$/;
const TESTS = ["test/your-service", "test/support", "test/people", "test/docs/deploy-files.test.ts"];
/** The places that the script owns: no name of the sample stays there. */
const OWNED = ".env.example app.json package.json package-lock.json ops/sandbox.env README.md".split(" ");

/** Those that list settings. */
const SETTINGS_FILES = ".env.example app.json compose.yaml ops/sandbox.env".split(" ");

const { PATH, HOME } = process.env;
const environment = { PATH, HOME, NO_COLOR: "1", TEST_DATABASE_URL: testServerUrl() };

let copy: string;
beforeAll(async () => {
  copy = await mkdtemp(path.join(tmpdir(), "addon copy-"));
  const filter = (file: string) => !LEFT_OUT.test(path.relative(root, file));
  for (const name of [...readdirSync(root), ...TESTS].filter((name) => filter(path.join(root, name))))
    await cp(path.join(root, name), path.join(copy, name), { recursive: true, filter });
  // The packages of this repository, with caches of its own; what the compiler knows of this one saves time.
  await mkdir(path.join(copy, "node_modules/.cache"), { recursive: true });
  const types = "node_modules/.cache/types.tsbuildinfo";
  await cp(path.join(root, types), path.join(copy, types)).catch(() => undefined);
  for (const name of readdirSync(path.join(root, "node_modules")).filter((name) => name !== ".cache"))
    await symlink(path.join(root, "node_modules", name), path.join(copy, "node_modules", name));
  git("init", "-q");
  commit();
});
afterAll(() => rm(copy, { recursive: true, force: true }));

async function run(program: "check" | "make-it-yours", ...words: string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", `dev/${program}.ts`, ...words], {
    ...{ cwd: copy, env: environment, stdio: ["ignore", "pipe", "pipe"] },
  });
  const said = Promise.all([text(child.stdout!), text(child.stderr!)]);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output: (await said).join("") };
}

function git(...words: string[]): string {
  const person = ["-c", "user.name=you", "-c", "user.email=you@example.com"];
  const { status, stdout, stderr } = spawnSync("git", [...person, ...words], { cwd: copy, encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

function commit(): void {
  git("add", "-A");
  git("commit", "-q", "-m", "as it is");
}

const read = (file: string) => readFileSync(path.join(copy, file), "utf8");
const NAMES = ["--id", "acme-db", "--prefix", "ACME_DB"];

withSample("npm run make-it-yours", () => {
  it.each([
    [
      "invalid names, each with a sentence",
      ["--id", "Acme", "--prefix", "acme_", "--plan", "a b", "--plan", "maxi", "--plan", "maxi:later"],
      /^The id "Acme" must .+\nThe prefix "acme_" must .+\nThe plan "a b" must .+\nThe plan "maxi" is there twice\.\n$/,
    ],
    ["missing names without a terminal", ["--id", "acme-db"], /^How it is used:/],
  ])("refuses %s", async (_what, words, said) => {
    expect(await run("make-it-yours", ...words)).toEqual({ code: 2, output: expect.stringMatching(said) });
    expect(git("status", "--porcelain")).toBe("");
  });

  it("refuses a working tree with changes", async () => {
    await writeFile(path.join(copy, "new.txt"), "");
    const output = expect.stringContaining("The working tree has changes");
    expect(await run("make-it-yours", ...NAMES, "--plan", "mini")).toEqual({ code: 2, output });
    await rm(path.join(copy, "new.txt"));
  });

  it("puts your names in the place of the sample's, shows its diff, and changes nothing the second time", async () => {
    const plans = ["--plan", "mini=1 GB, $9 a month", "--plan", "maxi", "--plan", "own:later"];
    const { code, output } = await run("make-it-yours", ...NAMES, ...plans);
    expect([code, output]).toEqual([0, expect.stringContaining("src/your-service/plans.ts")]);
    expect(output).not.toContain("has nothing like");
    const yours = ["src/your-service", "test/your-service"].flatMap((folder) =>
      readdirSync(path.join(copy, folder)).map((file) => `${folder}/${file}`),
    );
    for (const file of [...OWNED, ...yours])
      expect([file, read(file)]).toEqual([file, expect.not.stringMatching(/teapot/i)]);
    const named = { name: "acme-db", env: { ADDON_ID: { value: "acme-db" } } };
    expect(JSON.parse(read("app.json"))).toMatchObject(named);
    expect(read("src/your-service/plans.ts")).toContain(`mini: { description: "1 GB, $9 a month" }`);
    commit();
    const same = ["--plan", "mini", "--plan", "maxi", "--plan", "own:later"];
    const nothing = { code: 0, output: "Nothing to change.\n" };
    expect(await run("make-it-yours", ...NAMES, ...same)).toEqual(nothing);
  });

  it("leaves a fork that passes its check", async () => {
    const { code, output } = await run("check", "types", "deploy-files", "tests");
    const passes = /^✓ .+ types\n✓ .+ deploy-files\n✓ .+ tests\nAll is well, in .+\.\n$/;
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(passes) });
  }, 400_000);
});

withSample("npm run make-it-yours -- --from", () => {
  it.each([
    ["a folder without a service", ["--from", "docs"], /^There is no service in docs: /],
    ["names that the service has", ["--from", "examples/message-queue", "--plan", "mini"], /^With --from, /],
    ["a page without a repository", ["--deploy-page", "https://dashboard.example/new"], /beside --repo/],
    ["an address that is none", ["--from", "examples/message-queue", "--repo", "pigeons"], /https address/],
  ])("refuses %s", async (_what, words, said) => {
    expect(await run("make-it-yours", ...words)).toEqual({ code: 2, output: expect.stringMatching(said) });
    expect(git("status", "--porcelain")).toBe("");
  });

  it("lists the settings of an example in the files of a deployment, in the place of those of the one before", async () => {
    const { code, output } = await run("make-it-yours", "--from", "examples/postgres-product");
    expect([code, output]).toEqual([0, expect.not.stringContaining("has nothing like")]);
    for (const file of SETTINGS_FILES) expect([file, read(file)]).toEqual([file, expect.stringContaining("PRODUCT_PASSWORD_KEY")]); // prettier-ignore
    commit();
    const repo = "https://git.example/you/pigeons";
    const page = ["--deploy-page", "https://dashboard.example/new"];
    const from = ["--from", "examples/message-queue", "--id", "pigeons", "--repo", repo, ...page];
    expect(await run("make-it-yours", ...from)).toMatchObject({ code: 0 });
    for (const file of SETTINGS_FILES) {
      expect([file, read(file)]).toEqual([file, expect.stringMatching(/QUEUE_API_URL[^]*QUEUE_API_TOKEN/)]);
      expect([file, read(file)]).toEqual([file, expect.not.stringContaining("PRODUCT_")]);
    }
    expect(JSON.parse(read("app.json"))).toMatchObject({ name: "pigeons", repository: repo });
    expect(read("README.md")).toContain(`<${repo}>`);
    const button = `(https://dashboard.example/new?template=${encodeURIComponent(repo)})`;
    expect(read("README.md")).toContain(`[![Deploy](docs/images/deploy.svg)]${button}`);
    expect(read("src/your-service/plans.ts")).toContain(`addonId = "pigeons"`);
    commit();
    expect(await run("make-it-yours", "--settings")).toMatchObject({ code: 0 });
    expect(git("status", "--porcelain")).toBe("");
  });

  it("leaves a fork that passes its check but for what needs the product, which names the function and its line; .env is not read", async () => {
    await writeFile(path.join(copy, ".env"), "DATABASE_URL=postgresql://nobody@127.0.0.1:1/x\nADDON_PASSWORD=short\nQUEUE_API_URL=\n"); // prettier-ignore
    const { code, output } = await run("check", "types", "deploy-files", "tests", "demo");
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/^✓ .+ types\n✓ .+ deploy-files\n✓ .+ tests\n✗ .+ demo\n/),
    ]);
    expect(output).toMatch(/provision\(\) was called 3 times, and failed each time\./);
    expect(output).toMatch(/\nprovision\(\) failed: fetch failed.+\nsrc\/your-service\/broker\.ts:\d+\n/);
    expect(output).toMatch(/\n> +\d+ \|.+await fetch\(/);
  }, 400_000);
});

withSample("npm run check", () => {
  it("shows each fault at the step that finds it, and fails", async () => {
    await appendFile(path.join(copy, "test/your-service/service.test.ts"), "\ndebugger;\n");
    await writeFile(path.join(copy, "app.json"), read("app.json").replace("CLIENT_SECRET", "CLIENT_SECRETS"));
    const { code, output } = await run("check", "lint", "deploy-files");
    expect(code).toBe(1);
    expect(output).toMatch(/✗ .+ lint\n[^✗]*no-debugger[^✗]*✗ .+ deploy-files\n[^]*CLIENT_SECRETS/);
    expect(output).toMatch(/\nFailed, in .+: lint, deploy-files\. .+\n$/);
  }, 400_000);
});
