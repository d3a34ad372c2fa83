import { randomUUID } from "node:crypto";
import type { Request, Response } from "express";
import type { OpenContext } from "../../context.ts";
import { KitError } from "../../errors.ts";
import { addressOf } from "../../pages/address.ts";
import { State } from "../../parts/cards.tsx";
import { findCustomerResource } from "../../people/customer-store.ts";
import { frameOf } from "../../people/frame.tsx";
import { currentNotice } from "../../people/notice.ts";
import { queryOf } from "../../people/places.tsx";
import { showPlace } from "../../people/resource-page.tsx";
import type { Visit } from "../../people/visit.ts";
import { beginAction, followAction } from "../audit.ts";
import { typedUuid } from "../errors.ts";
import { showResource as recordOf } from "../resources.ts";
import { MOUNT, operatorOf } from "./frame.tsx";

/**
 * Shows an operator what the customer sees: the vendor's page as an owner of the app has it, marked, and with forms that do
 * nothing. The audit trail has each look before the page is made.
 */
export async function showCustomerView(
  ctx: OpenContext,
  request: Request,
  response: Response,
): Promise<void> {
  const uuid = typedUuid(String(request.params["uuid"]));
  await recordOf(ctx.db, uuid);
  const resource = await findCustomerResource(ctx, uuid);
  if (!resource)
    throw new KitError("gone", "The add-on has ended, or was never made: its customers have no page.");
  const about = {
    action: "customer-page",
    uuid,
    operator: operatorOf(response),
    requestId: String(request.id),
  };
  const { id } = await beginAction(ctx.db, { ...about, form: `view-${randomUUID()}` });
  await followAction(ctx.db, id).end({ state: "done", message: "Saw the customer's page, read only." });

  const person = { email: null, role: "owner", permissions: [] };
  const { name: page = null } = request.params as { name?: string };
  const at = `${MOUNT}/resources/${uuid}/customer`;
  const place = { page, query: queryOf(request) };
  const visit: Visit = { session: null, resource, person, userId: null, at, place };
  const notice = await currentNotice(ctx.db);
  const back = `${addressOf(ctx, request).base}${MOUNT}/resources/${uuid}`;
  const framed = { notice, visit, person: <CustomersCorner />, banner: <Banner back={back} /> };
  response.locals["frame"] = () => frameOf(ctx, request, framed);
  // Nor does a form that the vendor wrote without the kit.
  const policy = String(response.getHeader("Content-Security-Policy"));
  response.set("Content-Security-Policy", policy.replace(/form-action [^;]*/, "form-action 'none'"));
  await showPlace(ctx, { request, response, visit });
}

function Banner({ back }: { back: string }) {
  return (
    <aside class="view" aria-label="The operator's view">
      <p>
        <State tone="gone">Read only</State> What the customer sees, as an owner of the app. Buttons do
        nothing here, and the audit trail has this look. <a href={back}>Back to the resource</a>
      </p>
    </aside>
  );
}

function CustomersCorner() {
  return (
    <div class="signed-on">
      <span>The customer's e-mail</span>
      <button disabled>Sign out</button>
    </div>
  );
}
