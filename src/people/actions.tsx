import type { Request } from "express";
import type { ComponentChildren } from "preact";
import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { Refusal } from "../errors.ts";
import { callAction } from "../extend/calls.ts";
import { type ActionEnd, beginCustomerAction, customerAction, endCustomerAction } from "../extend/store.ts";
import { visible } from "../marks.ts";
import { isFromOurPage } from "../pages/address.ts";
import { formIn, formOf, type Purpose, tokenFor } from "../pages/forms.ts";
import { Facts, notFromOurPage, type Page } from "../pages/pages.tsx";
import { withNamesOf } from "../resources/names-in-app.ts";
import type { CustomerAction, CustomerPerson, CustomerResource } from "./contract.ts";
import { pathOf, pathOfAction } from "./places.tsx";
import { problem } from "./problems.ts";
import type { Visit } from "./visit.ts";

/** A name that no field of a vendor's has. */
const TOKEN = "kit-token";
const USUAL_SECONDS = 5;
/** Then an answer may still come before connections are cut. */
const MOST_SECONDS = 20;
const MAY_CHANGE: readonly (string | null)[] = ["owner", "admin", "collaborator"];

function actionNamed({ vendor }: Context, name: string): CustomerAction | null {
  return vendor.actions && Object.hasOwn(vendor.actions, name) ? vendor.actions[name]! : null;
}

/** Without a role that is known, or with no permission but to view, a person may look. So may one if `may` throws. */
function mayDo({ log }: Context, name: string, action: CustomerAction, person: CustomerPerson): boolean {
  const { role, permissions } = person;
  const mayOnlyView = permissions.length > 0 && permissions.every((each) => each === "view");
  try {
    return action.may ? action.may(person) : MAY_CHANGE.includes(role) && !mayOnlyView;
  } catch (error) {
    log.error({ customerAction: name, error }, "The may() of an action failed; the person may only look");
    return false;
  }
}

/** Valid for one action of one session, which is of one resource; what is to be confirmed has a second form. */
function purposeOf({ session, resource }: Visit, name: string, step = ""): Purpose {
  return { of: "customer", path: `${resource.uuid}/${name}${step}`, holder: session!.reveal() };
}
const CONFIRMED = "/confirmed";

const Token = ({ value }: { value: string }) => <input type="hidden" name={TOKEN} value={value} />;

/** Makes the forms on the vendor's page. One for an action that there is not is left out. `base`: the service's address. */
export function formsOf(ctx: Context, visit: Visit, base: string) {
  return (name: string, content: ComponentChildren) => {
    const action = actionNamed(ctx, name);
    if (!action) {
      const words = `The page has a form for "${name}", which is none of the service's actions.`;
      const about = { uuid: visit.resource.uuid, customerAction: name, error: new Error(words) };
      ctx.log.error(about, "A form is left out of a customer's page");
      return null;
    }
    if (!mayDo(ctx, name, action, visit.person)) return null;
    const look = action.confirm && "destroys";
    if (visit.session === null) return <form class={look}>{content}</form>;
    return (
      <form class={look} method="post" action={base + pathOfAction(visit, name)}>
        <Token value={tokenFor(ctx, purposeOf(visit, name))} />
        {content}
      </form>
    );
  };
}

/** What a form asks for, which this person may ask for. `isConfirmed`: it came from the page with the question. */
interface Wish {
  name: string;
  action: CustomerAction;
  form: string;
  fields: URLSearchParams;
  isConfirmed: boolean;
}

/** Throws a `Problem` if nothing is to be done: the form is not ours, or the person may only look. */
export function wishIn(ctx: Context, visit: Visit, request: Request): Wish {
  const name = String(request.params["name"]);
  const fields = formIn(request);
  const { person } = visit;
  const action = actionNamed(ctx, name);
  const token = fields.get(TOKEN);
  const confirmed = formOf(ctx, purposeOf(visit, name, CONFIRMED), token);
  const form = confirmed ?? formOf(ctx, purposeOf(visit, name), token);
  if (!action || !form || !isFromOurPage(ctx, request)) throw notFromOurPage(toPageOf(visit));
  if (!mayDo(ctx, name, action, person))
    throw problem("may_only_look", `The role is ${person.role ?? "not known"}.`, toPageOf(visit));
  fields.delete(TOKEN);
  return { name, action, form, fields, isConfirmed: confirmed !== null };
}

