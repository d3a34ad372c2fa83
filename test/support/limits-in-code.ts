import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** A time, a size or a number that limits something, as written in a source file of src/. */
export interface Limit {
  file: string;
  name: string;
  /** In ms, bytes, characters or pieces; several for the steps of a backoff. */
  values: number[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Names of limits, each with the factor that converts its unit to ms, bytes, characters or pieces. */
const NAMES: readonly [RegExp, number][] = [
  [/(Seconds|_SECONDS|^seconds)$/, 1_000],
  [/(Ms|_MS|Millis|[tT]imeout|Interval)$/, 1],
  [
    /^(MOST|FAILURES)_.*(ADDRESSES|AT_ONCE|CONNECTIONS|IN_ALL|STEPS|BYTES|CALLS|HELD_CHARACTERS|COOKIES|FORCED|GRANTS|IN_TROUBLE|PAGES|REFUSALS|ROUNDS|TO_OPEN|TRIES|WAITING|WAITS)$/,
    1,
  ],
  [
    /^(concurrency|CONCURRENCY|enough|MANY|seats|SOCKETS_\w+|max(Bytes|Connections|Sockets|Rows|Queued|Flushes))$/,
    1,
  ],
];
const UNITS: Record<string, number> = { second: 1_000, minute: 60_000, hour: 3_600_000 };

/** Folders whose limits concern texts on a screen or in a file, and are not documented together. */
const ELSEWHERE = /^src\/(manifest|operator\/commands|pages|your-service|database\/client)\//;

/** Every limit in src/: in constants, settings of libraries, defaults of parameters, and SQL intervals. */
export function limitsInCode(): Limit[] {
  return readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((name) => `src/${name}`)
    .filter((file) => /\.tsx?$/.test(file) && !ELSEWHERE.test(file))
    .sort()
    .flatMap(limitsOf);
}

function limitsOf(file: string): Limit[] {
  const text = readFileSync(path.join(root, file), "utf8");
  const found = new Map<string, Limit>();
  const note = (name: string, values: number[]) =>
    found.set(`${name} ${values.join()}`, { file, name, values });

  function visit(node: ts.Node): void {
    const named = namedValue(node);
    const unit = NAMES.find(([pattern]) => named && pattern.test(named.name))?.[1];
    const values = named && unit && numbersOf(named.value)?.map((value) => value * unit);
    // Zero is an initial value and no limit.
    if (values && values.some((value) => value > 0)) note(nameOf(node, named.name), values);
    ts.forEachChild(node, visit);
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  for (const [interval, count, unit] of text.matchAll(/interval '(\d+) (second|minute|hour)s?'/g))
    note(interval, [Number(count) * UNITS[unit!]!]);
  return [...found.values()];
}

/** `name = value` in one of its forms: a constant, a property, a default, an assignment. */
function namedValue(node: ts.Node): { name: string; value: ts.Expression } | null {
  if (
    ts.isVariableDeclaration(node) ||
    ts.isBindingElement(node) ||
    ts.isParameter(node) ||
    ts.isPropertyAssignment(node)
  )
    return node.initializer ? { name: node.name.getText(), value: node.initializer } : null;
  if (
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isPropertyAccessExpression(node.left)
  )
    return { name: node.left.name.text, value: node.right };
  return null;
}

/** The steps of a backoff are named after the variable that holds it. */
function nameOf(node: ts.Node, name: string): string {
  const around = node.parent.parent;
  return name === "seconds" && ts.isVariableDeclaration(around) ? around.name.getText() : name;
}

function numbersOf(value: ts.Expression): number[] | null {
  if (ts.isArrayLiteralExpression(value)) {
    const all = value.elements.map(numbersOf);
    return all.length > 0 && all.every((each) => each !== null) ? all.flat() : null;
  }
  if (ts.isNumericLiteral(value)) return [Number(value.text)];
  if (ts.isBinaryExpression(value) && value.operatorToken.kind === ts.SyntaxKind.AsteriskToken) {
    const [left, right] = [numbersOf(value.left), numbersOf(value.right)];
    return left && right ? [left[0]! * right[0]!] : null;
  }
  return null;
}
