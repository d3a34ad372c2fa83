import type { ComponentChildren } from "preact";
import { type Amount, amountInWords, numberIn, priceInWords } from "../amounts.ts";
import { includedIn, type Offer } from "../offer.ts";
import type { CustomerResource } from "../people/contract.ts";
import { Facts } from "./facts.tsx";

// What a vendor can make a customer's page of. Plain HTML beside it, or in its place, looks well, too.

export { amountInWords, priceInWords } from "../amounts.ts";
export { Bars } from "./bars.tsx";
export { Facts } from "./facts.tsx";
export { Sparkline } from "./sparkline.tsx";
export { Table } from "./table.tsx";
export { Wide } from "./wide.tsx";

export type Tone = "good" | "busy" | "bad" | "gone";

/** Cards beside each other, as many as there is room for. */
export function Cards({ children }: { children: ComponentChildren }) {
  return <div class="cards">{children}</div>;
}

/** A part of the page with a title. `isWhole`: it takes the whole width. */
export function Card(props: { title: string; isWhole?: boolean; children: ComponentChildren }) {
  return (
    <section class={props.isWhole ? "card whole" : "card"}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  );
}

/** A word for a state; its colour adds nothing that is not in the word. */
export function State({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`state ${tone}`}>{children}</span>;
}

/** Whether the add-on can be used. */
export function StateOf({ resource: { state, suspended } }: { resource: CustomerResource }) {
  if (suspended) return <State tone="bad">Suspended</State>;
  if (state === "provisioned") return <State tone="good">Ready</State>;
  return <State tone="busy">Being made; this takes a few minutes</State>;
}

interface PlanCardProps {
  offer: Offer;
  resource: CustomerResource;
  /** Where plans are changed: `page.dashboard`. */
  dashboard: string | null;
}

/** The plan with its price and what it includes. One that is missing from the offer has its name alone. */
export function PlanCard({ offer, resource: { plan, isChangingPlan }, dashboard }: PlanCardProps) {
  const sold = Object.hasOwn(offer.plans, plan) ? offer.plans[plan]! : null;
  const included = sold ? includedIn(offer, sold) : [];
  const price = sold?.price && (["price", priceInWords(sold.price)] as const);
  const facts = price ? [price, ...included] : included;
  return (
    <section class="card plan">
      <h2>Plan</h2>
      <p class="chosen">
        {plan}
        {isChangingPlan && <State tone="busy">the change is under way</State>}
      </p>
      {sold && <p>{sold.description}</p>}
      {facts.length > 0 && (
        <Facts of={facts.map(([name, amount]) => [capital(name), amountInWords(amount)])} />
      )}
      {dashboard !== null && (
        <p class="foot">
          <a href={dashboard}>Change the plan on the platform's dashboard</a>
        </p>
      )}
    </section>
  );
}

/** The config vars of the app, with the values of those that are public. */
export function ConfigVars({ of }: { of: CustomerResource["configVars"] }) {
  return (
    <Facts
      of={Object.values(of).map(({ name, value }) => [
        <code>{name}</code>,
        value === null ? "see the app's config vars" : <code>{value}</code>,
      ])}
    />
  );
}

/** How much of something is used, in words and as a bar, which changes its colour at 80 % and at 100 %. */
export function Usage({ name, used, of }: { name: string; used: Amount; of: Amount }) {
  const [some, all] = [numberIn(used), numberIn(of)];
  const share = some === null || all === null || all === 0 || all === Infinity ? null : some / all;
  const tone = share === null || share < 0.8 ? "good" : share < 1 ? "busy" : "bad";
  const words =
    all === Infinity ? `${amountInWords(used)}, no limit` : `${amountInWords(used)} of ${amountInWords(of)}`;
  const percent =
    share === null ? "" : 0 < share && share < 0.01 ? ", under 1 %" : `, ${Math.floor(share * 100)} %`;
  return (
    <div class={`usage ${tone}`}>
      <p>
        <strong>{name}</strong> <span>{words + percent}</span>
      </p>
      {share !== null && <progress value={Math.min(share, 1)} max={1} aria-label={`${name}: ${words}`} />}
    </div>
  );
}

const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
