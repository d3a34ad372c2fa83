import { Secret } from "../secret.ts";
import { UsedWrongly } from "./errors.ts";

/** What a portal shows is far shorter. Percent-encoded, thrice as long, it still fits into the form of the pages. */
export const MOST_SECRET_BYTES = 4 * 1024;

/**
 * A client secret that somebody typed or piped in: any text, as the portal shows it, without the line end behind it.
 * Throws {@link UsedWrongly} where it can be none.
 */
export function typedClientSecret(text: string): Secret {
  const value = text.replace(/\r?\n$/, "");
  if (value.trim() === "") throw new UsedWrongly("That is no client secret: there is nothing in it.");
  if (Buffer.byteLength(value) > MOST_SECRET_BYTES)
    throw new UsedWrongly(`That is no client secret: it has more than ${MOST_SECRET_BYTES} bytes.`);
  return new Secret(value);
}
