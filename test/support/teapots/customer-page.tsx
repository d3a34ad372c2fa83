import type { CustomerPage } from "../../../src/customer/contract.ts";
import { offer } from "./plans.ts";

/** Shows everything that a page is given. */
export const customerPage: CustomerPage = ({ uuid, name, plan, isChangingPlan, region, state, appName }) => ({
  title: name ?? uuid,
  content: (
    <ul>
      <li>
        {plan}: {offer.plans[plan]?.description} {isChangingPlan && "(the change is under way)"}
      </li>
      <li>region {region}</li>
      <li>{state}</li>
      <li>app {appName}</li>
    </ul>
  ),
});
