export type StepKind =
  "provision" | "finish" | "announce" | "change_plan" | "discover" | "report_failure" | "clean_up";

/** Which of two queues a kind of step stands in. */
export type Lane = "vendor" | "platform";

/**
 * The vendor's functions may take minutes each. A step that only tells or asks the platform something takes a moment,
 * and must never wait behind them: so each lane is claimed separately and has places of its own.
 */
const LANES: Readonly<Record<StepKind, Lane>> = {
  provision: "vendor",
  finish: "vendor",
  change_plan: "vendor",
  clean_up: "vendor",
  announce: "platform",
  discover: "platform",
  report_failure: "platform",
};

/** SQL condition on `kind`: the step is in this lane. */
export const isIn = (lane: Lane) =>
  `kind IN (${Object.keys(LANES)
    .filter((kind) => LANES[kind as StepKind] === lane)
    .map((kind) => `'${kind}'`)
    .join(", ")})`;

/** Makes something for each lane, such as a statement. */
export function eachLane<Made>(make: (lane: Lane) => Made): Readonly<Record<Lane, Made>> {
  return { vendor: make("vendor"), platform: make("platform") };
}
