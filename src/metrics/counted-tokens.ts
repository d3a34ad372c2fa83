import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Metrics } from "./metrics.ts";

/** Wraps the token endpoint's client and counts each call by its outcome. */
export function countedTokens({ exchange, refresh }: TokenEndpoint, metrics: Metrics): TokenEndpoint {
  return {
    async exchange(code, clientSecret) {
      const answer = await exchange(code, clientSecret);
      metrics.exchange(answer.outcome);
      return answer;
    },
    async refresh(refreshToken, clientSecret) {
      const answer = await refresh(refreshToken, clientSecret);
      metrics.refresh(answer.outcome);
      return answer;
    },
  };
}
