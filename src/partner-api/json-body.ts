import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import express, { type Request, type Response } from "express";
import { Refusal } from "../errors.ts";

/** Larger bodies are answered 413; of a compressed body, the unpacked size counts. */
const MOST_BODY_BYTES = 64 * 1024;

/**
 * Reads the JSON body of a request: `application/json` and every `+json`, in UTF-8. A compressed body is left to
 * express.json. An uncompressed one, as the platform always sends, is read here, because express.json's layers cost
 * more than all of our own checks.
 *
 * Throws a {@link Refusal} (400, 413, 415, 422), or an error of express.json.
 */
export async function readJsonBody(request: Request, response: Response): Promise<unknown> {
  const { headers } = request;
  if (!isUtf8Json(headers["content-type"])) {
    throw new Refusal("The body must be JSON in UTF-8 (content-type: application/json).", {
      id: "unsupported_media_type",
      status: 415,
    });
  }
  const length = headers["content-length"];
  if (length === undefined && headers["transfer-encoding"] === undefined)
    throw badRequest("The request has no body.");
  const encoding = headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding !== "identity") return unpack(request, response);
  if (Number(length) > MOST_BODY_BYTES) throw tooLarge();
  const bytes = await collect(request);
  refuseBroken(bytes);
  return parse(bytes);
}

/** Whether a content type is JSON, with no charset or with UTF-8. */
function isUtf8Json(contentType = ""): boolean {
  if (contentType === "application/json") return true;
  const [type = "", ...parameters] = contentType.toLowerCase().split(";");
  const charset = parameters.map((each) => each.trim()).find((each) => each.startsWith("charset="));
  return (
    /^application\/([\w.+-]+\+)?json$/.test(type.trim()) &&
    (charset === undefined || /^charset="?utf-?8"?$/.test(charset))
  );
}

/** The bytes of the body. A body that grows too large is refused, and the rest of it read and discarded. */
function collect(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    request.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size <= MOST_BODY_BYTES) pieces.push(piece);
      else reject(tooLarge());
    });
    request.on("end", () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
    request.on("error", () => reject(badRequest("The request broke off.")));
  });
}

/** An empty body is an object without members, as with express.json. */
function parse(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  if (text === "") return {};
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text) as unknown;
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
}

const parsePacked = express.json({
  limit: MOST_BODY_BYTES,
  strict: false,
  type: () => true,
  verify: (_request, _response, bytes) => refuseBroken(bytes),
});

function unpack(request: Request, response: Response): Promise<unknown> {
  return new Promise((resolve, reject) =>
    parsePacked(request, response, (error?: unknown) =>
      error ? reject(error as Error) : resolve(request.body),
    ),
  );
}

/** Refuses bytes that are not UTF-8, which a parser would silently replace by another character. */
function refuseBroken(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw new Refusal("The body is not UTF-8.", { id: "invalid_params" });
}

function badRequest(message: string): Refusal {
  return new Refusal(message, { id: "bad_request", status: 400 });
}

function tooLarge(): Refusal {
  return new Refusal("The body is larger than 64 kB.", { id: "payload_too_large", status: 413 });
}
