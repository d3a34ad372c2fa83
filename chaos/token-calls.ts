import type { LedgerEntry } from "../sandbox/index.ts";

/** One call to the token endpoint, told to the resource it was made for. */
export interface TokenCall {
  uuid: string;
  /** The process that made it; null: nobody knows. */
  by: string | null;
  kind: "exchange" | "refresh";
  /** The code or the refresh token it was made with. */
  credential: string;
  fromMs: number;
  toMs: number;
  /** Whether tokens were issued, and the answer went out unharmed as far as the platform knows. */
  isIssued: boolean;
  isHarmed: boolean;
}

/**
 * Reads the platform's ledger, unmasked: which resource a code or a refresh token belongs to stands in its calls, and who
 * called in the host that it called the platform by (`callers`: the process of each).
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
