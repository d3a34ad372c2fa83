// SQL statements with named parameters, and row types derived from the models of the schema.

/** An SQL statement with a unique name, by which PostgreSQL parses it once for each connection. */
export interface Statement<Values extends object = object, Row = unknown> {
  readonly name: string;
  /** The SQL with `$1`, `$2`, … in place of the names. */
  readonly text: string;
  /** The values in the order of the text's parameters. */
  bind(...values: ValuesOf<Values>): unknown[];
  /** Carries the type of the returned rows; never set. */
  readonly row?: Row;
}

/** The database, or a transaction on it. */
export interface Queryable {
  /**
   * Arrays become PostgreSQL arrays (for `unnest`). `bigint` columns come back as numbers.
   *
   * @throws pg.DatabaseError or the driver's own errors; `isTransient` says whether a retry may succeed
   */
  query<Row, Values extends object = readonly unknown[]>(
    statement: Statement<Values, Row>,
    ...values: ValuesOf<Values>
  ): Promise<Row[]>;
}

/** The arguments of a call with a statement: none if the statement has no parameters. */
export type ValuesOf<Values> = Values extends readonly unknown[]
  ? [values?: Values]
  : keyof Values extends never
    ? []
    : [values: Values];

/** A statement whose SQL already has `$1`, `$2`, …; its values are an array. */
export function positional<Row = never>(name: string, text: string): Statement<readonly unknown[], Row> {
  return { name, text, bind: (values = []) => [...values] };
}

/** The first row that a statement returns; `null` if there is none. */
export async function oneRow<Values extends object, Row>(
  db: Queryable,
  statement: Statement<Values, Row>,
  ...values: ValuesOf<Values>
): Promise<Row | null> {
  return (await db.query(statement, ...values))[0] ?? null;
}

/** Whether a statement returns a row; with `RETURNING`, whether it has changed one. */
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

/** The names of the parameters in a text: a word after a colon, except a cast. */
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

/** The text of a statement, if its names and the members of its values are the same. */
export type Checked<Text extends string, Values> =
  Exclude<keyof Values, NamesIn<Text>> extends never
    ? Exclude<NamesIn<Text>, keyof Values> extends never
      ? Text
      : { thisNameHasNoValue: Exclude<NamesIn<Text>, keyof Values> }
    : { thisValueIsNotInTheText: Exclude<keyof Values, NamesIn<Text>> };

/**
 * Defines a statement with named parameters: `:uuid` is the value `uuid`. `Values` is the type of its values, `Row` that of
 * the returned rows. A name without a value, or a value without a name, does not compile. The compiler sees a name only in
 * the text itself or in a constant `as const`. Write a cast as `:uuid::uuid`.
 *
 * A batch has the value `rows`. In the text, `:rows AS i` is a table of the rows with the alias `i`. `columns` are the
 * PostgreSQL types of its columns, by the members of the rows (`requestId` becomes `request_id`). A member without a column
 * does not compile.
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
        return `unnest(${arrays.join(", ")}) AS ${alias}(${namesOf(columns ?? {})})`;
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

/** The names of columns, as a list in SQL. */
export function namesOf(columns: object): string {
  return Object.keys(columns).map(snakeCase).join(", ");
}

/** The column of a member: the member's name in snake case, as everywhere in the schema. */
export function snakeCase(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A row as the driver returns it. Prisma's types for `bytea` and `bigint` differ. */
export type Stored<Model> = {
  [Member in keyof Model]: Model[Member] extends bigint
    ? number
    : Uint8Array<ArrayBuffer> extends Model[Member]
      ? Buffer | Exclude<Model[Member], Uint8Array>
      : Model[Member];
};

/** A model with narrower types for some members than the schema can express. */
export type Typed<Model, Narrower> = Omit<Model, keyof Narrower> & Narrower;

/** A select list: some columns of a table alias, named as the members of the model. */
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
