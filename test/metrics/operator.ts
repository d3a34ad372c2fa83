import { basic } from "../support/partner-calls.ts";
import type { World } from "../support/world.ts";

export const PASSWORD = "a-password-of-the-operator";

/** A monitoring system: requests `/metrics` with the operator's credentials, and reads the samples. */
export function operator({ service: { url } }: { service: Pick<World["service"], "url"> }) {
  const ask = (authorization: string | null, method = "GET") =>
    fetch(`${url}/metrics`, { method, headers: authorization ? { authorization } : {} });
  const metrics = async () => (await ask(basic("operator", PASSWORD))).text();
  return {
    ask,
    basic,
    metrics,
    /** Each series with its value. */
    async samples(): Promise<Map<string, number>> {
      const lines = (await metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      return new Map(
        lines.map((line) => {
          const end = line.lastIndexOf(" ");
          return [line.slice(0, end), Number(line.slice(end))];
        }),
      );
    },
  };
}
