import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { within } from "../../src/signal.ts";

const MODULE = new URL("../../src/signal.ts", import.meta.url).href;

/** Runs code in a process of its own whose garbage is collected when it says so; returns what it has printed. */
async function printed(code: string): Promise<string> {
  const script = `import { within } from ${JSON.stringify(MODULE)};\n${code}`;
  const words = ["--expose-gc", "--import", "tsx", "--input-type=module", "-e", script];
  return (await promisify(execFile)(process.execPath, words, { timeout: 60_000 })).stdout;
}

describe("within(signal, seconds)", () => {
  it("is aborted after its time, however often garbage is collected meanwhile", async () => {
    const code = `
      const call = new AbortController();
      const begun = () => {
        const signal = within(call.signal, 0.3);
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason)));
      };
      const collecting = setInterval(gc, 10);
      const lost = new Promise((resolve) => setTimeout(() => resolve({ name: "never", message: "" }), 5_000).unref());
      const { name, message } = await Promise.race([begun(), lost]);
      clearInterval(collecting);
      console.log(name, message);`;
    expect(await printed(code)).toBe("TimeoutError There was no end after 0.3 s.\n");
  });

  it("keeps no process alive", async () => {
    const beganMs = performance.now();
    expect(await printed(`within(new AbortController().signal, 600); console.log("done");`)).toBe("done\n");
    expect(performance.now() - beganMs).toBeLessThan(60_000);
  });

  it("is aborted with the signal it was given, for its reason, also when that was aborted before", () => {
    const call = new AbortController();
    const signal = within(call.signal, 600);
    expect(signal.aborted).toBe(false);
    call.abort("The resource was deprovisioned.");
    expect([signal.aborted, signal.reason]).toEqual([true, "The resource was deprovisioned."]);
    expect(within(call.signal, 600)).toBe(call.signal);
  });

  it("needs no other signal", async () => {
    const signal = within(undefined, 0.01);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    expect(signal.reason).toMatchObject({ name: "TimeoutError" });
  });

  it.each([0, -1, NaN])("refuses %d seconds", (seconds) => {
    expect(() => within(undefined, seconds)).toThrow("must be above 0");
  });
});
