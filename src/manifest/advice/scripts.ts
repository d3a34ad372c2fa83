import type { ManifestKeys } from "../schema.ts";
import type { Rule } from "./rule.ts";

export const billedScripts: Rule = ({ scripts }) =>
  commandsOf(scripts).some(({ command }) => !isEmpty(command))
    ? [{ path: ["scripts"], message: "The dynos that run scripts are billed.", isSaidOnce: true }]
    : [];

export const emptyScripts: Rule = ({ scripts }) =>
  commandsOf(scripts)
    .filter(({ command }) => isEmpty(command))
    .map(({ path }) => ({
      path,
      message: "This is empty, so nothing is run: give a command, or leave it out.",
    }));

function commandsOf(scripts: ManifestKeys["scripts"] = {}) {
  return (["postdeploy", "pr-predestroy"] as const).flatMap((name) => {
    const script = scripts[name];
    if (script === undefined) return [];
    if (typeof script === "string") return [{ path: ["scripts", name], command: script }];
    return [{ path: ["scripts", name, "command"], command: script.command }];
  });
}

function isEmpty(command: string): boolean {
  return command.trim() === "";
}
