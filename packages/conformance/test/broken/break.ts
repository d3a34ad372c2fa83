import type { Habits } from "../../examples/service/service.ts";
import type { TokenCall } from "../../examples/service/token-habits.ts";
import type { Patience } from "../../settings.ts";

/** One deviation of the example from correct behaviour. */
export interface Break {
  /** The rule that must notice it. */
  rule: string;
  what: string;
  /** Rules that inevitably notice it too. */
  also?: readonly string[];
  /** Judged by its rule alone: it concerns load or timing, which on a busy machine other rules may notice too. */
  alone?: true;
  /** What the checker waits for otherwise than in the other tests. */
  patience?: Partial<Patience>;
  habits(good: Habits): Partial<Habits>;
}

/** A service with these faults, which do not interfere with each other, and no others. */
export type BrokenService = readonly Break[];

export const basic = (secret: string) =>
  `Basic ${Buffer.from(`:${encodeURIComponent(secret)}`).toString("base64")}`;

/** Puts the client secret into a header in addition to the form. */
export function inHeaderToo(isMeant: (kind: TokenCall) => boolean): Break["habits"] {
  return (good) => ({
    request(url, form, kind) {
      const { init } = good.request(url, form, kind);
      if (!isMeant(kind)) return { url, init };
      return { url, init: { ...init, headers: { authorization: basic(form["client_secret"]!) } } };
    },
  });
}
