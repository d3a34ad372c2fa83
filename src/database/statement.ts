// SQL whose parameters have names, and rows whose types are those of the schema's models.

/** One SQL statement with a name of its own, under which PostgreSQL parses it once per connection, and shows it. */
export interface Statement<Values extends object = object, Row = unknown> {
  readonly name: string;
  /** With `$1`, `$2`, … in place of the names. */
  readonly text: string;
  /** The values in the order of the text's parameters. */
  bind(...values: ValuesOf<Values>): unknown[];
  /** Of the rows that it returns; never set. */
  readonly row?: Row;
}

/** The database, or a transaction on it. */
export interface Queryable {
  /**
   * Arrays become PostgreSQL arrays (for `unnest`). `bigint` columns come back as numbers.
   *
   * @throws pg.DatabaseError or the driver's own errors; `isTransient` tells which are worth another try.
   */
  query<Row, Values extends object = readonly unknown[]>(
    statement: Statement<Values, Row>,
    ...values: ValuesOf<Values>
  ): Promise<Row[]>;
}

/** What a call gives for a statement: nothing, if it has no values. */
export type ValuesOf<Values> = Values extends readonly unknown[]
  ? [values?: Values]
  : keyof Values extends never
    ? []
    : [values: Values];

/** SQL with `$1`, `$2`, … of its own, whose values are an array. */
export function positional<Row = never>(name: string, text: string): Statement<readonly unknown[], Row> {
  return { name, text, bind: (values = []) => [...values] };
}

/** The only row of a statement, or the first; `null` if there is none. */
export async function oneRow<Values extends object, Row>(
  db: Queryable,
  statement: Statement<Values, Row>,
  ...values: ValuesOf<Values>
): Promise<Row | null> {
  return (await db.query(statement, ...values))[0] ?? null;
}

/** Whether a statement returns a row: whether it changed what it was to change. */
export async function anyRow<Values extends object, Row>(
  db: Queryable,
  statement: Statement<Values, Row>,
  ...values: ValuesOf<Values>
): Promise<boolean> {
  return (await db.query(statement, ...values)).length > 0;
}

/** The types of PostgreSQL that a column of `:rows` may have. */
export type ColumnType =
  "uuid" | "text" | "int" | "bool" | "bytea" | "float8" | "jsonb" | "timestamptz" | "text[]";

type RowsOf<Values> = Values extends { rows: readonly (infer Given)[] } ? Given : never;
type Columns<Values> = [RowsOf<Values>] extends [never]
  ? Record<string, never>
  : { readonly [Column in keyof Required<RowsOf<Values>>]: ColumnType };

/** The names in a text: what follows a colon, but for a cast. A part that is not a literal has no names of its own. */
type NamesIn<Text extends string, Found = never> = Text extends `${infer _}:${infer Rest}`
  ? Rest extends `:${infer Cast}`
    ? NamesIn<Cast, Found>
    : NamesIn<Rest, Found | NameAt<Rest>>
  : Found;
type NameAt<Text extends string, Name extends string = ""> = Text extends `${infer First}${infer Rest}`
  ? First extends Letter
    ? NameAt<Rest, `${Name}${First}`>
    : AName<Name>
  : AName<Name>;
type AName<Name extends string> = Name extends "" ? never : Name;
type Lower =
  | ("a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" | "l" | "m")
  | ("n" | "o" | "p" | "q" | "r" | "s" | "t" | "u" | "v" | "w" | "x" | "y" | "z");
type Letter = Lower | Uppercase<Lower>;

type Checked<Text extends string, Values> =
  Exclude<keyof Values, NamesIn<Text>> extends never
    ? Exclude<NamesIn<Text>, keyof Values> extends never
      ? Text
      : { thisNameHasNoValue: Exclude<NamesIn<Text>, keyof Values> }
    : { thisValueIsNotInTheText: Exclude<keyof Values, NamesIn<Text>> };

/**
 * A statement whose parameters have names: `:uuid` is the value `uuid`. `Values` are its values, `Row` is a row that it
 * returns. A name without a value, or a value that the text does not name, does not compile; a name must stand in the
 * text itself or in a constant `as const`. Write a cast as `:uuid::uuid`.
 *
 * A batch has the value `rows`, and in its text `:rows AS i`: a table of those rows with the alias `i`. `columns` are the
 * types of its columns, named as the rows' members (`requestId` is `request_id`). A member without a column does not
 * compile.
 */
export function statement<Values extends object = Record<never, never>, Row = unknown>(
  name: string,
  columns?: Columns<Values>,
) {
  return {
    sql<const Text extends string>(text: Checked<Text, Values>): Statement<Values, Row> {
      const order: string[] = [];
      const place = (value: string) => {
        if (!order.includes(value)) order.push(value);
        return `$${order.indexOf(value) + 1}`;
      };
      const members = Object.entries<string>(columns ?? {});
      const table = (alias: string) => {
        const arrays = members.map(([member, type]) => `${place(`rows.${member}`)}::${type}[]`);
        return `unnest(${arrays.join(", ")}) AS ${alias}(${members.map(([member]) => snakeCase(member)).join(", ")})`;
      };
      const positional = (text as string)
        .replace(/(?<!:):rows AS (\w+)/g, (_, alias: string) => table(alias))
        .replace(/(?<![:\w]):([a-zA-Z]+)/g, (_, value: string) => place(value));
      const reads = order.map((value) => reader(value));
      return { name, text: positional, bind: (...[values = {}]) => reads.map((read) => read(values)) };
    },
  };
}

function reader(name: string): (values: object) => unknown {
  const [value, member] = name.split(".") as [string, string?];
  if (member === undefined) return (values) => (values as Record<string, unknown>)[value];
  return (values) => (values as { rows: Record<string, unknown>[] }).rows.map((row) => row[member]);
}

/** The name of a column: that of the member in snake case, as everywhere in the schema. */
export function snakeCase(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A row of a table as the driver returns it; Prisma's own types for `bytea` and `bigint` differ. */
export type Stored<Model> = {
  [Member in keyof Model]: Model[Member] extends bigint
    ? number
    : Uint8Array<ArrayBuffer> extends Model[Member]
      ? Buffer | Exclude<Model[Member], Uint8Array>
      : Model[Member];
};

/** A model of which some members have narrower types than the schema can say. */
export type Typed<Model, Narrower> = Omit<Model, keyof Narrower> & Narrower;

/** Some columns of a table, to be selected from its alias under their members' names. */
export type ColumnList<Row> = string & { readonly row?: Row };

/** `columnsOf<Resource>()("r", "uuid", "answerStatus")` is `r.uuid, r.answer_status AS "answerStatus"`. */
export function columnsOf<Model>() {
  return <Member extends keyof Model & string>(
    alias: string,
    ...members: Member[]
  ): ColumnList<Pick<Stored<Model>, Member>> =>
    members.map((member) => selected(alias, member, snakeCase(member))).join(", ");
}

function selected(alias: string, member: string, column: string): string {
  return column === member ? `${alias}.${column}` : `${alias}.${column} AS "${member}"`;
}

export type RowOf<List> = List extends ColumnList<infer Row> ? Row : never;
