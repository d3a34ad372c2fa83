import { describe, expect, it } from "@jest/globals";
import { wrapped } from "../../src/kit/text.ts";

describe("wrapping text for a narrow terminal", () => {
  it("keeps a command in one line, so that it can be copied", () => {
    const command = "kit resources show 01234567-89ab-cdef-0123-456789abcdef";
    expect(wrapped(`Read what came of the last try, and mend it: ${command} · ${command}`, 60)).toBe(
      `Read what came of the last try, and mend it:\n${command} ·\n${command}`,
    );
  });

  it("breaks between words, and leaves words alone that do not fit", () => {
    expect(wrapped("one two three", 7, "  ")).toBe("one\n  two\n  three");
  });
});
