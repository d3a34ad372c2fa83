import { isObject } from "../is-object.ts";
import { attachmentName } from "./attachment-name.ts";
import * as rule from "./rules.ts";

const LONGEST_NAME = 30;

const configVarName = rule.matching(/^[^=\0]+$/, "must be a config var's name: not empty, without = and NUL");
/** Many manifests have command-line flags after the plan; they have no effect. */
const addonAndPlan = rule.matching(/^[^\s:]+(:[^\s:]+)?( +--\S.*)?$/, "must be addon or addon:plan");

const envEntry = rule.members({
  description: rule.text,
  value: rule.text,
  required: rule.flag,
  generator: rule.only("secret"),
});
const addonEntry = rule.members({ plan: addonAndPlan, as: rule.text, options: rule.table(() => []) }, [
  "plan",
]);
const script = rule.members({ command: rule.text, size: rule.text }, ["command"]);

/** Two attachments of one app may not have the same name. */
const differentNames: rule.Rule = (addons, pointer) => {
  const taken = new Set<string>();
  return (Array.isArray(addons) ? addons : []).flatMap((addon, index) => {
    const name = isObject(addon) && typeof addon["as"] === "string" ? attachmentName(addon["as"]) : "";
    if (name !== "" && taken.has(name))
      return [{ pointer: `${pointer}/${index}/as`, message: "is there twice" }];
    taken.add(name);
    return [];
  });
};

/** The rules of the platform document's table, row by row. */
export const base: Record<string, rule.Rule> = {
  name: rule.atMost(LONGEST_NAME),
  description: rule.text,
  keywords: rule.list(rule.text),
  website: rule.text,
  repository: rule.text,
  logo: rule.text,
  success_url: rule.text,
  stack: rule.text,
  image: rule.text,
  env: rule.table(rule.either(rule.text, envEntry), configVarName),
  formation: rule.table(rule.members({ quantity: rule.count, size: rule.text })),
  addons: rule.both(rule.list(rule.either(addonAndPlan, addonEntry)), differentNames),
  buildpacks: rule.list(rule.members({ url: rule.filledText }, ["url"])),
  scripts: rule.members({
    postdeploy: rule.either(rule.text, script),
    "pr-predestroy": rule.either(rule.text, script),
  }),
};

/** Only these two environments may have overrides, and each may override any key. */
const environments = rule.table(rule.members(base), rule.only("test", "review"));

export const manifestRule: rule.Rule = rule.members({ ...base, environments });
