import type { OpenContext } from "../../context.ts";
import { UsedWrongly } from "../errors.ts";
import {
  becameOf,
  listLost,
  type LostRecord,
  madeHere,
  STATES_OF_LOST,
  tickOff,
  TO_DO,
} from "../lost-sales.ts";
import { counted } from "../wording.ts";
import type { Action } from "./action.ts";
import { A, Moment, State, Table } from "./parts.tsx";

/** The list of lost sales, in which an operator ticks off those whose customers have been written to. */
export const lostSales: Action = {
  name: "lost",
  hasInput: true,
  label: "Tick off lost sales",
  async ask({ db }) {
    const { lost, open } = await listLost(db, null, true);
    if (open === 0) return <p>No lost sale is open. Older ones: kit lost.</p>;
    return (
      <>
        <p>
          {counted(open, "provision")} had to be refused, which the platform takes as final. {TO_DO} Then tick
          them off here.
        </p>
        {madeHere(lost).map((words) => (
          <p key={words}>{words}</p>
        ))}
        <Table columns={COLUMNS} rows={lost} />
      </>
    );
  },
  work(ctx: OpenContext, _uuid, form, operator) {
    const ids = form.getAll("id").flatMap((id) => (/^\d{1,15}$/.test(id) ? Number(id) : []));
    if (ids.length === 0) throw new UsedWrongly("Choose at least one lost sale.");
    return async () => ({
      isDone: true,
      message: `${counted(await tickOff(ctx.db, ids, operator.name), "lost sale")} ticked off.`,
    });
  },
};

const COLUMNS: Parameters<typeof Table<LostRecord>>[0]["columns"] = [
  [
    "Customer's add-on",
    ({ id, name, uuid }) => (
      <label>
        <input type="checkbox" name="id" value={id} /> {name ?? uuid}
      </label>
    ),
  ],
  ["Plan", ({ plan }) => plan],
  ["Refused", ({ at }) => <Moment at={at} />],
  ["Because of", ({ reason }) => reason],
  [
    "Now",
    ({ state, endsAt, uuid }) =>
      state === "lost" ? (
        <State of={STATES_OF_LOST.lost} look="bad" />
      ) : (
        <A to={`/resources/${uuid}`}>{becameOf({ state, endsAt })}</A>
      ),
  ],
];
