/** The name that an add-on's `as` asks for; "": the default name. */
export function attachmentName(as: string): string {
  return as.trim().toUpperCase();
}

/** The first name made of this text that is free, which then is taken. */
export function freeName(text: string, taken: Set<string>): string {
  const base = text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "_")
    .replace(/^[^A-Z]/, "ADDON_$&");
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}_${number}`;
  taken.add(name);
  return name;
}
