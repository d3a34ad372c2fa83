/**
 * A state machine as data: the state that each event leads to, and why. `none`: there is no row yet. `any`: the event
 * is possible in every state.
 */
export type Moves<State extends string, Event extends string = string> = {
  readonly [From in State | "none" | "any"]?: { readonly [On in Event]?: readonly [to: State, why: string] };
};

/** The states of a resource (`resources.state`). */
export const RESOURCE_STATES = ["provisioning", "provisioned", "failed", "deprovisioned"] as const;
export type ResourceState = (typeof RESOURCE_STATES)[number];

type ResourceEvent =
  "provision" | "import" | "done" | "announced" | "refused" | "given_up" | "change_plan" | "deprovision";

const CHANGES = "Its plan changes, now or after the open steps. In the other states the plan cannot change.";
const ENDS =
  "The platform ends it, or an operator erases it, or the service takes it down: its provision was answered with an error and not repeated. A tombstone stays; every secret is erased.";

/** Every move of a resource; docs/states.md draws them. The SQL conditions of `whereCan` are made from this table. */
export const RESOURCE_MOVES = {
  none: {
    provision: ["provisioning", "The platform requests it. A row without an answer is work to be done."],
    import: ["provisioned", "It was installed before this service used the kit."],
    deprovision: [
      "deprovisioned",
      "The deprovision overtook the provision, which the tombstone then refuses.",
    ],
  },
  provisioning: {
    done: [
      "provisioned",
      "Your service was done while the platform waited. The answer is 200 with its config.",
    ],
    announced: [
      "provisioned",
      "It was answered 202. The platform now has the config vars and the report of success.",
    ],
    refused: ["failed", "Your service refused while the platform waited. The answer is the refusal."],
    given_up: [
      "failed",
      "It was answered 202 and cannot be completed: refused, not done within 11 hours, grant lost, or given up by an operator.",
    ],
    change_plan: ["provisioning", CHANGES],
    deprovision: ["deprovisioned", ENDS],
  },
  provisioned: {
    change_plan: ["provisioned", CHANGES],
    deprovision: ["deprovisioned", ENDS],
  },
  failed: { deprovision: ["deprovisioned", ENDS] },
} as const satisfies Moves<ResourceState, ResourceEvent>;

const isMove = (event: ResourceEvent, state: ResourceState) =>
  (RESOURCE_MOVES as Moves<ResourceState, ResourceEvent>)[state]?.[event] !== undefined;

/** Whether a resource in this state still needs work other than its clean-up. */
export const isAlive = (state: ResourceState) => isMove("change_plan", state);

/** SQL condition: the event is possible in the state of the resource aliased `r`. */
export function whereCan(event: ResourceEvent): string {
  const from = RESOURCE_STATES.filter((state) => isMove(event, state));
  return `r.state IN (${from.map((state) => `'${state}'`).join(", ")})`;
}
