/** One setting: its name in the environment, what it means, and how its text becomes a value. */
export interface Setting<Value> {
  name: string;
  about: string;
  /** The text that counts when the variable is absent or empty; without one the setting is required. */
  standard?: string;
  /** Throws with the end of the sentence "NAME …": what is wrong and how to mend it, never the value. */
  read(text: string, insecure: boolean): Value;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** What a table of settings becomes once it is read. */
export type ValuesOf<Table extends Settings> = {
  readonly [Key in keyof Table]: ReturnType<Table[Key]["read"]>;
};

/**
 * Makes a row of a table of settings. `src/setting-kinds.ts` has a `read` for most kinds. Required without `standard`.
 */
export function setting<Value>(
  name: string,
  about: string,
  read: Setting<Value>["read"],
  standard?: string,
): Setting<Value> {
  return standard === undefined ? { name, about, read } : { name, about, read, standard };
}
