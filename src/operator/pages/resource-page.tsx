import type { VNode } from "preact";
import { KitError, messageOf } from "../../errors.ts";
import type { OpenContext } from "../../context.ts";
import type { Page } from "../../pages/pages.tsx";
import { within } from "../../within.ts";
import { YOUR_KINDS } from "../../work/step.ts";
import { appsOf, type AppsReport } from "../platform-call.ts";
import { diffConfig } from "../config-vars.ts";
import { detailsInWords, factsOf } from "../resource-facts.ts";
import type { WaitingStep, WholeResource } from "../resources.ts";
import { DiffTable, OF_ITS_STEPS, OF_ONE, type Action } from "./actions.tsx";
import { Links, LIVE_MS, Moment, NamedFacts, Section } from "./parts.tsx";

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

/** A resource's events and the operators' actions on it, the newest first. */
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
