/** One SQL statement with a name of its own, under which PostgreSQL parses it once per connection. */
export type Statement = { readonly name: string; readonly text: string };

/** Whatever can run a statement: the database, or a transaction on it. */
export type Queryable = {
  /**
   * Runs one statement and gives its rows. Arrays become PostgreSQL arrays (for `unnest`), also of `Buffer`, `Date` and
   * null. `bigint` columns come back as numbers, `timestamptz` as `Date`, `bytea` as `Buffer`.
   *
   * @throws pg.DatabaseError or the driver's own errors; `isTransient` tells which are worth another try.
   */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
};

/** For statements with RETURNING that are fenced or compare before they set: tells whether one took effect. */
export function createApplies({ query }: Queryable) {
  return async (statement: Statement, values?: readonly unknown[]): Promise<boolean> =>
    (await query(statement, values)).length > 0;
}

/** Names a statement. PostgreSQL's logs and statistics show the name, so it should say what the statement is for. */
export function statement(name: string, text: string): Statement {
  return { name, text };
}
