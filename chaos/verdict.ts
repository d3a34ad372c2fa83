import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Sandbox } from "../sandbox/index.ts";
import { createVault } from "../src/vault/vault.ts";
import { Secret } from "../src/secret.ts";
import type { Ask } from "./database.ts";
import { createExplained, type Explained } from "./explained.ts";
import type { Fleet, Settings } from "./fleet.ts";
import type { History } from "./history.ts";
import { unbounded, type Load } from "./load.ts";
import { createSearch, secretsOf } from "./secrets.ts";
import { byResource, tokenCallsOf, type TokenCall } from "./token-calls.ts";

/** One promise: what it says, what was found against it (empty: it holds), and figures for the report. */
export interface Finding {
  id: string;
  promise: string;
  against: string[];
  figure: string;
}

interface Row {
  uuid: string;
  resource: string;
  state: string;
  reason: string | null;
  sealedAccessToken: Buffer | null;
  hasSecrets: boolean;
}

/** A refresh before this share of a life is early: it is due at 45 to 55 %, counted from up to a second before the call. */
const EARLY_SHARE = 0.4;

/** Compares what the service kept with what the platform knows, after everything has come to rest (I1 to I10). */
export async function judge(needs: {
  sandbox: Sandbox;
  ask: Ask;
  fleet: Fleet;
  settings: Settings;
  history: History;
  /** What was still to do when everything should have come to rest. */
  left: string[];
  /** How long an access token lived during the run. */
  lifeSeconds: number;
  load: Load;
}): Promise<Finding[]> {
  const { sandbox, ask, fleet, settings, history, left, lifeSeconds, load } = needs;
  const { entries } = sandbox.control.ledger({ reveal: true });
  const calls = tokenCallsOf(entries);
  const rows = new Map((await ask<Row>(ROWS)).map((row) => [row.uuid, row]));
  const explained = createExplained(history, fleet.killedAtMs);

  const kept = [...history.acknowledged].filter((uuid) => !history.deprovisioned.has(uuid));
  const missing = [...history.acknowledged].filter((uuid) => !rows.has(uuid));
  const notActive = kept.filter((uuid) => rows.get(uuid)?.state !== "active");
  const firstPairs = calls.filter(({ kind, isIssued }) => kind === "exchange" && isIssued);
  const pairsOf = (uuid: string) => firstPairs.filter((call) => call.uuid === uuid);
  // A grant that was delivered again may have become tokens twice: each pair would have been enough.
  const honest = notActive.filter(
    (uuid) => pairsOf(uuid).length > 0 && pairsOf(uuid).every(explained.isLoss),
  );
  const lost = notActive.filter((uuid) => !honest.includes(uuid));
  const misnamed = honest.filter((uuid) => rows.get(uuid)?.reason !== "outcome_unknown");

  // A token that the platform killed by itself is replaced when it is next used, not before.
  const wasKilledSince = (uuid: string) => {
    const last = calls.findLast((call) => call.uuid === uuid && call.isIssued);
    return history.killedTokens.some((each) => each.uuid === uuid && each.atMs >= (last?.fromMs ?? 0));
  };
  const tried = kept
    .filter((uuid) => !wasKilledSince(uuid))
    .map((uuid) => rows.get(uuid))
    .filter(isActive);
  const dead = await deadTokens(sandbox, settings, tried);
  const overlaps = overlapping(calls);
  const needless = needlessRefreshes(calls, { lifeSeconds, explained });
  const refreshes = calls.filter(({ kind, isIssued }) => kind === "refresh" && isIssued).length;
  const resurrected = [...history.deprovisioned].filter((uuid) => {
    const row = rows.get(uuid);
    return !row || row.resource !== "deprovisioned" || row.state !== "erased" || row.hasSecrets;
  });
  const secrets = new Set([...secretsOf(entries), ...history.secrets]);
  const leaks = await leaksIn(fleet.outputFile, ask, secrets);
  const badStops = history.stops.filter(({ code, ms }) => code !== 0 || ms > 26_000);

  return [
    finding("I1", "every acknowledged resource exists", missing, `${history.acknowledged.size} acknowledged`),
    finding("I2", "no grant is lost but those whose answer was destroyed", lost.map(tellLoss), `${kept.length} kept, ${honest.length} within the honest limit`),
    finding("I2", "what was lost within the honest limit says so", misnamed.map(tell), `${honest.length} outcome_unknown`),
    finding("I3", "every stored access token works", dead, `${tried.length} tokens tried`),
    finding("I4", "one call at a time for one resource", overlaps, `${calls.length} token calls`),
    finding("I4", "one refresh for each token and period", needless, `${refreshes} refreshes, ${(refreshes / Math.max(refreshes - needless.length, 1)).toFixed(2)} per period`),
    finding("I5", "no credential is given up that the platform did not end", givenUp().map(tell), `${kept.length} kept`),
    finding("I6", "what was deprovisioned is gone, and stays gone", resurrected.map(tell), `${history.deprovisioned.size} deprovisioned`),
    finding("I7", "no secret in output or database", leaks, `${secrets.size} secrets looked for`),
    finding("I8", "calls for one grant, connections and memory stay bounded", unbounded(calls, load), `at most ${load.connections} connections, ${load.megabytes} MB a process`),
    finding("I9", "what was left comes to an end once everything works", left, "nothing left to do"),
    finding("I10", "no process ended by itself, and each stopped in time", [...fleet.unaskedEnds.map(({ name, code }) => `${name} ended with ${code}`), ...badStops.map(({ name, code, ms }) => `${name} stopped with ${code} after ${ms} ms`)], `${history.stops.length} stops`),
  ]; // prettier-ignore

  function tell(uuid: string): string {
    const row = rows.get(uuid);
    return `${uuid}: ${row ? `${row.resource}, ${row.state}${row.reason ? ` (${row.reason})` : ""}` : "no row"}`;
  }

  function tellLoss(uuid: string): string {
    return [tell(uuid), ...pairsOf(uuid).map(when)].join(", ");
  }

  function givenUp(): string[] {
    return kept.filter((uuid) => ["needs_reauth", "quarantined"].includes(rows.get(uuid)?.state ?? ""));
  }
}

