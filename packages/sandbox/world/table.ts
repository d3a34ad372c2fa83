/** Rows found by key, by name, or by their owner; never by a scan. Keys and groups do not change. */
export interface Table<Row> {
  add(row: Row): Row;
  get(key: string): Row | undefined;
  /** By key, in upper or lower case (RFC 9562), or by name, as the path variables of the API allow. */
  find(keyOrName: string): Row | undefined;
  /** The rows that belong to `owner` in one of the groups given at creation. */
  of(group: string, owner: string): Row[];
  count(group: string, owner: string): number;
  remove(row: Row): void;
  /** Lets `change` rename a row, so that it is found by its new name from then on. */
  rename(row: Row, change: () => void): void;
  all(): Row[];
  clear(): void;
}

interface Keys<Row> {
  key: (row: Row) => string;
  name?: (row: Row) => string;
  groups?: Record<string, (row: Row) => string | null>;
}

export function createTable<Row>({ key, name, groups = {} }: Keys<Row>): Table<Row> {
  const byKey = new Map<string, Row>();
  const byName = new Map<string, Row>();
  const byOwner = new Map<string, Map<string, Set<Row>>>(
    Object.keys(groups).map((group) => [group, new Map()]),
  );

  const setsOf = (row: Row) =>
    Object.entries(groups).flatMap(([group, ownerOf]) => {
      const owner = ownerOf(row);
      return owner === null ? [] : [{ owners: byOwner.get(group)!, owner }];
    });

  return {
    add(row) {
      byKey.set(key(row), row);
      if (name) byName.set(name(row), row);
      for (const { owners, owner } of setsOf(row)) {
        const rows = owners.get(owner);
        if (rows) rows.add(row);
        else owners.set(owner, new Set([row]));
      }
      return row;
    },
    get: (wanted) => byKey.get(wanted),
    find: (wanted) => byKey.get(wanted.toLowerCase()) ?? byName.get(wanted),
    of: (group, owner) => [...(byOwner.get(group)?.get(owner) ?? [])],
    count: (group, owner) => byOwner.get(group)?.get(owner)?.size ?? 0,
    remove(row) {
      byKey.delete(key(row));
      if (name) byName.delete(name(row));
      for (const { owners, owner } of setsOf(row)) {
        const rows = owners.get(owner);
        rows?.delete(row);
        if (rows?.size === 0) owners.delete(owner);
      }
    },
    rename(row, change) {
      if (name) byName.delete(name(row));
      change();
      if (name) byName.set(name(row), row);
    },
    all: () => [...byKey.values()],
    clear() {
      byKey.clear();
      byName.clear();
      for (const owners of byOwner.values()) owners.clear();
    },
  };
}
