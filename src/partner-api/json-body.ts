import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Refusal } from "../errors.ts";
import { refuseCompressed } from "../http/bodies.ts";

/** Larger bodies are answered 413. */
const MOST_BODY_BYTES = 64 * 1024;

/**
 * Reads the body of a request as JSON in UTF-8, whatever its headers say (assumed, section 1). It is read here, because
 * express.json's layers cost more than all of our own checks.
 *
 * Throws a {@link Refusal} (400, 413, 415, 422).
 */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  refuseCompressed(request);
  const length = request.headers["content-length"];
  if (length === undefined && request.headers["transfer-encoding"] === undefined)
    throw badRequest("The request has no body.");
  if (Number(length) > MOST_BODY_BYTES) throw tooLarge();
  const bytes = await collect(request);
  // A parser would silently replace bytes that are not UTF-8 by another character.
  if (!isUtf8(bytes)) throw new Refusal("The body is not UTF-8.", { id: "invalid_params" });
  return parse(bytes);
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

/** An empty body is an object without members. */
function parse(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  if (text === "") return {};
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text) as unknown;
  } catch {
    throw badRequest("The body is not valid JSON.");
  }
}

function badRequest(message: string): Refusal {
  return new Refusal(message, { id: "bad_request", status: 400 });
}

function tooLarge(): Refusal {
  return new Refusal("The body is larger than 64 kB.", { id: "payload_too_large", status: 413 });
}
