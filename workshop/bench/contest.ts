import { load, type LoadPlan, type LoadResult, percentile, type Traffic } from "./load.ts";
import { cpuMicrosOf, memoryMbOf } from "./proc.ts";

/** The figures of one round of work. */
export interface Sample {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Processor time of the measured process for each piece of work. */
  cpuMicros: number;
  memoryMb: number;
}

/** One of the two sides that are compared; `round` does and measures one round of the work. */
export interface Contestant {
  round(): Promise<Sample>;
}

/** Sends the traffic to the program and measures the process that answers. Throws if any answer was wrong. */
export async function measureLoad(
  program: { url: URL; pid: number },
  traffic: Traffic,
  plan: LoadPlan,
): Promise<Sample> {
  const before = cpuMicrosOf(program.pid);
  const result = await load(program.url, traffic, plan);
  if (result.wrong.length > 0) throw new WrongAnswers(result);
  const { answered, seconds, latencies } = result;
  return {
    perSecond: answered / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    cpuMicros: (cpuMicrosOf(program.pid) - before) / answered,
    memoryMb: memoryMbOf(program.pid),
  };
}

/** Some answers were wrong, so the round does not count, however fast it was. */
export class WrongAnswers extends Error {
  constructor({ answered, wrong }: LoadResult) {
    super(
      `${wrong.length} wrong answers beside ${answered} right ones: ${[...new Set(wrong)].slice(0, 3).join("; ")}`,
    );
  }
}

export interface Outcome {
  floor: Sample;
  subject: Sample;
  /**
   * The subject's speed divided by the floor's: the median over all rounds, each compared with its neighbour in time.
   */
  ratio: number;
}

/** Lets both do `rounds` rounds in the order A B B A A B …, so that changes in the machine's load affect both alike. */
export async function contest(floor: Contestant, subject: Contestant, rounds: number): Promise<Outcome> {
  const samples: { floor: Sample; subject: Sample }[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) samples.push({ floor: await floor.round(), subject: await subject.round() });
    else {
      const second = await subject.round();
      samples.push({ floor: await floor.round(), subject: second });
    }
  }
  return {
    floor: medianSample(samples.map((sample) => sample.floor)),
    subject: medianSample(samples.map((sample) => sample.subject)),
    ratio: median(samples.map((sample) => sample.subject.perSecond / sample.floor.perSecond)),
  };
}

/** The median of each step's samples, measured in the order A B C C B A. */
export async function thereAndBack<Step>(
  steps: readonly Step[],
  measure: (step: Step) => Promise<Sample>,
): Promise<Sample[]> {
  const samples = new Map<Step, Sample[]>(steps.map((step) => [step, []]));
  for (const step of [...steps, ...steps.toReversed()]) samples.get(step)!.push(await measure(step));
  return [...samples.values()].map(medianSample);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1]! + sorted[Math.floor(middle)]!) / 2;
}

/** The median of each figure separately. */
function medianSample(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample) => median(samples.map((sample) => sample[figure]));
  return {
    perSecond: of("perSecond"),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    cpuMicros: of("cpuMicros"),
    memoryMb: of("memoryMb"),
  };
}
