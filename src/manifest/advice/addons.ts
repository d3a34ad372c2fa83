import { attachmentName } from "../attachment-names.ts";
import type { ManifestKeys } from "../schema.ts";
import type { Advice, Rule } from "./rule.ts";

type Addon = NonNullable<ManifestKeys["addons"]>[number];

/** Reported only at the first such add-on, with the number of the others. */
export const stringForm: Rule = ({ addons = [] }) => {
  const [first, ...more] = addons.flatMap((addon, index) => (typeof addon === "string" ? [index] : []));
  if (first === undefined) return [];
  const others = more.length > 0 ? ` The same goes for ${more.length} more.` : "";
  const message = `The object form is preferred: { "plan": "${planOf(addons[first]!)}" }.${others}`;
  return [{ path: ["addons", first], message }];
};

export const attachmentNames: Rule = ({ addons = [] }) =>
  addons.flatMap((addon, index) => {
    if (typeof addon === "string" || addon.as === undefined) return [];
    const name = attachmentName(addon);
    const path = ["addons", index, "as"];
    if (name === "") return [{ path, message: "This is empty: leave it out to get the default name." }];
    if (/^[A-Z][A-Z0-9_]*$/.test(name)) return [];
    return [
      { path, message: "A name that is sure to work begins with a letter, and holds letters, digits and _." },
    ];
  });

export const options: Rule = ({ addons = [] }) =>
  addons.flatMap((addon, index) =>
    Object.entries(typeof addon === "string" ? {} : (addon.options ?? {}))
      .filter(([, value]) => typeof value !== "string" && value !== true)
      .map(([name]) => ({
        path: ["addons", index, "options", name],
        message: "An option should be a string, or true where it takes no value.",
      })),
  );

export const flags: Rule = ({ addons = [] }) =>
  eachPlan(addons, (text) =>
    text.includes(" ")
      ? "This is not part of the plan's name: give it in the object form's options."
      : undefined,
  );

/** Review and CI apps get the plan that the add-on's provider set for ephemeral apps. */
export const ephemeralPlans: Rule = ({ addons = [] }) =>
  eachPlan(addons, (text) =>
    planOf(text).includes(":")
      ? `Review and CI apps ignore the plan and get one for ephemeral apps: write "${text.split(":")[0]}".`
      : undefined,
  );

function eachPlan(addons: readonly Addon[], say: (text: string) => string | undefined): Advice[] {
  return addons.flatMap((addon, index) => {
    const isText = typeof addon === "string";
    const message = say(isText ? addon : addon.plan);
    return message === undefined ? [] : [{ path: ["addons", index, ...(isText ? [] : ["plan"])], message }];
  });
}

/** The addon or addon:plan, without the command-line flags that some authors append to it. */
function planOf(addon: Addon): string {
  return (typeof addon === "string" ? addon : addon.plan).split(" ")[0]!;
}
