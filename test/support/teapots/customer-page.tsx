import type { CustomerPage } from "../../../src/people/contract.ts";
import { offer } from "./plans.ts";

/** Shows everything that a customer page is given. */
export const customerPage: CustomerPage = (resource) => ({
  title: resource.name ?? resource.uuid,
  content: (
    <ul>
      <li>
        {resource.plan}: {offer.plans[resource.plan]?.description}{" "}
        {resource.isChangingPlan && "(the change is under way)"}
      </li>
      <li>region {resource.region}</li>
      <li>{resource.state}</li>
      <li>under way: {resource.progress ?? "nothing"}</li>
      <li>app {resource.appName}</li>
    </ul>
  ),
});