const toPageOf = (visit: Visit) => ({ label: "Load the page again", path: pathOf(visit) });

/** The page that asks before an action destroys; null if this one need not be asked about. It has the fields that were sent. */
export function questionOf(ctx: Context, visit: Visit, base: string, wish: Wish): Page | null {
  const { name, action, fields, isConfirmed } = wish;
  if (!action.confirm || isConfirmed) return null;
  const { question, button } = action.confirm;
  const { resource } = visit;
  return {
    title: `${button}?`,
    content: (
      <section class="card question">
        <p>{question}</p>
        <Facts
          of={[
            resource.name !== null && ["Add-on", <bdi>{visible(resource.name)}</bdi>],
            resource.appName !== null && ["App", <bdi>{visible(resource.appName)}</bdi>],
          ]}
        />
        <form method="post" action={base + pathOfAction(visit, name)}>
          <Token value={tokenFor(ctx, purposeOf(visit, name, CONFIRMED))} />
          {[...fields].map(([field, value]) => (
            <input type="hidden" name={field} value={value} />
          ))}
          <div class="row">
            <button class="destroy">{button}</button>
            <a href={base + pathOf(visit)}>Leave it as it is</a>
          </div>
        </form>
      </section>
    ),
  };
}

/**
 * Carries out what a form asks for, unless it was sent before. Returns the name of the form, by which the page finds what
 * came of it. Throws a `Problem` if nothing was done.
 */
export async function carryOut(ctx: Context, visit: Visit, request: Request, wish: Wish): Promise<string> {
  const { name, action, form, fields } = wish;
  const { resource, person, userId: user } = visit;
  const { uuid } = resource;
  const id = await beginCustomerAction(ctx.db, uuid, { action: name, user, form });
  if (id === null) {
    if (await customerAction(ctx.db, uuid, form)) return form;
    throw problem("not_now", undefined, toPageOf(visit));
  }
  const about = { uuid, customerAction: name, requestId: request.id, user, role: person.role };
  ctx.log.info(about, "A customer began an action");
  const mostSeconds = Math.min(action.mostSeconds ?? USUAL_SECONDS, MOST_SECONDS);
  const end = await callAction(ctx, { name: `actions.${name}`, uuid, mostSeconds }, (signal) =>
    action.run(resource, fields, person, signal),
  ).then(
    (said): ActionEnd => ({ state: "done", said }),
    (error: unknown): ActionEnd => {
      if (error instanceof Refusal) return { state: "refused", said: error.message };
      ctx.log.error({ ...about, error }, "An action of a customer failed");
      return { state: "failed", said: null };
    },
  );
  await retryWhileUnreachable(() => endCustomerAction(ctx.db, uuid, id, end), { upToMs: 4_000 });
  ctx.log.info({ ...about, state: end.state }, "An action of a customer ended");
  return form;
}

const WORDS: Readonly<Record<ActionEnd["state"], string>> = {
  running: "This is being done: the page looks again by itself.",
  done: "Done.",
  refused: "This could not be done.",
  failed: "This could not be done, or not in time. Whoever runs this service can see why.",
  unknown: "Whether this was done is not known: the service stopped meanwhile.",
};

/** Its sentence has the names that the app has for config vars. */
export function Result({ of: { state, said }, resource }: { of: ActionEnd; resource: CustomerResource }) {
  const isFine = state === "done" || state === "running";
  const tone = state === "running" ? "busy" : isFine ? "good" : "bad";
  return (
    <div class={`told ${tone}`} role={isFine ? "status" : "alert"}>
      {said === null ? WORDS[state] : visible(withNamesOf(resource.configVars, said))}
    </div>
  );
}
