/** The attachment name that an add-on's `as` asks for; "" means the default name. */
export function attachmentName(as: string): string {
  return as.trim().toUpperCase();
}

/** Makes a free name from this text, and marks it as taken. */
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
