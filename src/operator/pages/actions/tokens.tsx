import { refreshAllTokens, refreshTokens } from "../../tokens.ts";
import type { OpenContext } from "../../../open-context.ts";
import type { ActionWork } from "../work/action-runner.ts";
import type { Action } from "./action.ts";
import { inWords } from "./report.ts";

const work =
  ({ db, credentials, config }: OpenContext, uuid: string | null): ActionWork =>
  async (how) => {
    const needs = { db, credentials, concurrency: config.tokenConcurrency, ...how };
    const report = await (uuid === null ? refreshAllTokens(needs) : refreshTokens(needs, [uuid]));
    return inWords(report, "refreshed", how.signal);
  };

export const refreshOne: Action = {
  name: "refresh",
  label: "Refresh its token",
  ask: (_services, uuid) => ({
    title: "Refresh this token now?",
    content: (
      <p>
        The platform is asked for a new access token of <code>{uuid}</code>, due or not. The one there is
        works until the new one is stored.
      </p>
    ),
    button: "Refresh it",
  }),
  work: (services, uuid) => work(services, uuid),
};

export const refreshAll: Action = {
  name: "refresh-all",
  label: "Refresh all tokens",
  ask: ({ config }) => ({
    title: "Refresh all tokens now?",
    content: (
      <p>
        Every resource that has a working token gets a new one, {config.tokenConcurrency} at a time. The
        service refreshes by itself when it is time: this is for after an incident, or to be sure.
      </p>
    ),
    button: "Refresh them all",
  }),
  work: (services) => work(services, null),
};
