import { configOf } from "./habits.ts";
import type { goodTokenHabits, ApiCall } from "./token-habits.ts";
import type { Resource, ServiceSettings } from "./types.ts";

/** The life of a resource's tokens: the exchange, the refreshes, and the calls they are needed for. */
export function createTokens(settings: ServiceSettings, habits: typeof goodTokenHabits) {
  const tokenUrl = `${settings.platformAuthUrl}/oauth/token`;
  const isOver = (resource: Resource) => resource.isGone && habits.stopsAtTheEnd;

  function later(resource: Resource, ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      resource.timers.delete(timer);
      if (!isOver(resource)) work();
    }, ms);
    resource.timers.add(timer);
  }

  async function ask(form: Record<string, string>) {
    const { url, init } = habits.request(tokenUrl, form);
    try {
      const signal = AbortSignal.timeout(habits.timeoutMs);
      const response = await fetch(url, { ...init, redirect: habits.redirect!, signal });
      const text = await response.text();
      return { status: response.status, tokens: habits.tokensIn(response.status, jsonIn(text)), retryAfter: response.headers.get("retry-after") };
    } catch {
      return { status: 0, tokens: null, retryAfter: null };
    }
  }

  function keep(resource: Resource, tokens: NonNullable<Awaited<ReturnType<typeof ask>>["tokens"]>): void {
    if (isOver(resource)) return;
    resource.code = null;
    resource.accessToken = tokens.access_token;
    resource.refreshToken = habits.refreshTokenAfter(resource.refreshToken, tokens.refresh_token);
    const ms = habits.refreshAfterMs(tokens.expires_in);
    if (ms !== null) later(resource, ms, () => void refresh(resource));
  }

  /** Tries until it succeeds or the resource is gone; then does what waited for the tokens. */
  async function exchange(resource: Resource, code: string, isAsync: boolean, tries = 0): Promise<void> {
    const { status, tokens, retryAfter } = await ask(habits.exchangeForm(code, habits.secretOf(settings)));
    if (tokens) {
      keep(resource, tokens);
      if (habits.exchangesAgain) later(resource, 50, () => void ask(habits.exchangeForm(code, settings.clientSecret)));
      if (isAsync) finish(resource, habits.finish(resource.uuid, configOf(resource.uuid, resource.plan)));
      return;
    }
    const waitMs = habits.waitMs(tries, status, retryAfter);
    if (waitMs !== null) later(resource, waitMs, () => void exchange(resource, code, isAsync, tries + 1));
  }

  function refresh(resource: Resource): Promise<void> {
    if (resource.refreshing && habits.oneRefreshAtATime) return resource.refreshing;
    resource.refreshing = refreshOnce(resource).finally(() => (resource.refreshing = null));
    return resource.refreshing;
  }

  async function refreshOnce(resource: Resource, tries = 0): Promise<void> {
    if (!habits.oneRefreshAtATime) later(resource, 200, () => void ask(habits.refreshForm(resource, settings.clientSecret)));
    const { status, tokens, retryAfter } = await ask(habits.refreshForm(resource, habits.secretOf(settings)));
    if (tokens) return keep(resource, tokens);
    const waitMs = habits.waitMs(tries, status, retryAfter);
    if (waitMs !== null) later(resource, waitMs, () => void refreshOnce(resource, tries + 1));
  }

  /** One call after the other, each until it succeeds. */
  function finish(resource: Resource, [call, ...rest]: ApiCall[], tries = 0): void {
    if (!call || isOver(resource)) return;
    void callApi(resource, call).then(async (status) => {
      if (status >= 200 && status < 300) return finish(resource, rest);
      if (status === 401 && habits.refreshesAt401) await refresh(resource);
      const waitMs = habits.waitMs(tries, status, null);
      if (waitMs !== null) later(resource, waitMs, () => finish(resource, [call, ...rest], tries + 1));
    });
  }

  async function callApi(resource: Resource, { method, path, body }: ApiCall): Promise<number> {
    try {
      const response = await fetch(settings.platformApiUrl + path, {
        method,
        headers: habits.apiHeaders(resource),
        ...(body && { body: JSON.stringify(body) }),
      });
      await response.text();
      return response.status;
    } catch {
      return 0;
    }
  }

  return {
    exchange,
    end(resource: Resource): void {
      if (!habits.stopsAtTheEnd) return;
      for (const timer of resource.timers) clearTimeout(timer);
      Object.assign(resource, { code: null, accessToken: null, refreshToken: null });
    },
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
