import type { ComponentChildren } from "preact";
import { duration } from "../wording.ts";

/** Good, can wait, bad, or over (`gone`). */
export type Look = "well" | "wait" | "bad" | "gone";

const LOOKS: Readonly<Record<string, Look>> = {
  ...{ provisioned: "well", active: "well", done: "well" },
  ...{ provisioning: "wait", grant_pending: "wait", running: "wait", no_grant: "wait" },
  ...{ failed: "bad", grant_lost: "bad", needs_reauth: "bad", quarantined: "bad", stopped: "bad" },
};

/** A state by its name, with a sign and a colour of the same meaning. */
export function State({ of, look = LOOKS[of] ?? "gone" }: { of: string; look?: Look }) {
  return <span class={`state ${look}`}>{of}</span>;
}

/**
 * A time in readable form, UTC, with its distance from now. `now`: by the clock that the time is of, for what may be
 * still to come; without it, what is later than our own clock is shown as "now".
 */
export function Moment({ at, now }: { at: string | Date; now?: string }) {
  const date = new Date(at);
  const iso = date.toISOString();
  const ms = date.getTime() - (now === undefined ? Date.now() : Date.parse(now));
  return (
    <time dateTime={iso}>
      {iso.slice(0, 16).replace("T", " ")}{" "}
      <span class="quiet">({distance(now === undefined ? Math.min(ms, 0) : ms)})</span>
    </time>
  );
}

function distance(ms: number): string {
  const length = duration(Math.abs(ms) / 1_000);
  if (Math.abs(ms) < 1_000) return "now";
  return ms < 0 ? `${length} ago` : `in ${length}`;
}

type Column<Row> = [title: string, cell: (row: Row) => ComponentChildren];

/** A table whose rows become stacked lists on a small screen. The first column names the row. */
export function Table<Row>({ columns, rows }: { columns: readonly Column<Row>[]; rows: readonly Row[] }) {
  return (
    <table class="stacked">
      <thead>
        <tr>
          {columns.map(([title]) => (
            <th scope="col">{title}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            {columns.map(([title, cell], index) =>
              index === 0 ? (
                <th scope="row" data-label={title}>
                  {cell(row)}
                </th>
              ) : (
                <td data-label={title}>{cell(row)}</td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Fact = [name: ComponentChildren, value: ComponentChildren];

/** Names and values, one below the other. A null is left out. */
export function Facts({ of }: { of: readonly (Fact | null)[] }) {
  return (
    <dl>
      {of.map(
        (fact) =>
          fact && (
            <>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </>
          ),
      )}
    </dl>
  );
}

/** A part of a page under its heading; with `live`, the script requests it again after so many ms. */
export function Section({
  title,
  id,
  live,
  children,
}: {
  title: string;
  id?: string;
  live?: number;
  children: ComponentChildren;
}) {
  return (
    <section id={id} data-live={live}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** How often the script requests the parts of a page again that change. */
export const LIVE_MS = 5_000;

/** Actions as links to their confirmation pages; `root` is the address below which their names stand. */
export function ActionLinks({
  actions,
  root,
}: {
  actions: readonly { name: string; label: string }[];
  root: string;
}) {
  return (
    <ul class="actions">
      {actions.map(({ name, label }) => (
        <li>
          <a role="button" href={`${root}/${name}`}>
            {label}
          </a>
        </li>
      ))}
    </ul>
  );
}
