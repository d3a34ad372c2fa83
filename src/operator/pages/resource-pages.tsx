import type { VNode } from "preact";
import type { OpenContext } from "../../context.ts";
import { KitError, messageOf } from "../../errors.ts";
import { Facts, type Page } from "../../pages/pages.tsx";
import { publicValues } from "../../resources/config-vars.ts";
import { varsInApp } from "../../resources/names-in-app.ts";
import { isAlive } from "../../resources/states.ts";
import { VENDOR_CALL_KINDS } from "../../resources/step-kinds.ts";
import { findResource } from "../../resources/store.ts";
import { within } from "../../within.ts";
import { appsOf, type AppsReport } from "../platform-call.ts";
import { detailsInWords, factsOf } from "../resource-facts.ts";
import type { WholeResource } from "../resources.ts";
import type { Action } from "./action.ts";
import { OF_ITS_STEPS, OF_ONE } from "./actions.tsx";
import { A, Buttons, Moment, NamedFacts, Section } from "./parts.tsx";

/** The apps of a resource, as the platform names them, or why it says nothing. Never rejects. */
export async function askedApps(ctx: OpenContext, uuid: string): Promise<VNode> {
  const late = () => new KitError("late", "The platform has not answered yet. Load this page again.");
  try {
    return <Apps of={await within(2_500, appsOf(ctx, uuid), late)} />;
  } catch (error) {
    const why = error instanceof KitError ? messageOf(error) : "They could not be read.";
    return <p>{ctx.scrubber.scrub(why)}</p>;
  }
}

/** The config vars as the app has them, with the values of those that are public; null: none is wanted. */
export async function knownVars(
  ctx: OpenContext,
  { uuid, attachedAs }: WholeResource,
): Promise<VNode | null> {
  const row = await findResource(ctx.db, uuid);
  const values = row ? publicValues(ctx, row) : {};
  if (Object.keys(values).length === 0) return null;
  const vars = Object.values(varsInApp(ctx.offer, attachedAs, values));
  return <Facts of={vars.map(({ name, value }) => [<code>{name}</code>, value ?? "a secret"])} />;
}

export function resourcePage(
  record: WholeResource,
  { apps, vars }: { apps: VNode; vars: VNode | null },
  yours: readonly Action[],
): Page {
  const { uuid, name, state, suspended, steps, readAt } = record;
  const facts = factsOf(record);
  return {
    title: name ?? uuid,
    content: (
      <>
        {state !== "deprovisioned" && (
          <Actions
            of={[...OF_ONE.filter((each) => suspended || each.name !== "resume"), ...yours]}
            uuid={uuid}
          />
        )}
        {isAlive(state) && (
          <p>
            <A to={`/resources/${uuid}/customer`}>See what the customer sees</A>
          </p>
        )}
        <div class="pair">
          {(["Resource", "Credential"] as const).map((title) => (
            <Section title={title}>
              <NamedFacts of={facts[title]} now={readAt} />
            </Section>
          ))}
        </div>
        <Section title="Waiting steps">
          {steps.length === 0 && <p>Nothing is waiting to be done.</p>}
          <NamedFacts of={facts["Waiting steps"]} now={readAt} />
          {steps.some(({ kind }) => YOURS.includes(kind)) && <Actions of={OF_ITS_STEPS} uuid={uuid} />}
        </Section>
        <Section title="Apps">{apps}</Section>
        {vars && <Section title="Config vars">{vars}</Section>}
        <Section title="What happened">
          <Timeline of={record} />
        </Section>
      </>
    ),
  };
}

const YOURS: readonly string[] = VENDOR_CALL_KINDS;

function Actions({ of, uuid }: { of: readonly Action[]; uuid: string }) {
  const links = of.map(({ name, ...action }) => ({ ...action, path: `/resources/${uuid}/${name}` }));
  return <Buttons of={links} />;
}

function Apps({ of: { primary, attachments } }: { of: AppsReport }) {
  const others = attachments.filter(({ app }) => app.id !== primary.id);
  return (
    <ul>
      <li>
        <strong>
          <bdi>{primary.name}</bdi>
        </strong>
        , where it was installed
      </li>
      {others.map(({ name, app }) => (
        <li>
          <bdi>{app.name}</bdi>, attached as <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}

/** The newest first. */
function Timeline({ of: { events, actions } }: { of: WholeResource }) {
  const happenings = [
    ...events.toReversed().map(({ at, type, detail }) => ({
      at,
      what: type.replaceAll("_", " "),
      details: detailsInWords(detail),
    })),
    ...actions.map(({ startedAt, operator, action, state }) => ({
      at: startedAt.toISOString(),
      what: [<bdi>{operator.name}</bdi>, `: ${action}`],
      details: state,
    })),
  ].sort((one, other) => other.at.localeCompare(one.at));
  const shown = happenings.map(({ at, what, details }) => {
    return [<Moment at={at} exact />, [what, " ", <small>{details}</small>]] as const;
  });
  return <Facts of={shown} />;
}
