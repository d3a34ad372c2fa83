import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Who may import whom in src/: the arrows of the house. A room is a folder or a file of src/; `config` and `process`
 * are missing on purpose from most rows: only those who start something read settings.
 */
const mayImport: Record<string, readonly string[]> = {
  secret: [],
  redact: ["secret"],
  errors: ["redact"],
  uuid: [],
  "json-object": [],
  // Which build runs, and which versions of Node have their fixes.
  version: [],
  "node-version": [],
  within: [],
  "close-all": [],
  // How long the service waits, which tests shorten.
  pace: [],
  // Around every request: passwords, refused bodies and methods, the server, its end.
  http: ["errors", "pace"],
  // What is written to the log, and the scrubber.
  logging: ["redact", "secret", "http"],
  // The environment becomes settings, and these one checked configuration.
  environment: ["errors"],
  "setting-kinds": ["http", "secret"],
  setting: [],
  settings: ["environment", "setting", "setting-kinds"],
  config: ["environment", "settings", "setting", "your-service", "secret", "errors"],
  vault: ["errors", "secret"],
  database: ["errors"],
  platform: ["errors", "redact", "secret", "uuid", "json-object", "within"],
  // What is made once, and is the first argument of everything that happens to a resource.
  context: ["resources", "work", "vault", "database", "logging", "pace"],
  // The queue of what must happen to a resource, at least once, and what runs it.
  work: [
    "context",
    "credentials",
    "resources",
    "platform",
    "vault",
    "database",
    "errors",
    "redact",
    "secret",
    "logging",
    "pace",
  ],
  // Grants, token pairs and the client secret: everything that calls the token endpoint.
  credentials: ["work", "pace", "platform", "vault", "database", "errors", "secret", "logging", "uuid"],
  resources: [
    "context",
    "credentials",
    "work",
    "pace",
    "platform",
    "vault",
    "database",
    "errors",
    "redact",
    "secret",
    "logging",
    "uuid",
    "within",
  ],
  // Refusals, and settings of its own; the kit gives it the rest when it calls.
  "your-service": ["errors", "secret", "setting", "setting-kinds"],
  "partner-api": ["context", "resources", "errors", "secret", "logging", "uuid", "json-object", "http"],
  // The frame of every page, the cookies and ids of sessions, and the sign-in of people.
  pages: ["database", "errors", "logging", "http"],
  "web-sessions": ["pages", "vault", "secret"],
  "sign-in": [
    "web-sessions",
    // Token pairs of people are stored like those of resources.
    "credentials",
    "work",
    "pages",
    "platform",
    "vault",
    "database",
    "errors",
    "redact",
    "secret",
    "logging",
    "http",
  ],
  // What is counted and timed, around the parts that do the work.
  metrics: [
    "platform",
    "credentials",
    "resources",
    "work",
    "database",
    "errors",
    "logging",
    "http",
    "version",
  ],
  // Customers who come from the platform's dashboard.
  customer: [
    "web-sessions",
    "pages",
    "vault",
    "database",
    "errors",
    "logging",
    "secret",
    "uuid",
    "http",
    "within",
  ],
  jobs: ["credentials", "resources", "work", "sign-in", "database", "logging"],
  // What an operator can do needs every layer below, and what may be missing when something is broken.
  operator: [
    "pace",
    "credentials",
    "resources",
    "work",
    "platform",
    "vault",
    "database",
    "errors",
    "redact",
    "http",
    "logging",
    "secret",
    "manifest",
    "uuid",
    "json-object",
    "setting-kinds",
    "version",
    "node-version",
  ],
  // The same on pages: thin, with nothing that `operator` does not do.
  "operator-pages": [
    "operator",
    "pages",
    "sign-in",
    "web-sessions",
    "metrics",
    "platform",
    "credentials",
    "resources",
    "database",
    "errors",
    "logging",
    "secret",
    "http",
    "within",
    "version",
  ],
  manifest: ["json-object"],
  kit: ["commands"],
  // The command line: it shows what `operator` answers. What is on offer, it tells the platform without starting the
  // service.
  commands: [
    "close-all",
    "process",
    "operator",
    "manifest",
    "services",
    "environment",
    "config",
    "database",
    "errors",
    "logging",
    "secret",
    "your-service",
    "version",
    "uuid",
  ],
  app: ["errors", "logging", "http"],
  services: [
    "close-all",
    "config",
    "context",
    "credentials",
    "customer",
    "database",
    "jobs",
    "logging",
    "metrics",
    "pace",
    "platform",
    "resources",
    "sign-in",
    "vault",
    "work",
    "your-service",
  ],
  // Everything for browsers, which only the web process loads.
  website: ["config", "customer", "operator", "operator-pages", "pages", "sign-in"],
  // A service that starts, becomes ready, and stops in good order.
  process: [
    "app",
    "close-all",
    "config",
    "database",
    "errors",
    "http",
    "logging",
    "metrics",
    "node-version",
    "partner-api",
    "resources",
    "services",
    "vault",
    "version",
    "website",
    "within",
  ],
  web: ["config", "environment", "process"],
  worker: ["config", "environment", "errors", "process"],
};

