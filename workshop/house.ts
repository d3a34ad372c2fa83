import { readdirSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { layerOf } from "../test/support/layers.ts";
import { startTestServer } from "../test/support/test-server.ts";
import { aWorld } from "../test/support/world.ts";

// The size and the shape of src/, in numbers: npx tsx workshop/house.ts

const root = fileURLToPath(new URL("..", import.meta.url));
const GENERATED = "src/database/client/";
const CORE = /^src\/(partner-api|resources|work|credentials|your-service)\//;
const SQL = /[`"]\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH \w+ AS)\s/;

const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
  .map((name) => `src/${name}`)
  .filter((name) => /\.tsx?$/.test(name) && !name.startsWith(GENERATED));
const sources = new Map(files.map((file) => [file, parse(file)]));
const importsOf = new Map(files.map((file) => [file, imports(file).filter((to) => sources.has(to))]));
const lines = (file: string) => sources.get(file)!.text.split("\n").length - 1;
const sum = (some: readonly string[]) => some.reduce((all, file) => all + lines(file), 0);
const core = files.filter((file) => CORE.test(file));
const lengths = files
  .flatMap((file) => functionLengths(sources.get(file)!))
  .sort((one, other) => one - other);

const rows: [string, number | string, number | string][] = [
  ["lines of src/", sum(files), "reported, no target"],
  ["files of src/", files.length, "reported, no target"],
  ["lines of partner-api, resources, work, credentials, your-service", sum(core), "reported, no target"],
  ["files with SQL", files.filter((file) => SQL.test(sources.get(file)!.text)).length, 13],
  ["longest import chain", Math.max(...files.map((file) => chainFrom(file))), 13],
  ["files entered by a provision until its tokens are stored", await filesEntered(), 36],
  ["factories without state", files.flatMap(statelessFactories).length, 0],
  ["uses of any", files.flatMap(anys).length, 0],
  ["files over 300 lines", files.filter((file) => lines(file) > 300).length, 0],
  ["lines of a function, 90 in 100", lengths[Math.floor(lengths.length * 0.9)]!, 30],
  ["spreads of an inline literal", files.flatMap(packed).length, 0],
  ["imports from a layer above", files.flatMap(upward).length, 0],
  ["lines of work/", sum(files.filter((file) => file.startsWith("src/work/"))), 550],
  ["statements with positional parameters", files.flatMap(positionals).length, 0],
];
for (const [what, is, wanted] of rows)
  console.log(
    `${what.padEnd(64)}${String(is).padStart(7)}   ${typeof wanted === "number" ? `at most ${wanted}` : wanted}`,
  );
process.exit(0);

function parse(file: string): ts.SourceFile {
  const text = readFileSync(path.join(root, file), "utf8");
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

/** The files that a file imports: its types too, but not what it loads only when that is needed. */
function imports(file: string): string[] {
  const found = [...sources.get(file)!.text.matchAll(/^(?:import|export) [^;]*?from "(\.[^"]+)"/gm)];
  return found.map(([, to]) => path.posix.join(path.posix.dirname(file), to!));
}

/** How many files there are on the longest way along imports that begins with a file. No circles: a test holds that. */
function chainFrom(file: string, known = new Map<string, number>()): number {
  const cached = known.get(file);
  if (cached !== undefined) return cached;
  const longest = 1 + Math.max(0, ...importsOf.get(file)!.map((to) => chainFrom(to, known)));
  known.set(file, longest);
  return longest;
}

function all<Node extends ts.Node>(within: ts.Node, is: (node: ts.Node) => node is Node): Node[] {
  const found: Node[] = is(within) ? [within] : [];
  ts.forEachChild(within, (child) => void found.push(...all(child, is)));
  return found;
}

function functionLengths(source: ts.SourceFile): number[] {
  const lineOf = (at: number) => source.getLineAndCharacterOfPosition(at).line;
  return all(source, ts.isFunctionLike)
    .filter((node) => "body" in node && node.body)
    .map((node) => lineOf(node.end) - lineOf(node.getStart()) + 1);
}

/** Functions `createX` that return at once, and keep nothing between the calls of what they return. */
function statelessFactories(file: string): string[] {
  return all(sources.get(file)!, ts.isFunctionDeclaration)
    .filter((node) => /^create[A-Z]/.test(node.name?.text ?? ""))
    .filter((node) => !node.type?.getText().startsWith("Promise<"))
    .filter(
      (node) =>
        !/\blet \w|new (Map|Set|WeakMap|WeakSet)\b|(?:=|return) create[A-Z]\w*[(<]|createServer\(|groupCommit|Pool\(|= \[\]|express\(|pino\(|sharedFor\(|new KitCommand/.test(
          node.getText(),
        ),
    )
    .map((node) => node.name!.text);
}

function anys(file: string): ts.Node[] {
  const isAny = (node: ts.Node): node is ts.Node => node.kind === ts.SyntaxKind.AnyKeyword;
  return all(sources.get(file)!, isAny);
}

/** `...{ a, b }` and `...[a, b]`: members written as a spread, so that they share a line. */
function packed(file: string): ts.Node[] {
  const isSpread = (node: ts.Node): node is ts.SpreadElement | ts.SpreadAssignment =>
    ts.isSpreadElement(node) || ts.isSpreadAssignment(node);
  return all(sources.get(file)!, isSpread).filter(({ expression }) => {
    const inner = unwrapped(expression);
    return ts.isObjectLiteralExpression(inner) || ts.isArrayLiteralExpression(inner);
  });
}

function unwrapped(node: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(node) || ts.isAsExpression(node) ? unwrapped(node.expression) : node;
}

/** The files above its own layer that a file imports at run time. */
function upward(file: string): string[] {
  return runTimeImports(file).filter((to) => layerOf(to) > layerOf(file));
}

function runTimeImports(file: string): string[] {
  const found = [
    ...sources
      .get(file)!
      .text.matchAll(/^(?:import|export) (?!type )[^;]*?from "(\.[^"]+)"|import\("(\.[^"]+)"\)/gm),
  ];
  return found.map(([, fixed, dynamic]) => path.posix.join(path.posix.dirname(file), (fixed ?? dynamic)!));
}

/** Calls of `positional`, but for that through which a vendor's own SQL passes. */
function positionals(file: string): ts.Node[] {
  if (file === "src/extend/kit.ts") return [];
  return all(sources.get(file)!, ts.isCallExpression).filter(
    ({ expression }) => expression.getText() === "positional",
  );
}

/** Files of which a function was called between the request of a provision and the storing of its tokens. */
async function filesEntered(): Promise<number> {
  const stopServer = await startTestServer();
  // Without the tick, which runs every job.
  const world = await aWorld({ environment: { SWEEP_CRON: "0 0 1 1 *" } });
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // Each job runs once at the start; taking the counts begins them anew.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await entered(session);
  const { addon } = await world.sandbox.control.install({ plan: "basic" });
  while (
    (await world.rows(`SELECT 1 FROM credentials WHERE uuid = $1 AND state = 'active'`, [addon.id]))
      .length === 0
  )
    await new Promise((resolve) => setTimeout(resolve, 20));
  const during = await entered(session);
  await world.close();
  await stopServer();
  return during.length;
}

async function entered(session: Session): Promise<string[]> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
    .filter(({ url }) => url.startsWith("file:"))
    .map(({ url }) => path.relative(root, fileURLToPath(url)))
    .filter((file) => sources.has(file));
}
