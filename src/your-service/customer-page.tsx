import type { CustomerPage, CustomerResource } from "../people/contract.ts";
import { offer } from "./plans.ts";

/**
 * The sample's page for customers who come from the platform's dashboard. Replace it with yours: plain HTML looks good
 * without classes, and every value is escaped. The page's policy blocks scripts, styles and all images except `data:`
 * ones, so embed a logo as `data:`. Below the page the kit adds who is signed on, and the button for signing out.
 */
export const customerPage: CustomerPage = (resource) => ({
  title: resource.name ?? "Your add-on",
  content: (
    <dl>
      <dt>Plan</dt>
      <dd>{planInWords(resource)}</dd>
      <dt>Region</dt>
      <dd>{resource.region ?? "any"}</dd>
      <dt>State</dt>
      <dd>{resource.state === "provisioned" ? "Ready" : "Being made; this takes a few minutes"}</dd>
      {resource.progress !== null && (
        <>
          <dt>Under way</dt>
          <dd>{resource.progress}</dd>
        </>
      )}
      {resource.appName !== null && (
        <>
          <dt>App</dt>
          <dd>{resource.appName}</dd>
        </>
      )}
    </dl>
  ),
});

function planInWords({ plan, isChangingPlan }: CustomerResource): string {
  const description = offer.plans[plan]?.description;
  const name = description ? `${plan}: ${description}` : plan;
  return isChangingPlan ? `${name} (the change is under way)` : name;
}
