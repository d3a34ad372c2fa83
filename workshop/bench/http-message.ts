/** One HTTP/1.1 message as received: its head without the blank line, its body, and the bytes after it. */
export interface Message {
  head: string;
  body: string;
  rest: string;
}

/**
 * The first complete message in `received`, with a content length or without a body; null if it is not complete yet.
 */
export function takeMessage(received: string): Message | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const head = received.slice(0, headEnd);
  const [, length = "0"] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  const bodyEnd = headEnd + 4 + Number(length);
  if (received.length < bodyEnd) return null;
  return { head, body: received.slice(headEnd + 4, bodyEnd), rest: received.slice(bodyEnd) };
}
