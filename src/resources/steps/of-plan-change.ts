// Whether a step belongs to a plan change: it does from the `change_plan` to the `finish` and the `announce` that it
// turns into. All others belong to the provision.

/** Of a claimed step. */
export const isOfPlanChange = ({ detail }: { detail: { plan?: string } }): boolean =>
  detail.plan !== undefined;

/** SQL condition: of the step aliased `step`. */
export const ofPlanChange = (step: string): string => `(${step}.detail ? 'plan')`;
