import type { ConfigVar } from "../../resources/config-vars.ts";
import type { Outcome } from "./outcome.ts";
import type { Screen } from "./screen.ts";
import { table } from "./table.ts";
import { writtenOut } from "./text.ts";

/** Config vars as the platform has them, masked unless `reveal` is set. `end` is a sentence for people, shown below. */
export function maskedConfig(
  config: readonly ConfigVar[],
  { reveal = false }: { reveal?: boolean },
  end?: string,
): Outcome {
  const data = config.map(({ name, value }) => ({
    name,
    value: reveal || value === null ? value : "[secret]",
  }));
  return { data, show: (screen) => [show(screen, data, reveal), ...(end ? ["", end] : [])].join("\n") };
}

function show(screen: Screen, config: readonly ConfigVar[], isRevealed: boolean): string {
  if (config.length === 0) return "No config vars are set.";
  // A script gets the raw values; for a terminal, control characters are written out.
  const shown = screen.isTerminal ? writtenOut : String;
  if (isRevealed) return config.map(({ name, value }) => shown(`${name}=${value ?? ""}`)).join("\n");
  return table(
    screen,
    [
      { title: "NAME", of: ({ name }) => name, canShrink: true },
      { title: "VALUE", of: () => "••••••••" },
    ],
    config,
  );
}
