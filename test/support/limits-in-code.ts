import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** A time, a size or a number that bounds something, as it stands in a source file of src/. */
export interface Limit {
  file: string;
  name: string;
  /** In ms, bytes or pieces; several where tries follow each other. */
  values: number[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Names that say how long, how many at once or how often; each with what one of it is in ms, bytes or pieces. */
const NAMES: readonly [RegExp, number][] = [
  [/(Seconds|_SECONDS|^seconds)$/, 1_000],
  [/(Ms|_MS|Millis|[tT]imeout|Interval)$/, 1],
  [
    /^(MOST|FAILURES)_.*(BYTES|CALLS|COOKIES|FORCED|GRANTS|IN_TROUBLE|PAGES|ROUNDS|TO_OPEN|TRIES|WAITING|WAITS)$/,
    1,
  ],
  [
    /^(concurrency|CONCURRENCY|seats|SOCKETS_\w+|EMBEDDED_CONNECTIONS|max(Bytes|Sockets|Rows|Queued|Flushes))$/,
    1,
  ],
];
const UNITS: Record<string, number> = { second: 1_000, minute: 60_000, hour: 3_600_000 };

/** Rooms whose limits are about texts on a screen or in a file, and stand where they are needed. */
const ELSEWHERE = /^src\/(manifest|kit|pages|your-service|database\/client)\//;

/** Every limit that src/ names, in constants, settings of libraries, defaults of parameters, and intervals of SQL. */
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
    // Zero is where a variable begins.
    if (values && values.some((value) => value > 0)) note(nameOf(node, named.name), values);
    ts.forEachChild(node, visit);
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  for (const [interval, count, unit] of text.matchAll(/interval '(\d+) (second|minute|hour)s?'/g))
    note(interval, [Number(count) * UNITS[unit!]!]);
  return [...found.values()];
}

/** `name = value` in one of its forms: a constant, a member, a default, an assignment. */
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

/** The tries of a back-off are known by the back-off's name. */
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
