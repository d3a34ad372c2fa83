import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";
import { Facts } from "../../pages/pages.tsx";
import { distance, ISO_TIME, type NamedFact } from "../wording.ts";

export const number = (value: number): string => value.toLocaleString("en-GB");

/** Good, can wait, bad, or over (`gone`). */
export type Look = "well" | "wait" | "bad" | "gone";

const LOOKS: Readonly<Record<string, Look>> = {
  provisioned: "well",
  active: "well",
  done: "well",
  provisioning: "wait",
  grant_pending: "wait",
  running: "wait",
  no_grant: "wait",
  failed: "bad",
  grant_lost: "bad",
  needs_reauth: "bad",
  quarantined: "bad",
  stopped: "bad",
  interrupted: "bad",
};

export function State({ of, look = LOOKS[of] ?? "gone" }: { of: string; look?: Look }) {
  return <span class={`state ${look}`}>{of}</span>;
}

/** A time in readable form, UTC, with its distance from `now`: by the clock that the time is of, or ours. `exact`: to the second. */
export function Moment({ at, now, exact = false }: { at: string | Date; now?: string; exact?: boolean }) {
  const iso = new Date(at).toISOString();
  const nowMs = now === undefined ? Date.now() : Date.parse(now);
  return (
    <time dateTime={iso}>
      {iso.slice(0, exact ? 19 : 16).replace("T", " ")} <small>({distance(iso, nowMs)})</small>
    </time>
  );
}

/** Facts as the command line shows them, with the looks of times and states. `now`: by the clock that wrote the times. */
export function NamedFacts({ of, now }: { of: readonly NamedFact[]; now: string }) {
  const shown = ([name, fact]: NamedFact) => {
    const text = String(fact ?? "–");
    if (ISO_TIME.test(text)) return <Moment at={text} now={now} />;
    if (/^[0-9a-f-]{16,36}$/.test(text)) return <code>{text}</code>;
    if (name !== "State") return <bdi>{text}</bdi>;
    const [state = "", why] = text.split(": ");
    return [<State of={state} />, why && ` (${why})`];
  };
  return <Facts of={of.map((named) => [named[0], shown(named)])} />;
}

type Column<Row> = [title: string, cell: (row: Row) => ComponentChildren];

/** Its rows become stacked lists on a small screen. The first column names the row. */
export function Table<Row>({ columns, rows }: { columns: readonly Column<Row>[]; rows: readonly Row[] }) {
  if (rows.length === 0) return <p>None.</p>;
  return (
    <table>
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
            {columns.map(([title, cell], index) => {
              const Cell = index === 0 ? "th" : "td";
              return (
                <Cell scope={index === 0 ? "row" : undefined} data-label={title}>
                  <div>{cell(row)}</div>
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Section(props: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

/** Where the operator's pages are: the paths of their links are below it. */
export const Root = createContext("");

export function A(props: { to: string; role?: "button"; children: ComponentChildren }) {
  return (
    <a role={props.role} href={useContext(Root) + props.to}>
      {props.children}
    </a>
  );
}

interface Link {
  label: string;
  path: string;
  isDangerous?: boolean;
}

/** Those that destroy something apart from the others, in red. */
export function Buttons({ of }: { of: readonly Link[] }) {
  const dangerous = of.filter(({ isDangerous }) => isDangerous);
  const others = of.filter(({ isDangerous }) => !isDangerous);
  return (
    <div class="apart">
      {others.length > 0 && <Links of={others} />}
      {dangerous.length > 0 && <Links of={dangerous} />}
    </div>
  );
}

/** They lead to questions. */
export function Links({ of }: { of: readonly Link[] }) {
  return (
    <ul class="buttons">
      {of.map(({ label, path, isDangerous }) => (
        <li class={isDangerous ? "danger" : undefined}>
          <A to={path} role="button">
            {label}
          </A>
        </li>
      ))}
    </ul>
  );
}

/** The way to the next page of a list, if there is one. */
export function Older({ path }: { path: string | null }) {
  return path ? <A to={path}>Older ones</A> : null;
}

/** What a list is asked for, by the names of its address. */
type Query = Readonly<Record<string, string | undefined>>;

function addressWith(path: string, query: Query): string {
  const given = Object.entries(query).filter((each): each is [string, string] => Boolean(each[1]));
  const text = new URLSearchParams(given).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** To the first page of a list and to the next one; `after` is where this page begins. */
export function Pager(props: {
  path: string;
  query: Query;
  after: string | undefined;
  next: string | null;
  label?: string;
}) {
  const { path, query, after, next, label = "Next page" } = props;
  return (
    <p class="pager">
      {after && <A to={addressWith(path, query)}>First page</A>}
      {next && <A to={addressWith(path, { ...query, after: next })}>{label}</A>}
    </p>
  );
}

/** What narrows a list, each with a link to the list without it. */
export function Filters({ path, of }: { path: string; of: Query }) {
  const given = Object.entries(of).filter(([, value]) => value);
  if (given.length === 0) return null;
  return (
    <ul class="filters" aria-label="Shown are only">
      {given.map(([name, value]) => (
        <li>
          {name}: <bdi>{value}</bdi>{" "}
          <A to={addressWith(path, { ...of, [name]: undefined })}>
            <span aria-hidden="true">✕</span>
            <span class="unseen">without {name}</span>
          </A>
        </li>
      ))}
    </ul>
  );
}

export function Options({ of, value }: { of: readonly string[]; value: string | undefined }) {
  return of.map((each) => (
    <option value={each} selected={each === value}>
      {each}
    </option>
  ));
}

/** A choice of one, or any. A value that is none of them, such as a plan of the past, is kept as one. */
export function Select(props: {
  name: string;
  label: string;
  value: string | undefined;
  of: readonly string[];
}) {
  const { name, label, value, of } = props;
  const others = value && !of.includes(value) ? [value] : [];
  return (
    <label>
      {label}
      <select name={name}>
        <option value="">any</option>
        <Options of={[...of, ...others]} value={value} />
      </select>
    </label>
  );
}
