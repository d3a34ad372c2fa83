import type { ComponentChildren } from "preact";
import type { Context, OpenContext } from "../../context.ts";
import type { Form } from "../../pages/forms.ts";
import { countKeyUse } from "../../vault/store.ts";
import { BULK_ACTIONS, type BulkAction } from "../bulk-actions.ts";
import { secretInWords, setSecret, typedClientSecret, waitUntilFresh } from "../client-secret.ts";
import { changedInWords, diffConfig, differing, pushConfig, type VarDifference } from "../config-vars.ts";
import { keysInWords, resealAll, resealInWords } from "../keys.ts";
import { isWhole, reportInWords, type How } from "../work-through.ts";
import { runYourAction, yourActions } from "../your-actions.ts";
import { Table } from "./parts.tsx";

/** The page that asks for confirmation. */
export interface Question {
  title: string;
  content: ComponentChildren;
  /** The label of the button; null if there is nothing to do now. */
  button: string | null;
}

/** What an action does. It ends soon after `signal` is aborted; an error becomes its failure. The message may be shown. */
export type ActionWork = (how: How) => Promise<{ isDone: boolean; message: string }>;

/** Something an operator can do here: an operation of `src/operator`, with a page that asks first. */
export interface Action {
  /** The name in the audit trail and in the address. */
  name: string;
  label: string;
  ask(ctx: OpenContext, uuid: string): Promise<Question> | Question;
  /** The work that a form asks for. Throws `UsedWrongly` if the form is invalid: then nothing was begun. */
  work(ctx: OpenContext, uuid: string, form: Form): ActionWork;
}

function bulk(action: BulkAction, of: "one" | "all"): Action {
  const label = action.labels[of];
  return {
    name: of === "one" ? action.verb : `${action.verb}-all`,
    label,
    ask(ctx) {
      const whyNot = action.whyNot?.(ctx) ?? null;
      const content = <p>{whyNot ?? action.effect}</p>;
      return { title: `${label}?`, content, button: whyNot === null ? label : null };
    },
    work: (ctx, uuid) => async (how) => {
      const report = await action.work(ctx, of === "one" ? [uuid] : "all", how);
      return { isDone: isWhole(report), message: reportInWords(report, action.doneWord) };
    },
  };
}

const MEANINGS: Readonly<Record<VarDifference["state"], string>> = {
  same: "same",
  differs: "differs",
  missing: "missing on the platform",
  extra: "on the platform only",
  foreign: "on the platform, never set from here",
};

export function DiffTable({ of: vars }: { of: readonly VarDifference[] }) {
  return (
    <Table
      columns={[
        ["Name", ({ name }) => <code>{name}</code>],
        ["Compared", ({ state }) => MEANINGS[state]],
      ]}
      rows={vars}
      empty="There are no config vars, here or on the platform."
    />
  );
}

const pushConfigVars: Action = {
  name: "push",
  label: "Push its config vars",
  async ask(ctx, uuid) {
    const vars = await diffConfig(ctx, uuid);
    const isAsWanted = differing(vars).length === 0;
    return {
      title: "Push config vars to the platform?",
      content: (
        <>
          <DiffTable of={vars} />
          <p>
            {isAsWanted
              ? "The platform has all that is known to be wanted."
              : "What is missing or differs is set as your service wants it, and what it no longer wants is removed. What was never set from here stays."}
          </p>
        </>
      ),
      button: isAsWanted ? null : "Push",
    };
  },
  work: (ctx, uuid) => async () => ({
    isDone: true,
    message: changedInWords(await pushConfig(ctx, uuid)),
  }),
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
      const report = await waitUntilFresh(ctx, await setSecret(ctx, value), how);
      return { isDone: true, message: secretInWords(report) };
    };
  },
};

const reseal: Action = {
  name: "reseal",
  label: "Re-seal everything",
  async ask({ db, vault }) {
    const lines = [
      "Every sealed value is sealed anew with ENCRYPTION_KEY, so that older keys can be dropped. It can be stopped and begun again at any time.",
      ...keysInWords(await countKeyUse(db), vault),
    ];
    return { title: "Re-seal everything?", content: lines.map((line) => <p>{line}</p>), button: "Re-seal" };
  },
  work: (ctx) => async (how) => {
    const result = await resealAll(ctx, how);
    return { isDone: result.isDone, message: resealInWords(result, ctx.vault) };
  },
};

const isOfSteps = ({ group }: BulkAction) => group === "steps";

/** The actions on one resource, at `/operator/resources/:uuid/NAME`. Each is also a command of `kit`. */
export const OF_ONE: readonly Action[] = [
  ...BULK_ACTIONS.filter((each) => !isOfSteps(each)).map((each) => bulk(each, "one")),
  pushConfigVars,
];

/** Those on what your functions have not finished, for a resource that has some. */
export const OF_ITS_STEPS = BULK_ACTIONS.filter(isOfSteps).map((each) => bulk(each, "one"));

/** Those of your service, as `your-NAME`. */
export function yoursOfOne(ctx: Context): Action[] {
  return yourActions(ctx).map(({ name, label, effect }) => ({
    ...{ name: `your-${name}`, label },
    ask: () => ({ title: `${label}?`, content: <p>{effect}</p>, button: label }),
    work: (_ctx, uuid) => async (how) => ({
      isDone: true,
      message: await runYourAction(ctx, name, uuid, how),
    }),
  }));
}

/** The actions on all resources, at `/operator/NAME`; `uuid` is empty for them. */
export const OF_ALL: readonly Action[] = [
  ...BULK_ACTIONS.map((each) => bulk(each, "all")),
  setClientSecret,
  reseal,
];
