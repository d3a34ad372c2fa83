/** An error answer of the platform: `{id, message}` with its status (assumed, section 4). */
export class Refused extends Error {
  readonly status: number;
  readonly id: string;
  /** The kind of object that was not found, which customers' tools read; absent in other answers. */
  readonly resource: string | undefined;

  constructor(status: number, id: string, message: string, resource?: string) {
    super(message);
    this.name = "Refused";
    this.status = status;
    this.id = id;
    this.resource = resource;
  }
}

export const badRequest = (message: string) => new Refused(400, "bad_request", message);
export const unauthorized = (message: string) => new Refused(401, "unauthorized", message);
export const forbidden = (message: string) => new Refused(403, "forbidden", message);
export const notFound = (message: string) => new Refused(404, "not_found", message);
export const conflict = (message: string) => new Refused(409, "conflict", message);
export const invalid = (message: string) => new Refused(422, "invalid_params", message);

/** The body is not kept, only its size in bytes as far as it was read. */
export class TooLarge extends Refused {
  readonly size: number;

  constructor(size: number) {
    super(413, "payload_too_large", "The body is larger than 1 MB.");
    this.size = size;
  }
}

/** An error answer of the token endpoint, in the form of RFC 6749, section 5.2 (assumed, section 3). */
export class OAuthRefused extends Error {
  readonly status: number;
  readonly error: string;

  constructor(error: string, description: string, status = error === "invalid_client" ? 401 : 400) {
    super(inErrorCharacters(description));
    this.name = "OAuthRefused";
    this.error = error;
    this.status = status;
  }
}

/** Replaces characters that an `error_description` may not have (RFC 6749, sections 4.1.2.1 and 5.2). */
export function inErrorCharacters(sentence: string): string {
  return sentence.replaceAll('"', "'").replace(/[^\x20-\x5b\x5d-\x7e]/g, "?");
}
