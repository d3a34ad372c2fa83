import type { LedgerEntry } from "../../packages/sandbox/index.ts";

/** One call to the token endpoint, assigned to the resource for which it was made. */
export interface TokenCall {
  uuid: string;
  /** The process that made it; null if unknown. */
  by: string | null;
  kind: "exchange" | "refresh";
  /** The code or the refresh token it was made with. */
  credential: string;
  fromMs: number;
  toMs: number;
  /** Whether tokens were issued; `isHarmed`: whether a fault damaged or withheld the answer. */
  isIssued: boolean;
  isHarmed: boolean;
}

/**
 * Reads the token calls from the platform's ledger, unmasked. The ledger's entries tell to which resource a code or a
 * refresh token belongs; the Host header tells the calling process (`callers`: process by host).
 */
export function tokenCallsOf(
  entries: readonly LedgerEntry[],
  callers: ReadonlyMap<string, string>,
): TokenCall[] {
  const owners = new Map<string, string>();
  for (const { direction, method, request } of entries) {
    const body = request.body as { uuid?: string; oauth_grant?: { code: string } } | null;
    if (direction === "out" && method === "POST" && body?.uuid && body.oauth_grant)
      owners.set(body.oauth_grant.code, body.uuid);
  }
  const calls: TokenCall[] = [];
  for (const { path, at, ms, request, response, fault } of entries) {
    if (path !== "/oauth/token") continue;
    const asked = request.body as { grant_type?: string; code?: string; refresh_token?: string } | null;
    const uuid = owners.get(asked?.code ?? asked?.refresh_token ?? "");
    if (!uuid) continue;
    const answer = response?.body as { access_token?: string; refresh_token?: string } | null | undefined;
    if (answer?.refresh_token) owners.set(answer.refresh_token, uuid);
    const fromMs = Date.parse(at);
    calls.push({
      uuid,
      by: callers.get(String(request.headers["host"])) ?? null,
      kind: asked?.code ? "exchange" : "refresh",
      credential: asked?.code ?? asked?.refresh_token ?? "",
      fromMs,
      toMs: fromMs + ms,
      isIssued: Boolean(answer?.access_token),
      isHarmed: Boolean(fault?.reset ?? fault?.truncate ?? fault?.hang),
    });
  }
  return calls.sort((a, b) => a.fromMs - b.fromMs);
}

export function byResource(calls: readonly TokenCall[]): Map<string, TokenCall[]> {
  const groups = new Map<string, TokenCall[]>();
  for (const call of calls) {
    const own = groups.get(call.uuid);
    if (own) own.push(call);
    else groups.set(call.uuid, [call]);
  }
  return groups;
}
