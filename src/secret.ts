import { inspect } from "node:util";

/**
 * A value that must not be seen: logging, JSON, string templates and inspection all show `[secret]`, and
 * `structuredClone` finds nothing to copy. Only `reveal()` gives the value, so a reader can find every place that
 * uses one.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it as late as possible, and never into a log line, a URL or an error. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}
