/** The attachment name in an add-on's `as`, in upper case as the platform writes it; "" for the default name. */
export function attachmentName(addon: string | { as?: string | undefined }): string {
  return typeof addon === "string" ? "" : (addon.as ?? "").trim().toUpperCase();
}

/** The indexes of add-ons whose name an earlier one has already. Within an app, attachment names are unique. */
export function repeatedNames(addons: readonly Parameters<typeof attachmentName>[0][]): number[] {
  const taken = new Set<string>();
  return addons.flatMap((addon, index) => {
    const name = attachmentName(addon);
    if (name !== "" && taken.has(name)) return [index];
    taken.add(name);
    return [];
  });
}
