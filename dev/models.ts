// What a Prisma schema says of tables, read from its text as `prisma format` writes it: one field a line. Prisma itself
// compares a schema with a database only by an engine that must be downloaded.

export interface Column {
  name: string;
  /** As PostgreSQL shows it, with NOT NULL: `integer NOT NULL`. */
  type: string;
}

export interface Table {
  name: string;
  columns: Column[];
  /** The columns of its primary key. */
  key: string[];
}

export interface Model extends Table {
  model: string;
}

const SCALARS: Readonly<Record<string, string>> = {
  String: "text",
  Boolean: "boolean",
  Int: "integer",
  BigInt: "bigint",
  Float: "double precision",
  Decimal: "numeric(65,30)",
  DateTime: "timestamp(3) without time zone",
  Json: "jsonb",
  Bytes: "bytea",
};

/** Of native types, those that PostgreSQL shows by other words than their own in small letters. */
const NATIVE: Readonly<Record<string, string>> = {
  Char: "character()",
  VarChar: "character varying()",
  VarBit: "bit varying()",
  DoublePrecision: "double precision",
  Decimal: "numeric()",
  Timestamp: "timestamp() without time zone",
  Timestamptz: "timestamp() with time zone",
  Time: "time() without time zone",
  Timetz: "time() with time zone",
};

/** The models of a schema, with the tables that they describe. */
export function modelsOf(schema: string): Model[] {
  const text = schema.replaceAll(/^ *\/\/.*$/gm, "").replaceAll(/ \/\/ .*$/gm, "");
  const enums = new Map(
    blocksOf(text, "enum").map(({ name, body }) => [name, argumentOf(body, "@@map") ?? name]),
  );
  return blocksOf(text, "model").map(({ name: model, body }) => {
    const fields = [...body.matchAll(/^ {2}(\w+) +(\w+(?:\("[^"]*"\))?)(\?|\[\])?(?: +(.*))?$/gm)];
    const names = new Map<string, string>();
    const columns = fields.flatMap(([, field = "", type = "", many = "", attributes = ""]) => {
      const base = typeOf(type, attributes, enums);
      if (base === undefined) return [];
      const name = argumentOf(attributes, "@map") ?? field;
      names.set(field, name);
      return [{ name, type: base + ({ "?": "", "[]": "[]" }[many] ?? " NOT NULL") }];
    });
    const [, composite] = /@@id\((?:fields: )?\[([^\]]*)\]/.exec(body) ?? [];
    const single = fields.filter(([, , , , attributes = ""]) => /(^| )@id\b/.test(attributes));
    const key = composite?.split(/, */) ?? single.map(([, field]) => field!);
    return {
      model,
      name: argumentOf(body, "@@map") ?? model,
      columns,
      key: key.map((field) => names.get(field) ?? field),
    };
  });
}

const blocksOf = (text: string, kind: string) =>
  [...text.matchAll(new RegExp(`^${kind} (\\w+) \\{$([^]*?)^\\}$`, "gm"))].map(
    ([, name = "", body = ""]) => ({
      name,
      body,
    }),
  );

const argumentOf = (text: string, attribute: string) =>
  new RegExp(`(?:^|\\s)${attribute}\\((?:name: )?"([^"]*)"\\)`).exec(text)?.[1];

/** Undefined of a relation, which is no column. */
function typeOf(type: string, attributes: string, enums: Map<string, string>): string | undefined {
  const [, unsupported] = /^Unsupported\("(.*)"\)$/.exec(type) ?? [];
  const [, native, size = ""] = /@\w+\.(\w+)(\([^)]*\))?/.exec(attributes) ?? [];
  if (native === undefined) return unsupported ?? SCALARS[type] ?? enums.get(type);
  const shown = NATIVE[native] ?? `${native.toLowerCase()}()`;
  return shown.replace("()", size.replaceAll(" ", ""));
}
