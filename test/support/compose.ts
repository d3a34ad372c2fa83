import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Environment } from "../../src/environment.ts";

interface ComposeService {
  image?: string;
  build?: { target?: string; args?: Record<string, string | null> };
  command?: string[];
  /** Of a variable that is only passed on, and has no value, the name alone. */
  environment?: Environment;
  volumes?: string[];
  configs?: { source: string; target: string }[];
  profiles?: string[];
  stop_grace_period?: string;
  healthcheck?: { disable?: boolean };
  depends_on?: Record<string, { condition: string }>;
}

const text = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");

export const composeText = text("compose.yaml");

/**
 * The services of compose.yaml as Compose reads them with these variables: `${NAME}` filled in, and variables without a
 * value passed on. Throws the sentence of a `${NAME:?sentence}` that is missing.
 */
export function composeServices(given: Record<string, string | undefined>): Record<string, ComposeService> {
  const filled = composeText.replace(/\$\{(\w+)(?::(\?|-)([^}]*))?\}/g, (_all, name: string, kind, rest) => {
    const value = given[name];
    if (value) return value;
    if (kind === "?") throw new Error(`${name}: ${rest}`);
    return rest ?? "";
  });
  const { services } = parse(filled, { merge: true }) as { services: Record<string, ComposeService> };
  for (const service of Object.values(services)) {
    const passed = Object.entries(service.environment ?? {}).map(([name, value]) => [
      name,
      value ?? given[name],
    ]);
    service.environment = Object.fromEntries(passed) as Environment;
  }
  return services;
}
