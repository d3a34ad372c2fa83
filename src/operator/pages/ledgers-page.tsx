import type { ComponentChildren } from "preact";
import type { OpenContext } from "../../context.ts";
import type { Page } from "../../pages/pages.tsx";
import { UsedWrongly } from "../errors.ts";
import { type FixableKind, type Kind, KINDS, MOST_NAMED } from "../reconcile/differences.ts";
import type { KnownDifference, StoredComparison } from "../reconcile/findings-store.ts";
import { questionOf } from "../reconcile/fixes.ts";
import { fixKnown, type KnownDifferences, knownDifferences, type KnownOfKind } from "../reconcile/known.ts";
import { isWhole, reportInWords, wasInterrupted } from "../report.ts";
import { counted } from "../wording.ts";
import type { Action } from "./action.ts";
import { A, Links, type Look, Moment, number, Section, State, Table } from "./parts.tsx";

// What is known to differ between the platform's list, ours and that of the vendor's backend, and what cures it.

const UNDER = "/ledgers";

/** Each kind that has a cure here: what its button says. */
const LABELS: Readonly<Record<FixableKind, string>> = {
  gone_at_platform: "End them here and in your backend",
  unknown_here: "Import them",
  orphan_at_backend: "Take them down in your backend",
  missing_at_backend: "Make them again in your backend",
  plan_differs: "Change them to the platform's plan",
  config_differs: "Make their config vars alike",
  app_differs: "Store what the platform says",
};

/** These take something down. */
const ENDS: readonly Kind[] = ["gone_at_platform", "orphan_at_backend"];

const isFixable = (kind: Kind): kind is FixableKind => Object.hasOwn(LABELS, kind);
const nameOf = (kind: FixableKind) => `fix-${kind}`;

/** Without these, the cure is not for all of a kind. */
const NEEDS: Partial<Record<Kind, string>> = {
  unknown_here:
    "can be imported: those of which the platform's list names the plan. For the others: kit resources import.",
  orphan_at_backend:
    "can be taken down: those that the platform's list lacks. For the others: kit reconcile --platform-list.",
};

/** A confirmation page for each kind, at `/operator/ledgers/fix-KIND`. */
export const FIXES: readonly Action[] = (Object.keys(LABELS) as FixableKind[]).map((kind) => ({
  name: nameOf(kind),
  label: LABELS[kind],
  under: UNDER,
  isDangerous: ENDS.includes(kind),
  async whyNot(ctx) {
    const known = (await knownDifferences(ctx)).kinds.find((each) => each.kind === kind);
    if (!known) return "No resource is known to differ in this way any more.";
    return known.canBeFixed === 0 ? `None of ${number(known.count)} ${NEEDS[kind]}` : null;
  },
  ask: (ctx) => questionAbout(ctx, kind),
  work(ctx, _uuid, form) {
    const asked = form.get("count") ?? "";
    if (!/^\d{1,9}$/.test(asked)) throw new UsedWrongly("The form lacks its number. Open the page again.");
    return async (how) => {
      const report = await fixKnown(ctx, kind, Number(asked), how);
      const message = reportInWords(report, "dealt with");
      return { isDone: isWhole(report), isInterrupted: wasInterrupted(report, how), message };
    };
  },
}));

async function questionAbout(ctx: OpenContext, kind: FixableKind): Promise<ComponentChildren> {
  const { shown, kinds } = await knownDifferences(ctx);
  const { count, canBeFixed } = kinds.find((each) => each.kind === kind)!;
  return (
    <>
      <p>
        <strong>{counted(count, "resource")}</strong>: {KINDS[kind].what}. {await questionOf(ctx, kind)}
      </p>
      {NEEDS[kind] && canBeFixed < count && (
        <p>
          Of these, {number(canBeFixed)} {NEEDS[kind]}
        </p>
      )}
      {count > MOST_NAMED && (
        <p>
          At most {number(MOST_NAMED)} are dealt with at once: compare again, and press again for the others.
        </p>
      )}
      {shown && (
        <p>
          They were compared <Moment at={shown.endedAt ?? shown.startedAt} />. Each is looked at once more.
        </p>
      )}
      <input type="hidden" name="count" value={count} />
    </>
  );
}

