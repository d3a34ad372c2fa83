/**
 * An amount that a plan has: a number of things, bytes, a time, or words for what has no number. `per` makes a rate of it:
 * `{ count: 100_000, per: "day" }`. `Infinity` is unlimited.
 */
export type Amount = string | number | Measure;

export type Measure = Readonly<
  ({ count: number } | { bytes: number } | { seconds: number }) & { per?: string }
>;

/** What a plan costs. `{ cents: 900, unit: "month" }` is 9.00 a month; 0 cents are free. */
export interface Price {
  /** A whole number, in the currency that the platform bills. */
  cents: number;
  /** The time that is paid for: `month`, `hour`. */
  unit: string;
  /** What is billed by its use, as customers read it: `1 cent per 1,000 messages`. */
  metered?: string;
}

/** As customers read it: `free`, `9.00 a month`, `9.00 a month and 1 cent per 1,000 messages`. */
export function priceInWords({ cents, unit, metered }: Price): string {
  if (cents === 0) return metered ?? "free";
  const fixed = (cents / 100).toLocaleString("en", { minimumFractionDigits: 2 }) + ratePer(unit);
  return metered ? `${fixed} and ${metered}` : fixed;
}

const BYTES = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte", "petabyte"];
const TIMES = { day: 86_400, hour: 3_600, minute: 60 };

/** As customers read it: `10 GB`, `1,000`, `100,000 a day`, `30 days`, `unlimited`. A GB has 1,000,000,000 bytes. */
export function amountInWords(amount: Amount): string {
  if (typeof amount === "string") return amount;
  if (numberIn(amount) === Infinity) return "unlimited";
  if (typeof amount === "number") return amount.toLocaleString("en");
  return wordsOf(amount) + (amount.per ? ratePer(amount.per) : "");
}

const ratePer = (unit: string) => ` ${/^[aeio]|^hour/i.test(unit) ? "an" : "a"} ${unit}`;

/** The number in an amount; `null` for words. */
export function numberIn(amount: Amount): number | null {
  if (typeof amount !== "object") return typeof amount === "number" ? amount : null;
  return "bytes" in amount ? amount.bytes : "seconds" in amount ? amount.seconds : amount.count;
}

function wordsOf(measure: Measure): string {
  if ("count" in measure) return measure.count.toLocaleString("en");
  if ("seconds" in measure) {
    const [unit, length] = Object.entries(TIMES).find(([, each]) => measure.seconds % each === 0) ?? [
      "second",
      1,
    ];
    return withUnit(measure.seconds / length, unit, "long");
  }
  // 999,999 bytes are 1 MB, not 1,000 kB.
  const power = BYTES.findIndex((_, at) => Math.round(measure.bytes / 1_000 ** at) < 1_000);
  const at = power < 0 ? BYTES.length - 1 : power;
  return withUnit(measure.bytes / 1_000 ** at, BYTES[at]!, at === 0 ? "long" : "short");
}

function withUnit(value: number, unit: string, unitDisplay: "long" | "short"): string {
  return value.toLocaleString("en", { style: "unit", unit, unitDisplay, maximumFractionDigits: 1 });
}

/** "1 row", "2 rows". */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}
