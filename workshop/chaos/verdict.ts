import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { LedgerEntry, Sandbox } from "../../packages/sandbox/index.ts";
import { askedOf, wrongAnswers } from "./answers.ts";
import type { Ask } from "./database.ts";
import { createExplained, type Explained } from "./explained.ts";
import type { Fleet, Settings } from "./fleet.ts";
import type { History } from "./history.ts";
import { type Life, wrongLives } from "./lives.ts";
import { type Load, unbounded } from "./load.ts";
import { createSearch, openPartsOf, secretsOf } from "./secrets.ts";
import { type Sealed, tryStored } from "./stored.ts";
import { byResource, type TokenCall, tokenCallsOf } from "./token-calls.ts";

/** One promise, what was found against it (empty: it holds), and figures for the report. */
export interface Finding {
  id: string;
  promise: string;
  against: string[];
  figure: string;
  /** Whether a machine that is too slow explains what was found. */
  isOfTime: boolean;
}

type Row = Life &
  Sealed & {
    state: string;
    reason: string | null;
    hasSecrets: boolean;
  };

/**
 * A refresh before this share of a token's life is early: it is due at 45 to 55 %, counted from up to a second before
 * the call.
 */
const EARLY_SHARE = 0.4;

/** Compares what the service stored with what the platform knows, after everything has come to rest (I1 to I10). */
export async function judge(needs: {
  sandbox: Sandbox;
  ask: Ask;
  fleet: Pick<Fleet, "kills" | "freezes" | "unaskedEnds" | "outputFile">;
  settings: Settings;
  /** The process that calls the platform, by host. */
  callers: ReadonlyMap<string, string>;
  history: History;
  /** What was still to do when everything should have come to rest. */
  left: string[];
  /** How long an access token lived during the run. */
  lifeSeconds: number;
  load: Load;
}): Promise<Finding[]> {
  const { sandbox, ask, fleet, settings, callers, history, left, lifeSeconds, load } = needs;
  const { acknowledged, deprovisioned, unheard } = history;
  const { entries } = sandbox.control.ledger({ reveal: true });
  const calls = tokenCallsOf(entries, callers);
  const callsOf = byResource(calls);
  const asked = askedOf(entries);
  const rows = new Map((await ask<Row>(ROWS)).map((row) => [row.uuid, row]));
  const explained = createExplained(history, fleet);

  // A delivery whose process was frozen continues after the next delivery was answered. The service drops a request
  // whose caller is gone; but if it notices that a moment too late, the delivery stores a code that is never accepted
  // over the right one.
  const webFreezes = fleet.freezes.filter(({ name }) => name.startsWith("web-"));
  const isBelated = (uuid: string) =>
    ["grant_pending", "grant_lost"].includes(rows.get(uuid)?.state ?? "") &&
    asked.some(
      (call) =>
        call.uuid === uuid &&
        call.method === "POST" &&
        call.status === null &&
        webFreezes.some(({ fromMs, toMs }) => fromMs <= call.toMs && toMs >= call.fromMs),
    );
  const belated = [...acknowledged].filter(isBelated);
  const isSure = (uuid: string) => !deprovisioned.has(uuid) && !unheard.has(uuid) && !belated.includes(uuid);
  const kept = [...acknowledged].filter(isSure);
  const missing = [...acknowledged].filter((uuid) => !rows.has(uuid));
  const notActive = kept.filter((uuid) => rows.get(uuid)?.state !== "active");
  const pairsOf = (uuid: string) =>
    (callsOf.get(uuid) ?? []).filter(({ kind, isIssued }) => kind === "exchange" && isIssued);
  // A grant that was delivered twice may have been exchanged twice: each token pair would have been enough.
  const isDestroyed = (uuid: string) => pairsOf(uuid).length > 0 && pairsOf(uuid).every(explained.isLoss);
  const honest = notActive.filter(isDestroyed);
  const lost = notActive.filter((uuid) => !honest.includes(uuid));
  const misnamed = honest.filter((uuid) => rows.get(uuid)?.reason !== "outcome_unknown");

  // The service replaces a token that the platform revoked only when it is next used.
  const wasKilledSince = (uuid: string) => {
    const last = callsOf.get(uuid)?.findLast(({ isIssued }) => isIssued);
    return history.killedTokens.some((each) => each.uuid === uuid && each.atMs >= (last?.fromMs ?? 0));
  };
  const tried = kept
    .filter((uuid) => !wasKilledSince(uuid))
    .map((uuid) => rows.get(uuid))
    .filter((row) => row?.state === "active") as Row[];
  const { dead, unlike } = await tryStored(sandbox, settings, tried);
  const living = kept.filter((uuid) => !honest.includes(uuid)).map((uuid) => rows.get(uuid)).filter((row) => row !== undefined);
  const lives = [...wrongLives(living, sandbox.control.state().addons, asked, webFreezes), ...unlike];
  const wrong = wrongAnswers(asked, [...history.databaseTroubles, ...webFreezes], isDestroyed);
  // Only where the callers are known: a call without a known caller would be excused by any kill.
  const nobodys = callers.size === 0 ? [] : calls.filter(({ by }) => by === null).map(({ uuid }) => `${uuid}: a call of nobody known`);
  const unanswered = asked.filter(({ status }) => status === null).length;
  const { needless, early, refreshes, periods } = refreshesOf(calls, { lifeSeconds, explained });
  const resurrected = [...deprovisioned].filter((uuid) => {
    const row = rows.get(uuid);
    return !row || row.resource !== "deprovisioned" || row.state !== "erased" || row.hasSecrets;
  });
  const secrets = new Set([...secretsOf(entries), ...history.secrets]);
  const leaks = await leaksIn({ outputFile: fleet.outputFile, entries, ask, secrets });
  const ends = [...fleet.unaskedEnds, ...history.stops.filter(({ code }) => code !== 0)];
  const late = history.stops.filter(({ ms }) => ms > 26_000);
  const most = Math.max(load.connections, load.connectionsInTrouble);

  return [
    finding("I1", "every acknowledged resource exists", acknowledged.size === 0 ? ["no provision at all was answered with success"] : missing, `${acknowledged.size} acknowledged, ${unheard.size} then never answered again`),
    finding("I1", "no call is refused for what passes, or answered in another form", wrong, `${asked.length} calls, ${unanswered} cut off from their answer`),
    finding("I2", "no grant is lost but those whose answer was destroyed", lost.map(tellLoss), `${kept.length} kept, ${honest.length} within the honest limit, ${belated.length} delivered by a process that stood still`),
    finding("I2", "what was lost within the honest limit says so", misnamed.map(tell), `${honest.length} outcome_unknown`),
    finding("I3", "every stored access token works", dead, `${tried.length} tokens tried`),
    finding("I4", "one call at a time for one resource", [...overlapping(calls, explained), ...nobodys], `${calls.length} token calls`),
    finding("I4", "one refresh for each token and period", needless, `${refreshes} refreshes, ${(refreshes / Math.max(periods, 1)).toFixed(2)} for each half of a life; ${early} early, ${early - needless.length} explained`),
    finding("I5", "no credential is given up that the platform did not end", givenUp().map(tell), `${kept.length} kept`),
    finding("I6", "what was deprovisioned is gone, and stays gone", resurrected.map(tell), `${deprovisioned.size} deprovisioned`),
    finding("I7", "no secret in output, database, addresses, headers or refusals", leaks, `${secrets.size} secrets looked for`),
    finding("I8", "calls for one grant or token, connections and memory stay bounded", unbounded(calls, load), `at most ${most} connections and ${load.megabytes} MB a process`),
    finding("I9", "what was left comes to an end once everything works", left.filter((each) => !belated.some((uuid) => each.includes(uuid))), "nothing left to do", true),
    finding("I9", "every resource is in the end what its customer was told", lives, `${living.length} looked at`),
    finding("I10", "no process ended by itself, or with an error", ends.map(({ name, code }) => `${name} ended with ${code}`), `${fleet.kills.length} killed`),
    finding("I10", "each process that was asked to stop stopped in time", late.map(({ name, ms }) => `${name} stopped after ${ms} ms`), `${history.stops.length} stops`, true),
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
} // prettier-ignore

const ROWS = `
  SELECT uuid, r.state AS resource, r.plan, c.state, c.reason,
    c.sealed_access_token AS "sealedAccessToken", r.sealed_config AS "sealedConfig",
    num_nonnulls(c.sealed_access_token, c.sealed_refresh_token, c.sealed_grant_code, r.sealed_answer, r.sealed_config,
      r.sealed_log_input_url, r.sealed_log_drain_token) > 0 AS "hasSecrets"
  FROM resources r JOIN credentials c USING (uuid)`;

function overlapping(calls: readonly TokenCall[], explained: Explained): string[] {
  return [...byResource(calls).values()].flatMap((own) =>
    own.flatMap((call, index) => {
      const next = own[index + 1];
      if (!next || next.fromMs >= call.toMs || [call, next].some(explained.isFromThePast)) return [];
      return [`${call.uuid}: ${when(call)} and ${when(next)}`];
    }),
  );
}

/**
 * Counts the successful refreshes, the half lives for which their tokens were held (`periods`), and the early
 * refreshes. `needless` names the early ones that nothing explains: no revoked token, no lost answer, no new secret.
 */
export function refreshesOf(
  calls: readonly TokenCall[],
  { lifeSeconds, explained }: { lifeSeconds: number; explained: Explained },
) {
  const lifeMs = lifeSeconds * 1_000;
  const found = { refreshes: 0, periods: 0, early: 0, needless: [] as string[] };
  for (const own of byResource(calls).values()) {
    const issued = own.filter(({ isIssued }) => isIssued);
    for (const [index, again] of issued.entries()) {
      const before = issued[index - 1];
      if (again.kind !== "refresh" || !before) continue;
      found.refreshes += 1;
      found.periods += (again.fromMs - before.fromMs) / (lifeMs / 2);
      if (again.fromMs - before.fromMs >= lifeMs * EARLY_SHARE) continue;
      found.early += 1;
      if (!explained.isRefresh(before, again))
        found.needless.push(`${again.uuid}: ${when(before)}, and again ${when(again)}`);
    }
  }
  return found;
}

/** Every place that holds one of the secrets unsealed. */
async function leaksIn(where: {
  outputFile: string;
  entries: readonly LedgerEntry[];
  ask: Ask;
  secrets: ReadonlySet<string>;
}): Promise<string[]> {
  const { outputFile, entries, ask, secrets } = where;
  const found = new Set<string>();
  const holdsSecret = createSearch(secrets);
  for await (const line of createInterface({ input: createReadStream(outputFile) })) {
    if (holdsSecret(line)) found.add(`the log holds a secret: ${line.slice(0, 80)}…`);
  }
  for (const entry of entries)
    if (holdsSecret(openPartsOf(entry))) found.add(`${entry.direction === "in" ? "a call" : "the answer"} to ${entry.method} ${entry.path.slice(0, 50)} at ${entry.at} holds a secret`);
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

function finding(id: string, promise: string, against: string[], figure: string, isOfTime = false): Finding {
  return { id, promise, against, figure, isOfTime };
}
