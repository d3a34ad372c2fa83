import type { CustomerPage } from "../people/contract.ts";
import { offer, sizes } from "./plans.ts";
import type { Product } from "./product.ts";

/** The page for customers who come from the platform's dashboard: their plan, and how full the drawer is. */
export const createCustomerPage =
  (product: Product): CustomerPage =>
  async ({ uuid, name, plan, state }, page) => {
    const used = state === "provisioned" ? await product.megabytes(uuid).catch(() => null) : null;
    const { megabytes, connections } = sizes[plan]!;
    return {
      title: name ?? "Your drawer",
      content: (
        <>
          <p>{offer.plans[plan]!.description}</p>
          {used === null ? (
            <p>How full it is cannot be told just now. Load this page again in a moment.</p>
          ) : (
            <p>
              <progress value={used} max={megabytes} aria-label="Room used" />
              {used} of {megabytes} MB, and {connections} connections at once
            </p>
          )}
          {page.form("rotate", <button>Rotate the password</button>)}
        </>
      ),
    };
  };
