import type { Config } from "../config.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";
import { Secret } from "../secret.ts";

/** A scrubber that hides the secrets in these settings, the vendor's own settings included. */
export function createOwnScrubber(config: Config): Scrubber {
  const scrubber = createScrubber(config.platformTokenPrefix ?? "");
  scrubber.hide(...secretsIn(config));
  return scrubber;
}

/** All secrets in a value. A setting may be a list of secrets, and one of the vendor's an object that holds some. */
function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value, ...passwordIn(value.reveal())];
  const isOpen = Array.isArray(value) || (value && Object.getPrototypeOf(value) === Object.prototype);
  return isOpen ? Object.values(value as object).flatMap(secretsIn) : [];
}

/** A shorter password, such as `postgres`, is not hidden by itself: it may be a common word in the log. */
const LEAST_PASSWORD = 12;

/** The password in an address, as written there and decoded: an error may quote it by itself. Empty if it is short. */
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
