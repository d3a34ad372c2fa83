import * as rule from "./rules.ts";

const LONGEST_NAME = 30;

const configVarName = rule.matching(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  "must be a config var's name: letters, digits and underscores",
);
const attachmentName = rule.matching(
  /^[A-Z][A-Z0-9_]*$/,
  "must be an attachment's name: upper-case letters, digits and underscores",
);
const addonAndPlan = rule.matching(/^[^\s:]+(:[^\s:]+)?$/, "must be addon or addon:plan");

const envEntry = rule.members({
  description: rule.text,
  value: rule.text,
  required: rule.flag,
  generator: rule.only("secret"),
});
const addonEntry = rule.members({ plan: addonAndPlan, as: attachmentName, options: rule.table(() => []) }, [
  "plan",
]);
const script = rule.members({ command: rule.filledText, size: rule.text }, ["command"]);

/** The document's table, row by row. */
const base: Record<string, rule.Rule> = {
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
  addons: rule.list(rule.either(addonAndPlan, addonEntry)),
  buildpacks: rule.list(rule.members({ url: rule.filledText }, ["url"])),
  scripts: rule.members({
    postdeploy: rule.either(rule.filledText, script),
    "pr-predestroy": rule.either(rule.filledText, script),
  }),
};

/** Only these two may have overrides, and each may override any key. */
const environments = rule.table(rule.members(base), rule.only("test", "review"));

export const manifestRule: rule.Rule = rule.members({ ...base, environments });
