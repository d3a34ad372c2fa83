import type { VNode } from "preact";
import { KitError, messageOf } from "../../errors.ts";
import type { OpenContext } from "../../open-context.ts";
import { Facts, type Page } from "../../pages/pages.tsx";
import { within } from "../../within.ts";
import { YOUR_KINDS } from "../../work/step.ts";
import { appsOf, type AppsReport } from "../platform-call.ts";
import { diffConfig } from "../config-diff.ts";
import type { WaitingStep, WholeResource } from "../resources.ts";
import { duration, planInWords } from "../wording.ts";
import { OF_ITS_STEPS, OF_ONE, type Action } from "./actions.tsx";
import { DiffTable } from "./diff-table.tsx";
import { Links, LIVE_MS, Moment, Section, State, Table } from "./parts.tsx";

/** A page waits for the platform no longer than this. */
const PLATFORM_TIMEOUT_MS = 2_500;

/** The parts of a resource's page that the platform is asked for, or why it says nothing. Never rejects. */
export async function askPlatform(ctx: OpenContext, { uuid, credential }: WholeResource): Promise<VNode> {
  const hasTokens = ["active", "needs_reauth"].includes(credential.state);
  const late = () => new KitError("late", "The platform has not answered yet. Load this page again.");

  async function part<T>(ask: () => Promise<T>, Show: (props: { of: T }) => VNode): Promise<VNode> {
    if (!hasTokens) return <p class="quiet">The platform cannot be asked: there is no working token.</p>;
    try {
      return <Show of={await within(PLATFORM_TIMEOUT_MS, ask(), late)} />;
    } catch (error) {
      const why = error instanceof KitError ? messageOf(error) : "It could not be read.";
      return <p>{ctx.scrubber.scrub(why)}</p>;
    }
  }

  const [apps, vars] = await Promise.all([
    part(() => appsOf(ctx, uuid), Apps),
    part(() => diffConfig(ctx, uuid), DiffTable),
  ]);
  return (
    <>
      <Section title="Apps">{apps}</Section>
      <Section title="Config vars">{vars}</Section>
    </>
  );
}

/**
 * One resource: its record, its tokens, its apps, its config vars, and its history. `asked` is null when the script
 * requests the page, because it replaces no part that shows the platform's answers.
 */
export function resourcePage(
  record: WholeResource,
  asked: VNode | null,
  yours: readonly Action[],
  root: string,
): Page {
  const { uuid, name, state, readAt } = record;
  return {
    title: name ?? uuid,
    content: (
      <>
        {state !== "deprovisioned" && <Actions of={[...OF_ONE, ...yours]} uuid={uuid} root={root} />}
        <div class="pair" id="record" data-live={LIVE_MS}>
          <About record={record} />
          <Credential record={record} />
        </div>
        <Section title="Waiting steps" id="steps" live={LIVE_MS}>
          <Steps steps={record.steps} now={readAt} />
          {record.steps.some(isYours) && <Actions of={OF_ITS_STEPS} uuid={uuid} root={root} />}
        </Section>
        {asked}
        <Section title="What happened" id="timeline" live={LIVE_MS}>
          <Timeline of={record} />
        </Section>
      </>
    ),
  };
}

const isYours = ({ kind }: WaitingStep) => (YOUR_KINDS as readonly string[]).includes(kind);

function Actions({ of, uuid, root }: { of: readonly Action[]; uuid: string; root: string }) {
  const links = of.map(({ label, name }) => ({ label, path: `/resources/${uuid}/${name}` }));
  return <Links of={links} root={root} as="buttons" />;
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
      empty="Nothing is waiting to be done."
    />
  );
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
    ...events.map(({ at, type, detail }) => {
      const details = Object.entries(detail ?? {})
        .map(inWords)
        .join(", ");
      return { at, what: type.replaceAll("_", " "), details };
    }),
    ...actions.map(({ startedAt, operator, action, state }) => ({
      ...{ at: startedAt.toISOString(), what: `${operator.name}: ${action}`, details: state },
    })),
  ].sort((one, other) => (one.at < other.at ? 1 : -1));
  return (
    <ol class="timeline">
      {happenings.map(({ at, what, details }) => (
        <li>
          {what} {details !== "" && <span class="quiet">{details}</span>}
          <Moment at={at} />
        </li>
      ))}
    </ol>
  );
}
