import { Card, Cards, PlanCard, Usage } from "../parts/cards.tsx";
import type { CustomerPage } from "../people/contract.ts";
import { offer } from "./plans.ts";
import type { Product } from "./product.ts";

/** The page for customers who come from the platform's dashboard: their plan, and how full the drawer is. */
export const createCustomerPage =
  (product: Product): CustomerPage<typeof offer, "rotate"> =>
  async (resource, page) => {
    const { uuid, name, limits, state } = resource;
    const used = state === "provisioned" ? await product.megabytes(uuid).catch(() => null) : null;
    const room = { bytes: limits.megabytes * 1e6 };
    return {
      title: name ?? "Your drawer",
      content: (
        <Cards>
          <PlanCard offer={offer} resource={resource} dashboard={page.dashboard} />
          <Card title="Your drawer">
            {used === null ? (
              <p>How full it is cannot be told just now. Load this page again in a moment.</p>
            ) : (
              <Usage name="Room" used={{ bytes: used * 1e6 }} of={room} />
            )}
            {page.form("rotate", <button>Rotate the password</button>)}
          </Card>
        </Cards>
      ),
    };
  };
