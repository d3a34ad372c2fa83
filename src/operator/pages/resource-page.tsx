import { KitError, messageOf } from "../../errors.ts";
import type { Page } from "../../pages/pages.tsx";
import { within } from "../../within.ts";
import type { OpenContext } from "../../open-context.ts";
import { appsOf, type AppsReport } from "../platform-call.ts";
import { diffConfig, type ConfigDifference } from "../config-diff.ts";
import type { WaitingStep, WholeResource } from "../resources.ts";
import { duration, planInWords } from "../wording.ts";
import { OF_ONE } from "./actions.tsx";
import { DiffTable } from "./diff-table.tsx";
import { ActionLinks, Facts, LIVE_MS, Moment, Section, State, Table } from "./parts.tsx";

/** A part of a page that needs the platform: its answer, or why there is none. */
export type Part<T> = { value: T } | { trouble: string };

/** A page waits for the platform no longer than this. */
const PART_TIMEOUT_MS = 2_500;

/** Never rejects; each part is settled within its time limit. */
export async function askPlatform(ctx: OpenContext, { uuid, credential }: WholeResource): Promise<Asked> {
  const hasTokens = ["active", "needs_reauth"].includes(credential.state);
  if (!hasTokens) return { apps: null, vars: null };
  const { scrub } = ctx.scrubber;
  const [apps, vars] = await Promise.all([
    loadPart(appsOf(ctx, uuid), scrub),
    loadPart(diffConfig(ctx, uuid), scrub),
  ]);
  return { apps, vars };
}

/** Never rejects. An answer that comes too late is dropped. */
export async function loadPart<T>(asked: Promise<T>, scrub: (text: string) => string): Promise<Part<T>> {
  try {
    return { value: await within(PART_TIMEOUT_MS, asked, late) };
  } catch (error) {
    return { trouble: error instanceof KitError ? scrub(messageOf(error)) : "It could not be read." };
  }
}

const late = () => new KitError("late", "The platform has not answered yet. Load this page again.");

/** What the platform says. Each is null if there are no tokens to ask it with. */
export interface Asked {
  apps: Part<AppsReport> | null;
  vars: Part<ConfigDifference> | null;
}

/**
 * One resource: its record, its tokens, its apps, its config vars, and its history. `asked` is null when the script
 * requests the page, because it replaces no part that shows the platform's answers.
 */
export function resourcePage(record: WholeResource, asked: Asked | null, root: string): Page {
  const { uuid, name, state, readAt } = record;
  return {
    title: name ?? uuid,
    content: (
      <>
        {state !== "deprovisioned" && <ActionLinks actions={OF_ONE} root={`${root}/resources/${uuid}`} />}
        <div class="pair" id="record" data-live={LIVE_MS}>
          <About record={record} />
          <Credential record={record} />
        </div>
        <Section title="Waiting steps" id="steps" live={LIVE_MS}>
          <Steps steps={record.steps} now={readAt} />
        </Section>
        {asked && (
          <>
            <Section title="Apps">
              <OfPlatform part={asked.apps} show={Apps} />
            </Section>
            <Section title="Config vars">
              <OfPlatform part={asked.vars} show={DiffTable} />
            </Section>
          </>
        )}
        <Section title="What happened" id="timeline" live={LIVE_MS}>
          <Timeline of={record} />
        </Section>
      </>
    ),
  };
}

function About({ record }: { record: WholeResource }) {
  return (
    <Section title="Resource">
      <Facts
        of={[
          ["Uuid", <code>{record.uuid}</code>],
          ["State", <State of={record.state} />],
          ["Plan", planInWords(record.plan)],
          ["Region", record.region ?? "–"],
          ["App", record.app?.name ?? "not known yet"],
          ["Made", <Moment at={record.createdAt} />],
          ["Changed", <Moment at={record.updatedAt} />],
        ]}
      />
    </Section>
  );
}

function Credential({ record: { credential, token, readAt } }: { record: WholeResource }) {
  const { state, reason, generation, expiresAt, refreshDueAt, lastError, secretVersion, keyId, flags } =
    credential;
  const nextRefresh = refreshDueAt ? <Moment at={refreshDueAt} now={readAt} /> : "never by itself";
  const age = token.ageSeconds === null ? "no token" : duration(token.ageSeconds);
  return (
    <Section title="Credential">
      <Facts
        of={[
          ["State", [<State of={state} />, reason !== null && ` (${reason})`]],
          ["Token age", [age, generation > 0 && <span class="quiet"> (pair {generation})</span>]],
          ["Next refresh", token.isBeingRefreshed ? "just now" : nextRefresh],
          ["Expires", expiresAt ? <Moment at={expiresAt} now={readAt} /> : "–"],
          lastError === null ? null : ["Last error", lastError],
          ["Client secret", secretVersion === null ? "–" : `version ${secretVersion}`],
          ["Sealed with", keyId === null ? "–" : <code>{keyId}</code>],
          flags.length === 0 ? null : ["Odd", flags.join(", ")],
        ]}
      />
    </Section>
  );
}

/** The waiting steps, and what came of their last try. `now`: by the database's clock. */
function Steps({ steps, now }: { steps: readonly WaitingStep[]; now: string }) {
  if (steps.length === 0) return <p>Nothing is waiting to be done.</p>;
  const nextTry = ({ isUnderWay, nextTryAt }: WaitingStep) => {
    if (isUnderWay) return "under way";
    if (nextTryAt === null) return "when there is a working token";
    return nextTryAt > now ? <Moment at={nextTryAt} now={now} /> : "in its turn";
  };
  return (
    <Table
      columns={[
        ["Step", ({ kind }) => <code>{kind}</code>],
        ["Tries", ({ tries }) => tries],
        ["Next try", nextTry],
        ["Last answer", ({ lastError, said }) => lastError ?? said ?? <span class="quiet">none</span>],
      ]}
      rows={steps}
    />
  );
}

function OfPlatform<T>({ part, show: Show }: { part: Part<T> | null; show(props: { of: T }): preact.VNode }) {
  if (!part) return <p class="quiet">The platform cannot be asked: there is no working token.</p>;
  return "value" in part ? <Show of={part.value} /> : <p>{part.trouble}</p>;
}

function Apps({ of: { primary, attachments } }: { of: AppsReport }) {
  const others = attachments.filter(({ app }) => app.id !== primary.id);
  return (
    <ul>
      <li>
        <strong>{primary.name}</strong>, where it was installed
      </li>
      {others.map(({ name, app }) => (
        <li>
          {app.name}, attached as <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}

/** A resource's events and the operators' actions on it, the newest first. */
function Timeline({ of: { events, actions } }: { of: WholeResource }) {
  const inWords = ([name, value]: [string, unknown]) =>
    `${name} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`;
  const happenings = [
    ...events.map(({ at, type, detail }) => ({
      ...{ at, what: type.replaceAll("_", " ") },
      detail: Object.entries(detail ?? {})
        .map(inWords)
        .join(", "),
    })),
    ...actions.map(({ startedAt, operator, action, state }) => ({
      ...{ at: startedAt.toISOString(), what: `${operator.name}: ${action}`, detail: state },
    })),
  ].sort((one, other) => (one.at < other.at ? 1 : -1));
  return (
    <ol class="timeline">
      {happenings.map(({ at, what, detail }) => (
        <li>
          {what} {detail !== "" && <span class="quiet">{detail}</span>}
          <Moment at={at} />
        </li>
      ))}
    </ol>
  );
}
