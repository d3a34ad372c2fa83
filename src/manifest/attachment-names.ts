/** The name that an add-on's `as` asks for, in the case that the platform writes it; "": the default name. */
export function attachmentName(addon: string | { as?: string | undefined }): string {
  return typeof addon === "string" ? "" : (addon.as ?? "").trim().toUpperCase();
}

/** The indexes of add-ons that ask for a name which one before them has. An app has each attachment's name once. */
export function repeatedNames(addons: readonly Parameters<typeof attachmentName>[0][]): number[] {
  const taken = new Set<string>();
  return addons.flatMap((addon, index) => {
    const name = attachmentName(addon);
    if (name !== "" && taken.has(name)) return [index];
    taken.add(name);
    return [];
  });
}
