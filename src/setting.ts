/** One setting: its name in the environment, what it means, and how its text becomes a value. */
export interface Setting<Value> {
  name: string;
  about: string;
  /** The text that counts when the variable is absent; without one the setting is required. */
  standard?: string;
  /** Throws with the end of the sentence "NAME …": what is wrong and how to mend it, never the value. */
  read(text: string, insecure: boolean): Value;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** What a table of settings becomes once it is read. */
export type ValuesOf<Table extends Settings> = {
  readonly [Key in keyof Table]: ReturnType<Table[Key]["read"]>;
};

/** A row of such a table; how a text is read, `src/setting-kinds.ts` has for most. Without `standard` it is required. */
export function setting<Value>(
  name: string,
  about: string,
  read: Setting<Value>["read"],
  standard?: string,
): Setting<Value> {
  return standard === undefined ? { name, about, read } : { name, about, read, standard };
}
