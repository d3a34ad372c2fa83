/** One message of HTTP/1.1 as it came: its head without the blank line, its body, and what came behind it. */
export interface Message {
  head: string;
  body: string;
  rest: string;
}

/** The first whole message of what was received, which says how long its body is or has none; null: more is to come. */
export function takeMessage(received: string): Message | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const head = received.slice(0, headEnd);
  const [, length = "0"] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? [];
  const bodyEnd = headEnd + 4 + Number(length);
  if (received.length < bodyEnd) return null;
  return { head, body: received.slice(headEnd + 4, bodyEnd), rest: received.slice(bodyEnd) };
}
