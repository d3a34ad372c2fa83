/** One move of a state machine, as data. From `none`: there is no row yet. */
export interface Move<State extends string = string, Event extends string = string> {
  from: State | "none" | "any";
  on: Event;
  to: State;
  why: string;
}

/** The states of a resource (`resources.state`). */
export const RESOURCE_STATES = ["provisioning", "provisioned", "failed", "deprovisioned"] as const;
export type ResourceState = (typeof RESOURCE_STATES)[number];

type ResourceEvent =
  "provision" | "import" | "done" | "announced" | "refused" | "given_up" | "change_plan" | "deprovision";

/** Every move of a resource; docs/states.md draws them. The statements of store.ts take their conditions from here. */
export const RESOURCE_MOVES: readonly Move<ResourceState, ResourceEvent>[] = [
  {
    from: "none",
    on: "provision",
    to: "provisioning",
    why: "The platform asks for it. A row without an answer is work that must be done.",
  },
  {
    from: "none",
    on: "import",
    to: "provisioned",
    why: "It was installed before this service used the kit.",
  },
  {
    from: "none",
    on: "deprovision",
    to: "deprovisioned",
    why: "A deprovision overtook its provision: the tombstone stops that.",
  },
  {
    from: "provisioning",
    on: "done",
    to: "provisioned",
    why: "Your service was done while the platform waited: its config is the answer, 200.",
  },
  {
    from: "provisioning",
    on: "announced",
    to: "provisioned",
    why: "It was answered 202; the platform has the config vars by now, and was told that it is done.",
  },
  {
    from: "provisioning",
    on: "refused",
    to: "failed",
    why: "Your service refused while the platform waited: the refusal is the answer.",
  },
  {
    from: "provisioning",
    on: "given_up",
    to: "failed",
    why: "It was put off and cannot be completed: refused, not done in 11 hours, its grant lost, or given up by an operator.",
  },
  ...(["provisioning", "provisioned"] as const).map((state) => ({
    from: state,
    on: "change_plan" as const,
    to: state,
    why: "Its plan changes, at once or behind what is under way. In the other states nothing is left to change.",
  })),
  ...(["provisioning", "provisioned", "failed"] as const).map((from) => ({
    from,
    on: "deprovision" as const,
    to: "deprovisioned" as const,
    why: "The platform ends it, or an operator erases it: a tombstone stays, every secret is erased.",
  })),
];

/** SQL condition: the resource aliased `r` is in a state in which this can happen. */
export function mayBe(event: ResourceEvent): string {
  const from = RESOURCE_STATES.filter((state) => canBe(event, state));
  return `r.state IN (${from.map((state) => `'${state}'`).join(", ")})`;
}

/** Whether this can happen to a resource in that state. */
export function canBe(event: ResourceEvent, state: ResourceState): boolean {
  return RESOURCE_MOVES.some(({ from, on }) => from === state && on === event);
}

/** The state of a provision after this answer to it. */
export function afterAnswer(result: "done" | "later" | "refused"): ResourceState {
  return (
    RESOURCE_MOVES.find(({ from, on }) => from === "provisioning" && on === result)?.to ?? "provisioning"
  );
}
