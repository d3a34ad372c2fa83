import { Card, Cards, Facts, PlanCard, StateOf } from "../parts/cards.tsx";
import type { CustomerPage } from "../people/contract.ts";
import { offer } from "./plans.ts";

/**
 * The sample's page for customers who come from the platform's dashboard. Replace it with yours: `parts/cards.tsx` has cards
 * and bars, plain HTML looks good without classes, and every value is escaped. The page's policy blocks scripts, styles and
 * all images except `data:` ones. Around the page the kit puts your brand (`brand.ts`), the way back to the dashboard, the
 * operator's notice, who is signed on, and the button for signing out.
 */
export const customerPage: CustomerPage<typeof offer> = (resource, { dashboard }) => ({
  title: resource.name ?? "Your add-on",
  content: (
    <Cards>
      <PlanCard offer={offer} resource={resource} dashboard={dashboard} />
      <Card title="Add-on">
        {resource.progress !== null && <p class="told busy">{resource.progress}</p>}
        <Facts
          of={[
            ["State", <StateOf resource={resource} />],
            ["Region", resource.region ?? "any"],
            resource.appName !== null && ["App", resource.appName],
            ["Installed", resource.createdAt.toISOString().slice(0, 10)],
          ]}
        />
      </Card>
    </Cards>
  ),
});
