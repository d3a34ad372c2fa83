import { freeName } from "../world/attachment-names.ts";

/** The attachment name that an add-on's `as` asks for; "" means the default name. */
export function attachmentName(as: string): string {
  return as.trim().toUpperCase();
}

/** Makes a free name from this text, and marks it as taken. */
export function takeName(text: string, taken: Set<string>): string {
  const base = text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "_")
    .replace(/^[^A-Z]/, "ADDON_$&");
  const name = freeName(base, (each) => taken.has(each));
  taken.add(name);
  return name;
}
