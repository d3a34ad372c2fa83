import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { program } from "../support/program.ts";

/** What a process of its own says once it has loaded `file` and all that it imports; then it loads `fetch` too. */
function afterLoading(file: string): object {
  const script = `
    await import(${JSON.stringify(pathToFileURL(program(file)))});
    const hasFetch = () => process.moduleLoadList.includes("NativeModule internal/deps/undici/undici");
    const said = { hasFetch: hasFetch(), hasNavigator: "navigator" in globalThis };
    void globalThis.Response;
    console.log(JSON.stringify({ ...said, hasFetchLater: hasFetch() }));
    process.exit();`;
  const options = { encoding: "utf8", env: { ...process.env, NODE_OPTIONS: "" } } as const;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", script], options));
}

/** Node has its own since version 21. */
const hasNavigator = Number(process.versions.node.split(".")[0]) >= 21;

describe("a process that starts", () => {
  it.each(["src/services.ts", "src/process/run-web.ts", "src/database/schema-engine.ts"])(
    "loads nothing of fetch with %s, and leaves no navigator behind that Node does not have",
    (file) => {
      expect(afterLoading(file)).toEqual({ hasFetch: false, hasNavigator, hasFetchLater: true });
    },
  );
});
