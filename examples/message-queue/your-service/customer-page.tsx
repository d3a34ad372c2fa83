import type { CustomerPage } from "../people/contract.ts";
import { offer } from "./plans.ts";
import { endOfTrial } from "./trial.ts";
import type { Usage } from "./usage.ts";

const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "long",
  year: "numeric",
  timeZone: "UTC",
});

const Trial = ({ until }: { until: Date | null }) =>
  until && (
    <p>
      Your trial ends on <time dateTime={until.toISOString()}>{DAY.format(until)}</time>.
    </p>
  );

export const createCustomerPage =
  (usage: Usage): CustomerPage<typeof offer, "move"> =>
  async ({ uuid, name, plan, progress, createdAt, suspended }, page) => ({
    title: name ?? "Your queue",
    content: (
      <>
        <p>{offer.plans[plan].description}</p>
        {progress !== null && <p>{progress}</p>}
        {suspended === null && <Trial until={endOfTrial(plan, createdAt)} />}
        <p>{await usage.ofMonth(uuid)} messages in the last 30 days</p>
        {page.form("move", <button>Move it to another host</button>)}
      </>
    ),
  });
