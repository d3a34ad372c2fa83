import type { Config } from "./config.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";
import { Secret } from "./secret.ts";

/** A scrubber that takes the secrets of these settings out of whatever the process says, and out of the vendor's own too. */
export function createOwnScrubber(config: Config): Scrubber {
  const scrubber = createScrubber(config.platformTokenPrefix ?? "");
  scrubber.hide(...secretsIn(config));
  return scrubber;
}

/** A setting may be a list of secrets, and a vendor's own an object that holds some. */
function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value, ...passwordIn(value.reveal())];
  const isOpen = Array.isArray(value) || (value && Object.getPrototypeOf(value) === Object.prototype);
  return isOpen ? Object.values(value as object).flatMap(secretsIn) : [];
}

/** A shorter password, such as `postgres`, may be a word that stands in every other line. */
const LEAST_PASSWORD = 12;

/** Of an address, its password: an error may quote it by itself, as it stands in the address and as it is. */
function passwordIn(text: string): Secret[] {
  const { username, password } = URL.canParse(text) ? new URL(text) : { username: "", password: "" };
  return password.length < LEAST_PASSWORD || password === username
    ? []
    : [new Secret(password), new Secret(decoded(password))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
