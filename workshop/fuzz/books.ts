import type { World } from "../../test/support/world.ts";
import type { Case } from "./provision-cases.ts";
import { differences, read, type Reading } from "./reading.ts";
import type { Sent } from "./send.ts";

interface Row extends Omit<Reading, "uuid"> {
  uuid: string | null;
  plan: string;
  state: string;
  status: number | null;
  credential: string | null;
  steps: string[];
}

/** Records the answers to a batch of requests and compares them with what the database holds. */
export function createBooks({ rows }: Pick<World, "rows">) {
  const accepted = new Map<string, { reading: Reading; answer: string }>();
  /**
   * The uuids of requests whose sender did not wait for the answer: they may have been accepted, or still be in
   * progress.
   */
  const unknown = new Set<string>();

  return {
    /** Records an answer, and returns what is wrong with it. */
    note({ plain }: Case, { status, text }: Sent): string[] {
      const reading = read(plain);
      if (status === null) {
        if (reading) unknown.add(reading.uuid);
        return [];
      }
      if (status >= 300) return [];
      if (!reading) return ["accepted what no reader of JSON understands"];
      const answer = `${status} ${text}`;
      const first = accepted.get(reading.uuid) ?? { reading, answer };
      accepted.set(reading.uuid, first);
      // A repeated request may bring the grant that the first one lacked.
      first.reading.hasCode ||= reading.hasCode;
      return first.answer === answer ? [] : ["a repeated request got another answer than the first"];
    },

    /** Returns what the database holds but should not, or lacks, then empties it. */
    async close(): Promise<string[]> {
      const kept = await rows<Row>(KEPT);
      const [strays] = await rows<{ count: number }>(STRAYS);
      const uuids = new Set(kept.map(({ uuid }) => uuid));
      const faults = [
        ...kept.flatMap(faultsOf),
        ...[...accepted.keys()].filter((uuid) => !uuids.has(uuid)).map((uuid) => `accepted, and no row: ${uuid}`),
        ...(strays!.count > 0 ? [`${strays!.count} steps or events of no resource`] : []),
      ];
      accepted.clear();
      for (const text of EMPTY) await rows(text);
      return faults;
    },
  };

  function faultsOf(row: Row): string[] {
    const { uuid } = row;
    if (!uuid) return ["a credential without a resource"];
    const asked = accepted.get(uuid);
    if (!asked && !unknown.has(uuid)) return [`refused, and a row: ${uuid}`];
    const isAsAsked = unknown.has(uuid) || !asked ? [] : differences(asked.reading, row);
    return [...isAsAsked.map((name) => `${name} is not as it was sent`), ...halves(row)].map(
      (fault) => `${uuid}: ${fault}`,
    );
  }

  /** Traces of a transaction that was not atomic. */
  function halves({ plan, state, status, credential, hasCode, steps, uuid }: Row): string[] {
    const later = { state: "provisioning", status: 202, steps: ["finish"] };
    const now = { state: "provisioned", status: 200, steps: [] };
    const wanted = plan === "dedicated" ? later : now;
    const isUnderWay = unknown.has(uuid!) && state === "provisioning";
    const isWhole = isUnderWay || JSON.stringify({ state, status, steps }) === JSON.stringify(wanted);
    return [
      ...(isWhole ? [] : [`half done: ${JSON.stringify({ plan, state, status, steps })}`]),
      ...(credential === (hasCode ? "grant_pending" : "no_grant") ? [] : [`its credential is ${credential}`]),
    ];
  }
} // prettier-ignore

const KEPT = `
  SELECT r.uuid, r.plan, r.name, r.region, r.callback_url AS "callbackUrl", r.options, r.state, r.answer_status AS status,
    c.state AS credential, c.sealed_grant_code IS NOT NULL AS "hasCode",
    ARRAY(SELECT kind FROM steps s WHERE s.uuid = r.uuid) AS steps
  FROM resources r FULL JOIN credentials c USING (uuid)`;

const STRAYS = `
  SELECT ((SELECT count(*) FROM steps WHERE uuid NOT IN (SELECT uuid FROM resources))
    + (SELECT count(*) FROM events WHERE uuid NOT IN (SELECT uuid FROM resources)))::int AS count`;

/**
 * One statement after the other, so that no session waits for two of their locks; resources that are inserted meanwhile
 * stay complete.
 */
const EMPTY = [
  // One whose caller has gone may still be made: the service would miss it.
  `DELETE FROM resources WHERE uuid NOT IN (SELECT uuid FROM steps WHERE kind = 'provision')`,
  ...["credentials", "steps", "events"].map(
    (table) => `DELETE FROM ${table} WHERE uuid NOT IN (SELECT uuid FROM resources)`,
  ),
];
