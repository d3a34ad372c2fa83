import { readFileSync } from "node:fs";
import ts from "typescript";

/**
 * The titles of a test file: the first argument of each `describe`, `it` and `test`, and with `.each` also the strings
 * of its table, which become part of the title. Titles that are only quoted elsewhere do not count.
 */
export function testTitles(path: string): string[] {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) titles.push(...titlesOf(node, file));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return titles;
}

/**
 * Whether a call is `describe`, `it`, `test`, or one with a suffix such as `it.only` or
 * `it.each(table)`; `skip` and `todo` are excluded, because they never run.
 */
function isTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return ["describe", "it", "test"].includes(callee.text);
  if (ts.isPropertyAccessExpression(callee) && ["skip", "todo"].includes(callee.name.text)) return false;
  return (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) && isTest(callee.expression);
}

function titlesOf({ expression, arguments: [first] }: ts.CallExpression, file: ts.SourceFile): string[] {
  if (!first || !ts.isStringLiteralLike(first)) return [];
  const table = ts.isCallExpression(expression) ? arrayOf(expression.arguments[0], file) : undefined;
  return [first.text, ...(table?.elements.flatMap((row) => textsOf(row)) ?? [])];
}

/** The array of a table, which is written in the call itself or in a constant of the file. */
function arrayOf(
  table: ts.Expression | undefined,
  file: ts.SourceFile,
): ts.ArrayLiteralExpression | undefined {
  if (table && ts.isArrayLiteralExpression(table)) return table;
  if (!table || !ts.isIdentifier(table)) return undefined;
  let found: ts.ArrayLiteralExpression | undefined;
  const visit = (node: ts.Node): void => {
    const isTable = ts.isVariableDeclaration(node) && node.name.getText(file) === table.text;
    if (isTable && node.initializer && ts.isArrayLiteralExpression(node.initializer))
      found = node.initializer;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** The leading strings of a row, joined: `["GET", "/apps"]` occurs in the title as "GET /apps". */
function textsOf(row: ts.Expression): string[] {
  const cells = ts.isArrayLiteralExpression(row) ? [...row.elements] : [row];
  const end = cells.findIndex((cell) => !ts.isStringLiteralLike(cell));
  const texts = (end < 0 ? cells : cells.slice(0, end)).map((cell) => (cell as ts.StringLiteralLike).text);
  return texts.length > 0 ? [texts.join(" ")] : [];
}
