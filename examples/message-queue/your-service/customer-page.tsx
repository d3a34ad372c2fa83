import type { CustomerPage } from "../people/contract.ts";
import { offer } from "./plans.ts";
import type { Usage } from "./usage.ts";

export const createCustomerPage =
  (usage: Usage): CustomerPage<typeof offer, "move"> =>
  async ({ uuid, name, plan, progress }, page) => ({
    title: name ?? "Your queue",
    content: (
      <>
        <p>{offer.plans[plan].description}</p>
        {progress !== null && <p>{progress}</p>}
        <p>{await usage.ofMonth(uuid)} messages in the last 30 days</p>
        {page.form("move", <button>Move it to another host</button>)}
      </>
    ),
  });
