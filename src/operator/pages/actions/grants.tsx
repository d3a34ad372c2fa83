import { recoverAllGrants, recoverGrants } from "../../grants/recover-grants.ts";
import type { OpenContext } from "../../../open-context.ts";
import type { ActionWork } from "../work/action-runner.ts";
import type { Action, Question } from "./action.ts";
import { inWords } from "./report.ts";

const work =
  ({ db, credentials, recover, config }: OpenContext, uuid: string | null): ActionWork =>
  async (how) => {
    const { legacyGrants: isOn, tokenConcurrency: concurrency } = config;
    const needs = { db, credentials, recover, isOn, concurrency, ...how };
    const { report, left } = await (uuid === null ? recoverAllGrants(needs) : recoverGrants(needs, [uuid]));
    const { isDone, message } = inWords(report, "recovered", how.signal);
    if (left === 0) return { isDone, message };
    return { isDone: false, message: `${message}\n${left} left: begin it again to go on with them.` };
  };

/** The platform opens the oauth-grant endpoint on request; the service does not call it until LEGACY_GRANTS is on. */
const OFF = (
  <p>
    Recovering is off. Ask the platform to open its oauth-grant endpoint for your add-on, then set{" "}
    <code>LEGACY_GRANTS=on</code> and restart. Or ask it to deliver the provision again: that brings a new
    grant too.
  </p>
);

const question = ({ config }: OpenContext, title: string, what: string, button: string): Question => ({
  title,
  content: config.legacyGrants ? <p>{what}</p> : OFF,
  button: config.legacyGrants ? button : null,
});

export const recoverOne: Action = {
  name: "recover",
  label: "Recover its grant",
  ask: (services) =>
    question(
      services,
      "Recover the grant of this resource?",
      "The platform's oauth-grant endpoint is asked for a new grant, which is exchanged at once. Where the grant was exchanged before, it gives no other.",
      "Recover it",
    ),
  work: (services, uuid) => work(services, uuid),
};

export const recoverAll: Action = {
  name: "recover-all",
  label: "Recover all lost grants",
  ask: (services) =>
    question(
      services,
      "Recover all lost grants?",
      "For every resource whose grant was lost or never came, the platform's oauth-grant endpoint is asked for a new one, which is exchanged at once.",
      "Recover them all",
    ),
  work: (services) => work(services, null),
};