/** Type imports only: types that a folder may use of another without needing it at run time. */
const mayImportTypes: Record<string, readonly string[]> = {
  "your-service": ["resources", "customer"],
  operator: ["services", "config", "settings"],
  http: ["logging", "secret"],
  logging: ["config"],
  "operator-pages": ["services"],
  commands: ["resources", "settings"],
  website: ["logging", "services"],
};

interface Import {
  from: string;
  to: string;
  isType: boolean;
  isDynamic: boolean;
}

const files = sourceFiles(path.join(root, "src"));
const imports = files.flatMap(importsOf);

describe("the imports between folders", () => {
  it("follow the table of allowed imports", () => {
    const strange = imports
      .map(({ from, to, isType }) => ({ from: roomOf(from), to: roomOf(to), isType, file: from }))
      .filter(({ from, to }) => from !== to)
      .filter(({ from, to }) => !mayImport[from]?.includes(to))
      .filter(({ from, to, isType }) => !(isType && mayImportTypes[from]?.includes(to)));
    expect(strange).toEqual([]);
  });

  it("have no row in the table for a folder that does not exist", () => {
    const rooms = new Set(files.map((file) => roomOf(file)));
    expect(Object.keys(mayImport).filter((room) => !rooms.has(room))).toEqual([]);
  });

  it("leave src only for packages, and the sandbox imports nothing of src", () => {
    expect(imports.filter(({ to }) => !to.startsWith("src/"))).toEqual([]);
    const inSandbox = sourceFiles(path.join(root, "packages/sandbox")).flatMap(importsOf);
    expect(inSandbox.filter(({ to }) => to.startsWith("src/"))).toEqual([]);
  });

  it.each(["src", "packages"])(
    "has no files in %s that import each other in a circle, not even for types",
    (folder) => {
      let arrows = sourceFiles(path.join(root, folder)).flatMap(importsOf);
      // An arrow from a file that nothing points at, or to one that points at nothing, is in no circle.
      for (let before = -1; before !== arrows.length;) {
        before = arrows.length;
        const [sources, targets] = [
          new Set(arrows.map(({ from }) => from)),
          new Set(arrows.map(({ to }) => to)),
        ];
        arrows = arrows.filter(({ from, to }) => targets.has(from) && sources.has(to));
      }
      expect(arrows.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
    },
  );

  it("keep the conformance checker separate: it imports only packages/sandbox/index.ts, and nothing imports it", () => {
    const sources = sourceFiles(path.join(root, "packages/conformance")).filter(
      (file) => !file.includes("/test/"),
    );
    const inChecker = sources.flatMap(importsOf);
    const outward = inChecker.map(({ to }) => to).filter((to) => !to.startsWith("packages/conformance/"));
    expect([...new Set(outward)]).toEqual(["packages/sandbox/index.ts"]);
    const others = ["src", "packages/sandbox"].flatMap((folder) =>
      sourceFiles(path.join(root, folder)).flatMap(importsOf),
    );
    expect(others.filter(({ to }) => to.startsWith("packages/conformance/"))).toEqual([]);
  });

  it("of the conformance example are of Node alone", () => {
    const example = sourceFiles(path.join(root, "packages/conformance/examples"));
    expect(
      example.flatMap(importsOf).filter(({ to }) => !to.startsWith("packages/conformance/examples/")),
    ).toEqual([]);
    const packages = example
      .flatMap((file) => [...read(file).matchAll(/from "([^."][^"]*)"/g)])
      .map(([, name]) => name!);
    expect(packages.filter((name) => !name.startsWith("node:"))).toEqual([]);
  });

  it("use each library in one place", () => {
    // The libraries of your service are your choice.
    const ours = files.filter((file) => roomOf(file) !== "your-service");
    const users = (name: string) => ours.filter((file) => read(file).includes(`from "${name}`));
    expect(users("node-cron")).toEqual(["src/jobs/run.ts"]);
    expect(users("libsodium-wrappers").every((file) => file.startsWith("src/vault/"))).toBe(true);
    expect(users("pg").every((file) => file.startsWith("src/database/"))).toBe(true);
    expect(users("zod").every((file) => file.startsWith("src/manifest/"))).toBe(true);
  });

  it("load the manifest's schema only dynamically outside src/manifest", () => {
    const others = files.filter((file) => roomOf(file) !== "manifest");
    const atStart = /^(?:import|export)\s+(?!type\s)[^;]*?from\s+"[^"]*\/manifest\//m;
    expect(others.filter((file) => atStart.test(read(file)))).toEqual([]);
  });

  it("keep the web out of commands and workers: neither loads Express or src/pages", () => {
    // Commands import some of their parts only when they need them.
    const ofCommands = files.filter((file) => ["kit", "commands", "operator"].includes(roomOf(file)));
    for (const start of ["src/services.ts", "src/worker.ts", "src/process/start-up.ts", ...ofCommands]) {
      const loaded = loadedBy(start);
      if (start === "src/worker.ts") expect(loaded).toContain("src/work/runner.ts");
      const web = loaded.filter((file) => /^import (?!type )[^;]*from "express"/m.test(read(file)));
      expect([...web, ...loaded.filter((file) => /^src\/(pages|website)/.test(file))]).toEqual([]);
    }
  });

  it("keep pages out of a web process that has none", () => {
    const loaded = loadedBy("src/process/run-web.ts");
    expect(loaded).toContain("src/website.ts");
    const optional = /^src\/(operator-pages\/|sign-in\/sign-in|customer\/customers)/;
    expect(loaded.filter((file) => optional.test(file))).toEqual([]);
  });

  it("leave process.env to one file", () => {
    expect(files.filter((file) => read(file).includes("process.env"))).toEqual(["src/environment.ts"]);
  });

  it("of the kit's tests do not include src/your-service", () => {
    const tests = sourceFiles(path.join(root, "test")).filter(
      (file) => !file.startsWith("test/your-service/"),
    );
    const users = tests.filter((file) =>
      importsOf(file).some(({ to }) => to.startsWith("src/your-service/")),
    );
    // The one lets a fork's own tests use its service; the other reads the fork's files, whatever they contain.
    expect(users.sort()).toEqual(["test/docs/deploy-files.test.ts", "test/support/sellers.ts"]);
  });

  it("lead to no folder for miscellaneous code", () => {
    const drawers = /(^|\/)(utils?|helpers?|lib|common|core|managers?|misc)(\/|\.ts$)/;
    const ours = [...files, ...sourceFiles(path.join(root, "packages/sandbox"))];
    // The file names of your service are your choice too.
    expect(ours.filter((file) => roomOf(file) !== "your-service" && drawers.test(file))).toEqual([]);
  });
});

/** The files that are loaded with this one: it, what it imports for more than types, and what these import. */
function loadedBy(start: string): string[] {
  const loaded = new Set([start]);
  for (const file of loaded)
    for (const { to, isType, isDynamic } of importsOf(file)) if (!isType && !isDynamic) loaded.add(to);
  return [...loaded];
}

/** The folder of a file below src/, or its own name. The command line is a room inside `operator`. */
function roomOf(file: string): string {
  if (file.startsWith("src/operator/commands/")) return "commands";
  const [, first = ""] = file.split("/");
  return first.replace(/\.tsx?$/, "");
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith("database/client/"))
    .map((name) => path.relative(root, path.join(folder, name)));
}

function read(file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}

function importsOf(file: string): Import[] {
  const found = read(file).matchAll(
    /^(?:import|export)\s+(type\s)?[^;]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)/gm,
  );
  return [...found].map(([, type, fixed, dynamic]) => ({
    from: file,
    to: path.join(path.dirname(file), (fixed ?? dynamic)!),
    isType: type !== undefined,
    isDynamic: fixed === undefined,
  }));
}
