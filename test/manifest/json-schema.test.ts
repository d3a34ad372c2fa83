import { readFileSync } from "node:fs";
import { manifestJsonSchema, manifestSchema } from "../../src/manifest/schema.ts";

const published = JSON.parse(
  readFileSync(new URL("../../app.schema.json", import.meta.url), "utf8"),
) as Schema;

interface Schema {
  $schema?: string;
  description?: string;
  $ref?: string;
  properties?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
  propertyNames?: Schema;
  pattern?: string;
}

describe("app.schema.json", () => {
  it("equals what dev/manifest-schema.ts generates (to update: node --import tsx dev/manifest-schema.ts)", () => {
    expect(published).toEqual(JSON.parse(JSON.stringify(manifestJsonSchema())));
  });

  it("uses a JSON Schema draft that editors support, and lists every key", () => {
    expect(published.$schema).toBe("http://json-schema.org/draft-07/schema#");
    expect(Object.keys(published.properties!)).toEqual(Object.keys(manifestSchema.shape));
  });

  it("describes every key for authors", () => {
    const places = [published, ...Object.values(published.definitions!)];
    for (const { properties = {} } of places) {
      for (const [key, property] of Object.entries(properties))
        expect([key, described(property)]).toEqual([key, expect.stringMatching(/^[A-Z"a-z].*\.$/)]);
    }
  });

  it("refuses invalid names of config vars, and no others", () => {
    const limits = Object.values(published.definitions!).flatMap(({ propertyNames }) => propertyNames ?? []);
    expect(limits).toEqual([{ type: "string", pattern: expect.any(String) }]);
    const pattern = new RegExp(limits[0]!.pattern!, "u");
    expect(["A", "A B", "1", "é"].filter((name) => !pattern.test(name))).toEqual([]);
    expect(["", "A=B", "A\0"].filter((name) => pattern.test(name))).toEqual([]);
  });

  it("allows no environments inside an environment", () => {
    expect(published.definitions!["environment"]!.properties).not.toHaveProperty("environments");
  });
});

function described({ description, $ref }: Schema): string | undefined {
  return description ?? published.definitions![$ref!.replace("#/definitions/", "")]!.description;
}
