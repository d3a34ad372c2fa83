import type { ComponentChildren } from "preact";
import type { OpenContext } from "../../open-context.ts";
import { countKeyUse } from "../../vault/store.ts";
import { setSecret, waitUntilFresh } from "../client-secret.ts";
import { diffConfig } from "../config-diff.ts";
import { isEmpty, planPush, pushShown } from "../config-push.ts";
import { recoverAllGrants, recoverGrants } from "../grants/recover-grants.ts";
import { neededKeys, resealAll } from "../keys.ts";
import { triedSecret } from "../secret-check.ts";
import { refreshAllTokens, refreshTokens, type TokenReport } from "../tokens.ts";
import { typedClientSecret } from "../typed-secret.ts";
import { counted } from "../wording.ts";
import type { ActionResult, ActionWork } from "./action-runner.ts";
import type { Form } from "./forms.ts";
import { DiffTable } from "./diff-table.tsx";

/** The content of the page that asks for confirmation before an action. */
export interface Question {
  title: string;
  /** What will happen, and the fields to fill in. */
  content: ComponentChildren;
  /** The label of the button; null if there is nothing to do now. */
  button: string | null;
}

/** Something an operator can do here: an operation of `src/operator`, with a page that asks first. */
export interface Action {
  /** The name in the audit trail and in the address. */
  name: string;
  /** The text of links to it. */
  label: string;
  ask(ctx: OpenContext, uuid: string): Promise<Question> | Question;
  /** The work that a form asks for. Throws `UsedWrongly` if the form is invalid: then nothing was begun. */
  work(ctx: OpenContext, uuid: string, form: Form): ActionWork;
}

/** At most this many failed resources are named; the rest can be found in the list of resources. */
const MOST_NAMED = 5;

