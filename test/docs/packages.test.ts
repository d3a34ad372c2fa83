import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => readFileSync(path.join(root, file), "utf8");

const ASKED_FOR =
  "express express-basic-auth @prisma/client prisma node-cron libsodium-wrappers pino-http jest supertest nock typescript-native".split(
    " ",
  );

/** The rows of the table in docs/decisions.md. */
const rows = read("docs/decisions.md")
  .split("\n")
  .flatMap((line) => {
    const [, name, , where] = /^\| `([^`]+)` +\|([^|]+)\|([^|]+)\|$/.exec(line) ?? [];
    return name ? [{ name, files: [...where!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!) }] : [];
  });

it("docs/decisions.md has a row for each package that was asked for", () => {
  expect(rows.map(({ name }) => name)).toEqual(ASKED_FOR);
});

it.each(rows.flatMap(({ name, files }) => files.map((file) => ({ name, file }))))(
  "$name does its part in $file",
  ({ name, file }) => {
    const used = file === "package.json" ? commands() : modulesOf(file).map(packageOf);
    expect(used).toContain(name);
  },
);

/** The packages whose programs the scripts of package.json run. */
function commands(): string[] {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  return [
    ...Object.values(scripts)
      .join("\n")
      .matchAll(/\bnode node_modules\/([\w.-]+)\/|--no-warnings node_modules\/([\w.-]+)\//g),
  ].map(([, one, other]) => (one ?? other)!);
}

/** What a file loads when it runs, by import, `import()` or `require.resolve()`; of a generated client, what that loads. */
function modulesOf(file: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && loads(node))
      found.push((node.moduleSpecifier as ts.StringLiteral).text);
    if (ts.isCallExpression(node) && /^(import|require\.resolve)$/.test(node.expression.getText())) {
      const [name] = node.arguments;
      if (name && ts.isStringLiteral(name)) found.push(name.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true));
  return found.flatMap((name) => {
    const isGenerated = /^\.\/client\//.test(name);
    return isGenerated ? modulesOf(path.join(path.dirname(file), name)) : [name];
  });
}

/** Unless all that it imports are types. */
function loads({ importClause }: ts.ImportDeclaration): boolean {
  if (!importClause) return true;
  if (importClause.isTypeOnly) return false;
  const { name, namedBindings } = importClause;
  if (name || !namedBindings || ts.isNamespaceImport(namedBindings)) return true;
  return namedBindings.elements.some(({ isTypeOnly }) => !isTypeOnly);
}

const packageOf = (module: string) => /^(@[^/]+\/)?[^/]+/.exec(module)![0];
