import type { VNode } from "preact";
import { KitError, messageOf } from "../../errors.ts";
import type { OpenContext } from "../../context.ts";
import type { Page } from "../../pages/pages.tsx";
import { within } from "../../within.ts";
import { YOUR_KINDS } from "../../work/step.ts";
import { appsOf, type AppsReport } from "../platform-call.ts";
import { diffConfig } from "../config-vars.ts";
import { detailsInWords, factsOf } from "../resource-facts.ts";
import {
  type WaitingStep,
  type WholeResource,
  STATES,
  type ResourcePage,
  type Search,
} from "../resources.ts";
import { DiffTable, OF_ITS_STEPS, OF_ONE, type Action } from "./actions.tsx";
import { Links, LIVE_MS, Moment, NamedFacts, Section, A, State, Table } from "./parts.tsx";
import { planInWords } from "../wording.ts";

/** The parts of a resource's page that the platform is asked for, or why it says nothing. Never rejects. */
export async function askPlatform(ctx: OpenContext, { uuid, credential }: WholeResource): Promise<VNode> {
  const hasTokens = ["active", "needs_reauth"].includes(credential.state);
  const late = () => new KitError("late", "The platform has not answered yet. Load this page again.");

  async function part<T>(ask: () => Promise<T>, Show: (props: { of: T }) => VNode): Promise<VNode> {
    if (!hasTokens) return <p class="quiet">The platform cannot be asked: there is no working token.</p>;
    try {
      return <Show of={await within(2_500, ask(), late)} />;
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

/** `asked` is null when the script requests the page: it replaces no part that shows the platform's answers. */
export function resourcePage(record: WholeResource, asked: VNode | null, yours: readonly Action[]): Page {
  const { uuid, name, state, steps, readAt } = record;
  const facts = factsOf(record);
  return {
    title: name ?? uuid,
    content: (
      <>
        {state !== "deprovisioned" && <Actions of={[...OF_ONE, ...yours]} uuid={uuid} />}
        <div class="pair" id="record" data-live={LIVE_MS}>
          {(["Resource", "Credential"] as const).map((title) => (
            <Section title={title}>
              <NamedFacts of={facts[title]} now={readAt} />
            </Section>
          ))}
        </div>
        <Section title="Waiting steps" id="steps" live={LIVE_MS}>
          {steps.length === 0 ? (
            <p>Nothing is waiting to be done.</p>
          ) : (
            <NamedFacts of={facts["Waiting steps"]} now={readAt} />
          )}
          {steps.some(isYours) && <Actions of={OF_ITS_STEPS} uuid={uuid} />}
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

function Actions({ of, uuid }: { of: readonly Action[]; uuid: string }) {
  const links = of.map(({ label, name }) => ({ label, path: `/resources/${uuid}/${name}` }));
  return <Links of={links} as="buttons" />;
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

/** The newest first. */
function Timeline({ of: { events, actions } }: { of: WholeResource }) {
  const happenings = [
    ...events.map(({ at, type, detail }) => ({
      ...{ at, what: type.replaceAll("_", " "), details: detailsInWords(detail) },
    })),
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

const NOT_FOUND =
  "No resource is like this. Names are looked for as they begin, in the case they are written in.";

export function listPage(search: Search, { resources, next }: ResourcePage): Page {
  const isSearch = search.text !== undefined || search.state !== undefined;
  return {
    title: "Resources",
    content: (
      <>
        <SearchForm search={search} />
        <Table
          columns={[
            ["Resource", named],
            ["App", ({ app }) => app?.name ?? "–"],
            ["Plan", ({ plan }) => planInWords(plan)],
            ["State", ({ state }) => <State of={state} />],
            ["Credential", ({ credential }) => <State of={credential.state} />],
            ["Made", ({ createdAt }) => <Moment at={createdAt} />],
          ]}
          rows={resources}
          empty={isSearch ? NOT_FOUND : "There are no resources here."}
        />
        <Links
          of={[
            { label: "To the newest", path: search.after === undefined ? null : pathOf(search, null) },
            { label: "Older ones", path: next === null ? null : pathOf(search, next) },
          ]}
        />
      </>
    ),
  };
}

const named = ({ uuid, name }: { uuid: string; name: string | null }) => (
  <span>
    <A to={`/resources/${uuid}`}>{name ?? uuid}</A>
    {name !== null && <small> {uuid}</small>}
  </span>
);

function pathOf({ text, state }: Search, after: string | null): string {
  const members = Object.entries({ text, state, after }).filter(([, value]) => value);
  return `/resources?${new URLSearchParams(members as [string, string][])}`;
}

function SearchForm({ search: { text, state } }: { search: Search }) {
  return (
    <search>
      <form class="search" method="get">
        <label>
          Uuid, name or app begins with, or plan, region or app id is
          <input type="search" name="text" value={text} maxLength={100} />
        </label>
        <label>
          State
          <select name="state">
            <option value="">any</option>
            {STATES.map((each) => (
              <option value={each} selected={each === state}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <button type="submit">Search</button>
      </form>
    </search>
  );
}
