/** A state machine as data: from which state an event leads to which, and why. From `none`: there is no row yet. */
export type Moves<State extends string, Event extends string = string> = {
  readonly [From in State | "none" | "any"]?: { readonly [On in Event]?: readonly [to: State, why: string] };
};

/** The states of a resource (`resources.state`). */
export const RESOURCE_STATES = ["provisioning", "provisioned", "failed", "deprovisioned"] as const;
export type ResourceState = (typeof RESOURCE_STATES)[number];

type ResourceEvent =
  "provision" | "import" | "done" | "announced" | "refused" | "given_up" | "change_plan" | "deprovision";

const CHANGES =
  "Its plan changes, at once or behind what is under way. In the other states nothing is left to change.";
const ENDS = "The platform ends it, or an operator erases it: a tombstone stays, every secret is erased.";

/** Every move of a resource; docs/states.md draws them. The statements of store.ts take their conditions from here. */
export const RESOURCE_MOVES = {
  none: {
    provision: [
      "provisioning",
      "The platform asks for it. A row without an answer is work that must be done.",
    ],
    import: ["provisioned", "It was installed before this service used the kit."],
    deprovision: ["deprovisioned", "A deprovision overtook its provision: the tombstone stops that."],
  },
  provisioning: {
    done: ["provisioned", "Your service was done while the platform waited: its config is the answer, 200."],
    announced: [
      "provisioned",
      "It was answered 202; the platform has the config vars by now, and was told that it is done.",
    ],
    refused: ["failed", "Your service refused while the platform waited: the refusal is the answer."],
    given_up: [
      "failed",
      "It was put off and cannot be completed: refused, not done in 11 hours, its grant lost, or given up by an operator.",
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

/** Whether work of it is still wanted, but for its clean-up. */
export const isAlive = (state: ResourceState) => isMove("change_plan", state);

/** SQL condition: the resource aliased `r` is in a state in which this can happen. */
export function whereCan(event: ResourceEvent): string {
  const from = RESOURCE_STATES.filter((state) => isMove(event, state));
  return `r.state IN (${from.map((state) => `'${state}'`).join(", ")})`;
}
