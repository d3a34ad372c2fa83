import type { TokenEndpoint } from "../platform/oauth.ts";
import type { Metrics } from "./metrics.ts";

/** Wraps the token endpoint's client and counts each call by its outcome. */
export function countedTokens({ exchange, refresh }: TokenEndpoint, metrics: Metrics): TokenEndpoint {
  return {
    async exchange(...grant) {
      const answer = await exchange(...grant);
      metrics.exchange(answer.outcome);
      return answer;
    },
    async refresh(...token) {
      const answer = await refresh(...token);
      metrics.refresh(answer.outcome);
      return answer;
    },
  };
}
