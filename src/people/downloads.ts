import { once } from "node:events";
import type { Request, Response } from "express";
import type { Context } from "../context.ts";
import { KitError, Refusal } from "../errors.ts";
import { untilCut } from "../within.ts";
import type { CustomerDownload } from "./contract.ts";
import { downloadNamed, maySee, pathOf, queryOf } from "./places.tsx";
import { problem, refusedByVendor } from "./problems.ts";
import type { Visit } from "./visit.ts";

/** Until its last byte has left: a customer who takes longer asks for less. */
const DOWNLOAD_MS = 60_000;

/** Sends a file of the vendor's. Throws a `Problem` before its first byte; later failures cut the connection. */
export async function sendDownload(ctx: Context, request: Request, response: Response, visit: Visit) {
  const name = String(request.params["name"]);
  const download = downloadNamed(ctx, name);
  if (!download) throw problem("no_such_page", undefined, toOverview(visit));
  if (!maySee(ctx, name, download, visit.person)) throw problem("not_for_role", undefined, toOverview(visit));
  response.attachment(name);
  // Express sends no body; the vendor's work would be for nothing.
  if (request.method === "HEAD") return void response.end();
  const left = new AbortController();
  response.once("close", () => left.abort(new Error("Nobody waits for the download any more.")));
  const late = () => new Error(`The download took longer than ${DOWNLOAD_MS / 1_000} s.`);
  try {
    await untilCut({ ms: DOWNLOAD_MS, late, cuts: [left.signal] }, (signal) =>
      sendContent(request, response, { visit, download, signal }),
    );
  } catch (error) {
    if (error === left.signal.reason) return;
    if (response.headersSent) throw error;
    for (const header of ["Content-Disposition", "Content-Type"]) response.removeHeader(header);
    if (error instanceof Refusal) throw refusedByVendor(error, toOverview(visit));
    throw new KitError("download_failed", `The service's download ${name} failed`, { cause: error });
  }
}

/** The head leaves with the first piece: until then a failure can be shown as a page. */
async function sendContent(
  request: Request,
  response: Response,
  { visit, download, signal }: { visit: Visit; download: CustomerDownload; signal: AbortSignal },
): Promise<void> {
  const { resource, person } = visit;
  const content = await download.content(resource, { person, query: queryOf(request), signal });
  if (typeof content === "string" || content instanceof Uint8Array)
    return void response.send(Buffer.from(content as string));
  for await (const piece of content) {
    if (signal.aborted) return;
    if (!response.write(Buffer.from(piece as string))) await once(response, "drain", { signal });
  }
  response.end();
}

const toOverview = ({ at }: Visit) => ({
  label: "Go to the overview",
  path: pathOf({ at, place: { page: null, query: {} } }),
});
