import { describe, expect, it } from "@jest/globals";
import { checkManifestText } from "../../src/manifest/check.ts";

describe("a manifest that is not valid JSON", () => {
  it.each([
    ["nothing", "", "1:1", "nothing in it"],
    ["a comma too many", '{\n  "name": "x",\n}', "3:1", "comma too many before it"],
    ["a comma too many in a list", '{ "keywords": ["a", ] }', "1:21", "comma too many before it"],
    ["a missing comma", '{\n  "name": "x"\n  "env": {}\n}', "3:3", "comma is missing before this"],
    ["a missing colon", '{ "name" "x" }', "1:10", "colon is missing"],
    ["a missing value", '{ "name": , "env": {} }', "1:11", "value is missing here"],
    ["a missing end", '{\n  "env": {\n', "3:1", "before a { is closed"],
    ["a second document", '{}\n{"name": "x"}', "2:1", "goes on after the end"],
    ["single quotes", "{ 'name': 'x' }", "1:3", "double quotes"],
    ["a value without quotes", '{ "name": True }', "1:11", "double quotes"],
    ["a comment", '{\r\n  // my app\r\n  "name": "x"\r\n}', "2:3", "no comments"],
    ["a string over two lines", '{ "name": "a\nb" }', "1:11", "not closed on its line"],
    ["an escape there is none of", '{ "name": "C:\\dir" }', "1:11", "no such escape"],
    ["a tab in a string", '{ "name": "a\tb" }', "1:11", "\\t"],
    ["a number without digits", '{ "formation": { "web": { "quantity": 1. } } }', "1:39", "no number"],
  ])("is reported with place and reason: %s", (_, text, where, why) => {
    const { ok, faults } = checkManifestText(text);
    const [line, column] = where.split(":").map(Number);
    expect(ok).toBe(false);
    expect(faults).toEqual([
      {
        pointer: "",
        severity: "error",
        message: expect.stringContaining(why),
        place: { line, column },
      },
    ]);
    expect(faults[0]!.message).toContain(`line ${line}, column ${column}: `);
  });

  it.each([
    ["bytes of another encoding", Buffer.from('{ "name": "caf\u00e9" }', "latin1")],
    ["UTF-16", Buffer.from('\ufeff{ "name": "x" }', "utf16le")],
  ])("must be UTF-8, unlike %s", (_, bytes) => {
    expect(checkManifestText(bytes)).toEqual({
      ok: false,
      faults: [{ pointer: "", severity: "error", message: expect.stringContaining("UTF-8") }],
    });
  });

  it("is not quoted in the message", () => {
    expect(JSON.stringify(checkManifestText('{ "env": { "KEY": s3cret } }').faults)).not.toContain("s3cret");
  });
});

describe("the text of a manifest", () => {
  it("gives every fault its position, in the order of the text", () => {
    const text =
      '{\n  "env": {\n    "A": 1\n  },\n  "nmae": "x",\n  "addons": ["a",\n    5, {}],\n  "name": null\n}';
    const { faults } = checkManifestText(text);
    expect(faults.map(({ place, pointer }) => `${place?.line}:${place?.column} ${pointer}`)).toEqual([
      "3:5 /env/A",
      "5:3 /nmae",
      "6:14 /addons/0",
      "7:5 /addons/1",
      "7:8 /addons/2/plan",
      "8:3 /name",
    ]);
  });

  it("causes a warning for duplicate keys, and the last one counts", () => {
    const text = '{ "env": { "A": 1, "A": "x" }, "name": "x", "addons": [], "name": 5 }';
    const { faults } = checkManifestText(text);
    expect(faults.map(({ pointer, severity, place }) => [pointer, severity, place?.column])).toEqual([
      ["/env/A", "warning", 20],
      ["/name", "warning", 59],
      ["/name", "error", 59],
    ]);
  });

  it("may begin with a byte order mark, with a warning, which counts as no column", () => {
    const { ok, faults } = checkManifestText(Buffer.from('\ufeff{ "nmae": "x" }'));
    expect(ok).toBe(true);
    expect(faults).toMatchObject([
      { pointer: "", severity: "warning", message: expect.stringContaining("byte order mark") },
      { pointer: "/nmae", place: { line: 1, column: 3 } },
    ]);
  });

  it("causes at most 1,000 errors", () => {
    const variables = Array.from({ length: 3000 }, (_, index) => `"V${index}": 1`);
    const { ok, faults } = checkManifestText(`{ "env": { ${variables.join()} } }`);
    expect(ok).toBe(false);
    expect(faults).toHaveLength(1000);
  });
});

it.each(["[".repeat(400_000), "[".repeat(200_000) + "]".repeat(200_000)])(
  "a text that is nested too deep is refused",
  (text) => {
    expect(checkManifestText(text)).toMatchObject({
      ok: false,
      faults: [{ message: expect.stringContaining("deeper") }],
    });
  },
);