/** A report in words; `verb` says what was done, such as "refreshed". */
function inWords({ done, failed, skipped }: TokenReport, verb: string, signal: AbortSignal): ActionResult {
  const reasons = [...new Set(skipped.map(({ reason }) => reason))].join(", ");
  const parts = [
    `${done.length} ${verb}.`,
    ...(skipped.length > 0 ? [`${skipped.length} left out (${reasons}).`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed:`] : []),
    ...failed.slice(0, MOST_NAMED).map(({ uuid, message }) => `${uuid}: ${message}`),
    ...(failed.length > MOST_NAMED ? ["… and others."] : []),
    ...(signal.aborted
      ? ["Stopped, because the service stops. Begin it again: it goes on with the rest."]
      : []),
  ];
  return { isDone: failed.length === 0 && !signal.aborted, message: parts.join("\n") };
}

const refresh =
  (ctx: OpenContext, uuid: string): ActionWork =>
  async (how) => {
    const needs = { ...ctx, concurrency: ctx.config.tokenConcurrency, ...how };
    const report = await (uuid === "" ? refreshAllTokens(needs) : refreshTokens(needs, [uuid]));
    return inWords(report, "refreshed", how.signal);
  };

const recover =
  (ctx: OpenContext, uuid: string): ActionWork =>
  async (how) => {
    const { legacyGrants: isOn, tokenConcurrency: concurrency } = ctx.config;
    const needs = { ...ctx, isOn, concurrency, ...how };
    const { report, left } = await (uuid === "" ? recoverAllGrants(needs) : recoverGrants(needs, [uuid]));
    const { isDone, message } = inWords(report, "recovered", how.signal);
    if (left === 0) return { isDone, message };
    return { isDone: false, message: `${message}\n${left} left: begin it again to go on with them.` };
  };

/** Whether the platform's oauth-grant endpoint may be called depends on `LEGACY_GRANTS`. */
const recoverQuestion = ({ config }: OpenContext, title: string, what: string, button: string): Question =>
  config.legacyGrants
    ? { title, content: <p>{what}</p>, button }
    : {
        title,
        content: (
          <p>
            Recovering is off. Ask the platform to open its oauth-grant endpoint for your add-on, then set{" "}
            <code>LEGACY_GRANTS=on</code> and restart. Or ask it to deliver the provision again: that brings a
            new grant too.
          </p>
        ),
        button: null,
      };

/**
 * Sets the config vars that are missing on the platform. A value that exists there stays, unless its box was ticked.
 */
const pushConfig: Action = {
  name: "push",
  label: "Push its config vars",
  async ask(ctx, uuid) {
    const difference = await diffConfig(ctx, uuid);
    const { vars, isKnown } = difference;
    const plan = planPush(vars, []);
    const isNothing = !isKnown || (isEmpty(plan) && plan.keep.length === 0);
    return {
      title: "Push config vars to the platform?",
      content: (
        <>
          <DiffTable of={difference} />
          {plan.set.length > 0 && <p>To be set: {plan.set.join(", ")}.</p>}
          {isKnown && isNothing && <p>The platform has all that is wanted.</p>}
          {isKnown && plan.keep.length > 0 && (
            <fieldset>
              <legend>
                These stay as the platform has them, for somebody may have changed them there by hand. Tick
                those to be made as your service wants them:
              </legend>
              {plan.keep.map((name) => (
                <label>
                  <input type="checkbox" name="overwrite" value={name} />
                  {name}
                </label>
              ))}
            </fieldset>
          )}
          {vars.map(({ name, platform }) => (
            <input type="hidden" name="shown" value={`${name} ${platform?.fingerprint ?? ""}`} />
          ))}
        </>
      ),
      button: isNothing ? null : "Push",
    };
  },
  work(ctx, uuid, form) {
    const shown = (form["shown"] ?? []).map((each) => {
      const [name = "", fingerprint] = each.split(" ");
      return { name, platform: fingerprint ? { fingerprint } : null };
    });
    return async () => {
      const changed = await pushShown(ctx, uuid, { shown, overwrite: form["overwrite"] ?? [] });
      const message = changed.length > 0 ? `Changed: ${changed.join(", ")}.` : "Nothing had to be changed.";
      return { isDone: true, message };
    };
  },
};

const setClientSecret: Action = {
  name: "secret",
  label: "Set the client secret",
  ask: () => ({
    title: "Set a new client secret?",
    content: (
      <>
        <p>
          The platform is asked first whether it accepts it; if it does not, or cannot be asked, nothing is
          changed. Every token that an older secret issued is then refreshed, which is followed here.
        </p>
        <label>
          The secret that the platform's partner portal shows
          <input type="password" name="secret" required autocomplete="off" spellcheck={false} />
        </label>
      </>
    ),
    button: "Set it",
  }),
  work(ctx, _uuid, form) {
    const value = typedClientSecret(form["secret"]?.[0] ?? "");
    return async (how) => {
      const needs = { ...ctx, known: ctx.config.clientSecret };
      const begun = await setSecret(needs, value, (secret) =>
        triedSecret(ctx.config.platformAuthUrl, secret),
      );
      const { version, due, fresh, unconfirmed } = await waitUntilFresh({ ...ctx, ...how }, begun);
      const doubt = unconfirmed ? ` Whether the platform accepts it is not known: ${unconfirmed}.` : "";
      const left = due > fresh ? ` ${due - fresh} have no working refresh token.` : "";
      return {
        isDone: true,
        message: `The client secret is version ${version} now.${doubt} ${fresh} of ${due} tokens refreshed.${left}`,
      };
    };
  },
};

const reseal: Action = {
  name: "reseal",
  label: "Re-seal everything",
  async ask({ db, vault }) {
    const uses = await countKeyUse(db);
    return {
      title: "Re-seal everything?",
      content: (
        <>
          <p>
            Every sealed value is sealed anew with <code>ENCRYPTION_KEY</code> (<code>{vault.keyId}</code>),
            so that older keys can be dropped. It can be stopped and begun again at any time.
          </p>
          <ul>
            {uses.map(({ keyId, rows }) => (
              <li>
                <code>{keyId}</code> seals {counted(rows, "row")}
                {keyId === vault.keyId && ": this is ENCRYPTION_KEY"}
              </li>
            ))}
          </ul>
          {uses.every(({ keyId }) => keyId === vault.keyId) && (
            <p>No other key is in use: there is nothing to do.</p>
          )}
        </>
      ),
      button: "Re-seal",
    };
  },
  work:
    ({ db, vault }) =>
    async (how) => {
      const { report, unopened } = await resealAll({ db, vault, ...how });
      const needed = neededKeys(report, vault);
      const end = needed ?? "No other key is in use: drop the old ones in 12 hours.";
      const left = unopened.count > 0 ? [`${unopened.count} do not open:`, ...unopened.messages] : [];
      const message = [`${report.resealed} resealed. ${end}`, ...left].join("\n");
      return { isDone: unopened.count === 0 && needed === null, message };
    },
};

/** The actions on one resource, at `/operator/resources/:uuid/NAME`. Each is also a command of `kit`. */
export const OF_ONE: readonly Action[] = [
  {
    name: "refresh",
    label: "Refresh its token",
    ask: (_ctx, uuid) => ({
      title: "Refresh this token now?",
      content: (
        <p>
          The platform is asked for a new access token of <code>{uuid}</code>, due or not. The one there is
          works until the new one is stored.
        </p>
      ),
      button: "Refresh it",
    }),
    work: refresh,
  },
  {
    name: "recover",
    label: "Recover its grant",
    ask: (ctx) =>
      recoverQuestion(
        ctx,
        "Recover the grant of this resource?",
        "The platform's oauth-grant endpoint is asked for a new grant, which is exchanged at once. Where the grant was exchanged before, it gives no other.",
        "Recover it",
      ),
    work: recover,
  },
  pushConfig,
];

/** The actions on all resources, at `/operator/NAME`; `uuid` is empty for them. */
export const OF_ALL: readonly Action[] = [
  {
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
    work: refresh,
  },
  {
    name: "recover-all",
    label: "Recover all lost grants",
    ask: (ctx) =>
      recoverQuestion(
        ctx,
        "Recover all lost grants?",
        "For every resource whose grant was lost or never came, the platform's oauth-grant endpoint is asked for a new one, which is exchanged at once.",
        "Recover them all",
      ),
    work: recover,
  },
  setClientSecret,
  reseal,
];