export function ledgersPage({ shown, unfinished, kinds }: KnownDifferences): Page {
  const all = kinds.reduce((sum, { count }) => sum + count, 0);
  return {
    title: "Ledgers",
    content: (
      <>
        <p>
          What is known to differ between the platform's list, ours and that of your backend: what the last
          comparison found and is still so, and what the service noticed by itself.{" "}
          <strong>{all === 0 ? "Nothing." : `${number(all)} in all.`}</strong>
        </p>
        {kinds.map((known) => (
          <OfKind known={known} />
        ))}
        <Section title="The last comparison">
          {shown === null ? (
            <p>None is stored. What the service notices by itself is never all: run one.</p>
          ) : (
            <Run of={shown} />
          )}
          {unfinished && unfinished !== shown && <Run of={unfinished} />}
        </Section>
        <Section title="Compare now">
          <HowTo />
        </Section>
      </>
    ),
  };
}

function OfKind({ known: { kind, count, since, first, cure } }: { known: KnownOfKind }) {
  const more = count - first.length;
  return (
    <Section title={`${kind}: ${number(count)}`}>
      <p>
        {counted(count, "resource")}: {KINDS[kind].what}. First found <Moment at={since} />.
      </p>
      <Table columns={COLUMNS} rows={first} />
      {more > 0 && (
        <p>
          {number(more)} more: <code>kit reconcile --json</code>
        </p>
      )}
      <p>
        Cure: <code>{cure}</code>
      </p>
      {isFixable(kind) && (
        <Links
          of={[
            {
              label: LABELS[kind],
              path: `${UNDER}/${nameOf(kind)}`,
              isDangerous: ENDS.includes(kind),
            },
          ]}
        />
      )}
    </Section>
  );
}

const COLUMNS: Parameters<typeof Table<KnownDifference>>[0]["columns"] = [
  [
    "Resource",
    ({ uuid, name, isOurs }) => (
      <span>
        {isOurs ? (
          <A to={`/resources/${uuid}`}>
            <bdi>{name ?? uuid}</bdi>
          </A>
        ) : (
          <bdi>{name ?? uuid}</bdi>
        )}
        {name !== null && <small> {uuid}</small>}
      </span>
    ),
  ],
  ["Plan", ({ plan }) => <bdi>{plan ?? "–"}</bdi>],
  ["App", ({ app }) => <bdi>{app ?? "–"}</bdi>],
  ["Ours", ({ ours }) => <bdi>{ours ?? "–"}</bdi>],
  ["Theirs", ({ theirs }) => <bdi>{theirs ?? "–"}</bdi>],
  ["Since", ({ since }) => <Moment at={since} />],
];

function stateOf({ isWhole: isOver, isRunning, faults }: StoredComparison): [of: string, look: Look] {
  if (isRunning) return ["running", "wait"];
  if (!isOver) return ["stopped", "bad"];
  return faults.length > 0 ? ["incomplete", "bad"] : ["done", "well"];
}

function Run({ of }: { of: StoredComparison }) {
  const { startedAt, endedAt, isListed, after, next, checked, total, named, unnamed, backend } = of;
  const [state, look] = stateOf(of);
  const differences = Object.values(unnamed).reduce((sum, some) => sum + some, named);
  const isUnfinished = !of.isWhole;
  return (
    <article>
      <p>
        <State of={state} look={look} /> Begun <Moment at={startedAt} />
        {endedAt && [of.isWhole ? ", ended " : ", stopped ", <Moment at={endedAt} />]}
        {isListed ? ", with the platform's list" : ", without a list"}
        {backend !== null && `, with ${counted(backend, "resource")} of your backend`}.{" "}
        {after && `Only resources after ${after} were compared. `}
        Of ours, {number(checked)}
        {isUnfinished && total > 0 && ` of ${number(total)}`} compared; {counted(differences, "difference")}{" "}
        found{isUnfinished && " so far"}.
      </p>
      {isUnfinished && !of.isRunning && (
        <p>
          To continue:{" "}
          <code>
            kit reconcile{next === null ? "" : ` --after ${next}`}
            {isListed && " --platform-list < uuids.txt"}
          </code>
        </p>
      )}
      {[...of.faults, ...of.notes].map((line) => (
        <p>
          <small>{line}</small>
        </p>
      ))}
    </article>
  );
}

function HowTo() {
  return (
    <>
      <p>
        <code>kit reconcile</code> asks the platform about each of our resources, 20 a second (
        <code>--rate</code>), and changes nothing. It can be stopped, and continues where it was.
      </p>
      <p>
        <code>{"kit reconcile --platform-list < uuids.txt"}</code> reads the platform's uuids on standard
        input, one at the beginning of each line: the partner portal's export, or what the platform's support
        sends. Only that finds what the platform has and we have not.
      </p>
      <p>
        If your service has a <code>list</code>, both compare your backend, too. This page then shows what was
        found.
      </p>
    </>
  );
}
