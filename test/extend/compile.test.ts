import path from "node:path";
import ts from "typescript";

// The compiler finds each mistake of mistakes.ts, in the very line, once the comment above it is gone. The type check of
// this repository compiles the same file with the comments, and so holds them to the types.

const FILE = path.resolve("test/extend/mistakes.ts");
const EXPECTS = /^( *)\/\/ @ts-expect-error: .*$/gm;

it("what a vendor mistypes does not compile: a plan, a region, a config var, a metric, a label, an action", () => {
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    ts.readConfigFile("tsconfig.json", ts.sys.readFile).config,
    ts.sys,
    process.cwd(),
  );
  // `npm run types` compiles it.
  expect(fileNames.map((file) => path.resolve(file))).toContain(FILE);

  const text = ts.sys.readFile(FILE)!;
  options.incremental = false;
  delete options.tsBuildInfoFile;
  const host = ts.createCompilerHost(options);
  const { readFile } = host;
  host.readFile = (file) => (path.resolve(file) === FILE ? text.replace(EXPECTS, "$1//") : readFile(file));
  const program = ts.createProgram([FILE], options, host);
  const source = program.getSourceFile(FILE)!;
  const found = program
    .getSemanticDiagnostics(source)
    .map(({ start }) => source.getLineAndCharacterOfPosition(start!).line);
  const expected = [...text.matchAll(EXPECTS)].map(({ index }) => text.slice(0, index).split("\n").length);
  expect(expected.length).toBeGreaterThan(20);
  expect([...new Set(found)].sort((one, other) => one - other)).toEqual(expected);
});
