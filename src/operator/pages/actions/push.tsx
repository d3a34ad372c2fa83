import { diffConfig } from "../../config-diff.ts";
import { isEmpty, planPush, pushShown, type Shown } from "../../config-push.ts";
import { DiffTable } from "../resources/diff-table.tsx";
import type { Form } from "../read-form.ts";
import type { Action } from "./action.ts";

/**
 * Sets the config vars that are missing on the platform. A value that exists there stays, unless its box was ticked.
 */
export const pushConfig: Action = {
  name: "push",
  label: "Push its config vars",
  async ask(services, uuid) {
    const difference = await diffConfig(services, uuid);
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
  work(services, uuid, form) {
    const asked = { shown: shownIn(form), overwrite: form["overwrite"] ?? [] };
    return async () => {
      const changed = await pushShown(services, uuid, asked);
      const message = changed.length > 0 ? `Changed: ${changed.join(", ")}.` : "Nothing had to be changed.";
      return { isDone: true, message };
    };
  },
};

function shownIn(form: Form): Shown[] {
  return (form["shown"] ?? []).map((each) => {
    const [name = "", fingerprint] = each.split(" ");
    return { name, platform: fingerprint ? { fingerprint } : null };
  });
}
