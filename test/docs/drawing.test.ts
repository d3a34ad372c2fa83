import { readFileSync, writeFileSync } from "node:fs";
import type { LedgerEntry } from "../../packages/sandbox/index.ts";
import { kitPages } from "../support/kit-pages.ts";
import { aWorld } from "../support/world.ts";

/** The README's drawing, as a provision on the sandbox draws it; `npm run screenshots` draws it again. */
const readme = new URL("../../README.md", import.meta.url);
const PLACE = /```mermaid\n[^]*?```/;
/** What each call is for. */
const MEANINGS: Record<string, string> = {
  "POST /resources": "provision with a one-time grant",
  "POST /oauth/token": "exchange the grant for tokens",
  "GET /addons/…": "ask for the add-on and its app",
  "GET /addons/…/addon-attachments": "ask which apps it is attached to",
  "PATCH /addons/…/config": "set the config vars",
  "POST /addons/…/actions/provision": "say that the add-on is ready",
};

const whereItIsTheKits = kitPages.includes("README.md") ? it : it.skip;

whereItIsTheKits("the README draws a provision as it happens", async () => {
  const world = await aWorld();
  const { addon } = await world.sandbox.control.install({ plan: "dedicated" });
  await world.quiet([addon.id]);
  const drawn = drawing(world.sandbox.control.ledger().entries);
  await world.close();
  const text = readFileSync(readme, "utf8");
  if (process.env["SCREENSHOTS"]) writeFileSync(readme, text.replace(PLACE, drawn));
  else expect(PLACE.exec(text)?.[0]).toBe(drawn);
});

/** What is read may be read at the same moment, so it is drawn once, behind the exchange. */
function drawing(entries: readonly LedgerEntry[]): string {
  const drawn = entries.map(({ direction, method, path, response }) => {
    const call = `${method} ${path.replace(/[0-9a-f-]{36}/, "…")}`;
    const [from, to] = direction === "out" ? ["P", "S"] : ["S", "P"];
    const answer = response!.status === 202 ? "202 (later)" : response!.status;
    return `  ${from}->>${to}: ${call} (${MEANINGS[call]})\n  ${to}-->>${from}: ${answer}`;
  });
  const acts = drawn.filter((call) => !call.includes(": GET "));
  const reads = [...new Set(drawn.filter((call) => call.includes(": GET ")))].sort();
  const calls = [...acts.slice(0, 2), ...reads, ...acts.slice(2)];
  const heads = ["sequenceDiagram", "  participant P as The platform", "  participant S as Your service"];
  return ["```mermaid", ...heads, ...calls, "```"].join("\n");
}