const ROWS = `
  SELECT uuid, r.state AS resource, c.state, c.reason, c.sealed_access_token AS "sealedAccessToken",
    num_nonnulls(c.sealed_access_token, c.sealed_refresh_token, c.sealed_grant_code, r.sealed_answer, r.sealed_config,
      r.sealed_log_input_url, r.sealed_log_drain_token) > 0 AS "hasSecrets"
  FROM resources r JOIN credentials c USING (uuid)`;

function isActive(row: Row | undefined): row is Row {
  return row?.state === "active";
}

async function deadTokens(sandbox: Sandbox, settings: Settings, rows: readonly Row[]): Promise<string[]> {
  const vault = await createVault({ encryptionKey: new Secret(settings["ENCRYPTION_KEY"]!) });
  const dead: string[] = [];
  for (const { uuid, sealedAccessToken } of rows) {
    const place = { table: "credentials", column: "sealed_access_token", uuid };
    const token = vault.open(place, sealedAccessToken!).reveal();
    const { status } = await fetch(`${sandbox.url}/addons/${uuid}`, {
      headers: { Authorization: `Bearer ${token}`, Accept: sandbox.settings.mediaType },
    });
    if (status !== 200) dead.push(`${uuid}: its stored token is answered ${status}`);
  }
  return dead;
}

function overlapping(calls: readonly TokenCall[]): string[] {
  return [...byResource(calls).values()].flatMap((own) =>
    own.flatMap((call, index) => {
      const next = own[index + 1];
      return next && next.fromMs < call.toMs ? [`${call.uuid}: ${when(call)} and ${when(next)}`] : [];
    }),
  );
}

/** Successful refreshes that came early, and that nothing explains: no dead token, no lost answer, no other secret. */
export function needlessRefreshes(
  calls: readonly TokenCall[],
  { lifeSeconds, explained }: { lifeSeconds: number; explained: Explained },
): string[] {
  return [...byResource(calls).values()].flatMap((own) => {
    const issued = own.filter(({ isIssued }) => isIssued);
    return issued.flatMap((call, index) => {
      const before = issued[index - 1];
      if (call.kind !== "refresh" || !before) return [];
      const isEarly = call.fromMs - before.fromMs < lifeSeconds * 1_000 * EARLY_SHARE;
      if (!isEarly || explained.isRefresh(before, call)) return [];
      return [`${call.uuid}: ${when(before)}, and again ${when(call)}`];
    });
  });
}

/** Every place outside of a seal that holds one of the secrets. */
async function leaksIn(outputFile: string, ask: Ask, secrets: ReadonlySet<string>): Promise<string[]> {
  const found = new Set<string>();
  const holdsSecret = createSearch(secrets);
  for await (const line of createInterface({ input: createReadStream(outputFile) })) {
    if (holdsSecret(line)) found.add(`the log holds a secret: ${line.slice(0, 80)}…`);
  }
  const tables = await ask<{ name: string }>(`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`);
  for (const { name } of tables) {
    for (const row of await ask<Record<string, unknown>>(`SELECT * FROM "${name}"`)) {
      const text = Object.values(row).map((value) => (Buffer.isBuffer(value) ? value.toString("latin1") : JSON.stringify(value))).join(" ");
      if (holdsSecret(text)) found.add(`table ${name} holds a secret`);
    }
  }
  return [...found];
} // prettier-ignore

function when({ kind, fromMs, toMs }: TokenCall): string {
  return `${kind} ${new Date(fromMs).toISOString().slice(11, 23)}–${new Date(toMs).toISOString().slice(17, 23)}`;
}

function finding(id: string, promise: string, against: string[], figure: string): Finding {
  return { id, promise, against, figure };
}
