import { setTimeout as sleep } from "node:timers/promises";
import { configOf } from "./habits.ts";
import type { ApiCall, goodTokenHabits, TokenCall } from "./token-habits.ts";
import type { Resource, ServiceSettings } from "./types.ts";

/** The result of a call to the token endpoint; status 0: there was no answer. */
interface Asked {
  status: number;
  tokens: ReturnType<typeof goodTokenHabits.tokensIn>;
  retryAfter: string | null;
}

/** The tokens of the resources: exchange, refreshes, and the calls that need tokens. */
export function createTokens(settings: ServiceSettings, habits: typeof goodTokenHabits) {
  const tokenUrl = `${settings.platformAuthUrl}/oauth/token`;

  const isOver = ({ isGone }: Resource) => isGone && habits.stopsRefreshing && !habits.keepsLateTokens;

  function later(resource: Resource, ms: number, work: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      resource.timers.delete(timer);
      work();
    }, ms);
    resource.timers.add(timer);
    // The server keeps the process alive; timers that are due in hours need not.
    return timer.unref();
  }

  async function ask(form: Record<string, string>, kind: TokenCall): Promise<Asked> {
    const { url, init } = habits.request(tokenUrl, form, kind);
    try {
      const signal = AbortSignal.timeout(habits.timeoutMs(kind));
      const response = await fetch(url, { ...init, redirect: habits.redirect!, signal });
      const tokens = habits.tokensIn(response.status, jsonIn(await response.text()));
      return { status: response.status, tokens, retryAfter: response.headers.get("retry-after") };
    } catch {
      return { status: 0, tokens: null, retryAfter: null };
    }
  }

  async function keep(resource: Resource, tokens: NonNullable<Asked["tokens"]>): Promise<void> {
    if (habits.storesAfterMs > 0) await sleep(habits.storesAfterMs);
    if (isOver(resource)) return;
    if (habits.tokensRevive) resource.isGone = false;
    resource.accessToken = tokens.access_token;
    resource.refreshToken = habits.refreshTokenAfter(resource.refreshToken, tokens.refresh_token);
    const ms = habits.refreshAfterMs(tokens.expires_in);
    if (ms !== null) later(resource, ms, () => void refresh(resource));
  }

  /** Retries until it succeeds or the resource is gone; then makes the calls that needed tokens. */
  async function exchange(resource: Resource, code: string, isAsync: boolean, tries = 0): Promise<void> {
    if (resource.isGone && habits.stopsExchanging && !habits.exchangesForTheGone) return;
    const form = habits.exchangeForm(code, habits.secretOf(settings));
    const calls = [ask(form, "exchange")];
    if (habits.exchangesTwice === "at once") calls.push(ask(form, "exchange"));
    // Which of two calls is heard is chance: with every second code it is the one that is refused.
    const heard = calls.length > 1 && isOdd(code) ? calls[1]! : calls[0]!;
    const { status, tokens, retryAfter } = await heard;
    if (tokens) {
      await keep(resource, tokens);
      if (habits.exchangesTwice === "afterwards") later(resource, 50, () => void ask(form, "exchange"));
      if (isAsync) finish(resource, habits.finish(resource.uuid, configOf(resource.uuid, resource.plan)));
      return;
    }
    resource.failedTries += 1;
    const waitMs = habits.waitMs(tries, status, retryAfter, "exchange");
    if (waitMs !== null) later(resource, waitMs, () => void exchange(resource, code, isAsync, tries + 1));
  }

  /** One refresh at a time: callers meanwhile wait for the same one. */
  function refresh(resource: Resource): Promise<void> {
    resource.refreshing ??= refreshOnce(resource).finally(() => (resource.refreshing = null));
    return resource.refreshing;
  }

  async function refreshOnce(resource: Resource, tries = 0): Promise<void> {
    if (isOver(resource)) return;
    const form = habits.refreshForm(resource, habits.secretOf(settings));
    const { hedgeAfterMs } = habits;
    const hedge =
      hedgeAfterMs === null ? undefined : later(resource, hedgeAfterMs, () => void ask(form, "refresh"));
    const { status, tokens, retryAfter } = await ask(form, "refresh");
    clearTimeout(hedge);
    if (tokens) return keep(resource, tokens);
    const waitMs = habits.waitMs(tries, status, retryAfter, "refresh");
    if (waitMs !== null) later(resource, waitMs, () => void refreshOnce(resource, tries + 1));
  }

  /** Makes one call after the other, each until it succeeds. */
  function finish(resource: Resource, [call, ...rest]: ApiCall[], tries = 0): void {
    if (!call || (resource.isGone && habits.stopsFinishing)) return;
    void callApi(resource, call).then(async ({ status, retryAfter }) => {
      if ((status >= 200 && status < 300) || habits.skips(call)) return finish(resource, rest);
      if (status === 401 && habits.refreshesAt401) await refresh(resource);
      const waitMs = habits.waitMs(tries, status, retryAfter, "api");
      if (waitMs !== null && habits.repeats(call))
        later(resource, waitMs, () => finish(resource, [call, ...rest], tries + 1));
    });
  }

  async function callApi(
    resource: Resource,
    { method, path, body }: ApiCall,
  ): Promise<Pick<Asked, "status" | "retryAfter">> {
    try {
      const response = await fetch(settings.platformApiUrl + path, {
        method,
        headers: habits.apiHeaders(resource, settings),
        ...(body && { body: JSON.stringify(body) }),
      });
      await response.arrayBuffer();
      return { status: response.status, retryAfter: response.headers.get("retry-after") };
    } catch {
      return { status: 0, retryAfter: null };
    }
  }

  return {
    exchange,
    end(resource: Resource): void {
      if (habits.stopsExchanging && habits.stopsRefreshing && habits.stopsFinishing)
        for (const timer of resource.timers) clearTimeout(timer);
      if (habits.stopsRefreshing) resource.refreshToken = null;
      if (habits.stopsExchanging) resource.code = null;
    },
  };
}

const isOdd = (code: string) => code.charCodeAt(code.length - 1) % 2 === 1;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
