import type { Rule } from "./rule.ts";

export const sources: Rule = ({ env = {} }) =>
  Object.entries(env)
    .filter(
      ([, variable]) => typeof variable !== "string" && variable.generator && variable.value !== undefined,
    )
    .map(([name]) => ({
      path: ["env", name],
      message: "It has a value and a generator: keep the one that is meant.",
    }));
