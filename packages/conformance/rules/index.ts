import type { Rule, RuleGroup } from "../rule.ts";
import { asynchronous } from "./asynchronous.ts";
import { authentication } from "./authentication.ts";
import { deprovision } from "./deprovision.ts";
import { errors } from "./errors.ts";
import { exchange } from "./exchange.ts";
import { http } from "./http.ts";
import { idempotence } from "./idempotence.ts";
import { planChange } from "./plan-change.ts";
import { platformFails } from "./platform-fails.ts";
import { provision } from "./provision.ts";
import { requests } from "./requests.ts";
import { secrets } from "./secrets.ts";
import { signOn } from "./sign-on.ts";
import { tokens } from "./tokens.ts";
import { tombstones } from "./tombstones.ts";

/** Every rule, in the order of the report. */
export const groups: readonly RuleGroup[] = [
  authentication,
  provision,
  requests,
  idempotence,
  exchange,
  tokens,
  platformFails,
  planChange,
  deprovision,
  tombstones,
  asynchronous,
  errors,
  secrets,
  http,
  signOn,
];

export const rules: readonly Rule[] = groups.flatMap((group) => group.rules);

/**
 * The rules with these ids or prefixes: `AUTH-03`, or `AUTH` for all that begin with it. Throws for a name without
 * rules.
 */
export function chosenRules(names: readonly string[]): readonly Rule[] {
  const isNamed = ({ id }: Rule, name: string) =>
    id === name.toUpperCase() || id.startsWith(`${name.toUpperCase()}-`);
  const strange = names.find((name) => !rules.some((rule) => isNamed(rule, name)));
  if (strange !== undefined) throw new Error(`There is no rule ${strange}. All of them: --list.`);
  return names.length === 0 ? rules : rules.filter((rule) => names.some((name) => isNamed(rule, name)));
}
