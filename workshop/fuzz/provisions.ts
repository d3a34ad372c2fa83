import { basic } from "../../test/support/partner-calls.ts";
import type { World } from "../../test/support/world.ts";
import { createRandom } from "../chaos/random.ts";
import { createBooks } from "./books.ts";
import { type Cost, createEffort } from "./effort.ts";
import type { LogWatch } from "./log-watch.ts";
import { envelopeMutations } from "./mutate-envelope.ts";
import { type Case, createCases } from "./provision-cases.ts";
import { isGood } from "./reading.ts";
import { createSender, type Sent } from "./send.ts";

export interface ProvisionsReport {
  cases: number;
  /** The number of answers by status; `none`: the client did not wait. */
  answers: Record<string, number>;
  faults: string[];
  usualMs: number;
  dearest: Cost[];
}

const BATCH = 50;
/** The statuses of a valid refusal; 417 is Node's own. */
const REFUSALS = [400, 413, 415, 417, 422];

/**
 * Sends `count` mutated provision requests, and checks after each batch what they left in the database and in the log.
 */
export async function fuzzProvisions(needs: {
  world: World;
  log: LogWatch;
  seed: number;
  count: number;
  onProgress?: (done: number) => void;
}): Promise<ProvisionsReport> {
  const { world, log, seed, count, onProgress } = needs;
  const { addonId, addonPassword } = world.sandbox.settings;
  const cases = createCases(createRandom(seed), basic(addonId, addonPassword));
  const sender = createSender(world.service.url!);
  const books = createBooks(world);
  const effort = createEffort();
  const answers: Record<string, number> = {};
  const faults: string[] = [];
  const secrets: string[] = [];

  async function tried(each: Case): Promise<Sent> {
    const found = (what: string) => void faults.push(`${each.mutations.join(", ") || "as usual"}: ${what}`);
    secrets.push(...each.secrets);
    try {
      const sent = await sender.send(each);
      answers[sent.status ?? "none"] = (answers[sent.status ?? "none"] ?? 0) + 1;
      [...faultsOf(sent, each), ...books.note(each, sent)].forEach(found);
      return sent;
    } catch (error) {
      found(`no answer: ${String(error)}`);
      return { status: null, text: "", cpuMs: 0, ms: 0 };
    }
  }

  async function settle(): Promise<void> {
    faults.push(...(await books.close()), ...log.faults(secrets.splice(0)));
    cases.forget();
  }

  for (let warming = 0; warming < BATCH; warming++) await tried(cases.usual());
  await settle();
  for (let done = 0; done < count;) {
    for (let inBatch = 0; inBatch < BATCH && done < count; inBatch++, done++) {
      const each = cases.mutated();
      effort.note(each, await tried(each));
      if (inBatch % 10 === 0) effort.usual(await tried(cases.usual()));
    }
    await settle();
    onProgress?.(done);
  }
  await effort.verify(sender.send);
  await books.close();
  sender.close();
  return { cases: count, answers, faults, ...effort.report() };
}

function faultsOf({ status, text }: Sent, { secrets, plain, mutations }: Case): string[] {
  if (status === null) return [];
  const shown = secrets.filter((secret) => text.includes(secret)).map(() => "the answer shows a secret");
  if (status === 200 || status === 202 || status === 417) return shown;
  const isPlainlySent = !mutations.some((name) => name in envelopeMutations);
  if (isPlainlySent && isGood(plain))
    return [...shown, `refused without need: ${status} ${text.slice(0, 200)}`];
  const isKnown = REFUSALS.includes(status) && isRefusal(text);
  return isKnown ? shown : [...shown, `answered ${status} ${text.slice(0, 200)}`];
}

/** Whether an answer is `{id, message}`, both well-formed text, the message a sentence. */
function isRefusal(text: string): boolean {
  try {
    const { id, message, ...others } = JSON.parse(text) as Record<string, string>;
    const isText = id!.isWellFormed() && /^.+\.$/s.test(message!) && message!.isWellFormed();
    return isText && Object.keys(others).length === 0;
  } catch {
    return false;
  }
}
