import type { Rule } from "./rule.ts";

export const billedProcesses: Rule = ({ formation = {} }) =>
  Object.values(formation).some(({ quantity }) => quantity !== 0)
    ? [{ path: ["formation"], message: "The dynos of these processes are billed.", isSaidOnce: true }]
    : [];

export const sizes: Rule = ({ formation = {} }) => {
  const processes = Object.values(formation);
  return processes.length > 1 && processes.some(({ size }) => size === undefined)
    ? [{ path: ["formation"], message: "With several process types it is better to give each its size." }]
    : [];
};

export const billedScripts: Rule = ({ scripts = {} }) =>
  scripts.postdeploy !== undefined || scripts["pr-predestroy"] !== undefined
    ? [{ path: ["scripts"], message: "The dynos that run scripts are billed.", isSaidOnce: true }]
    : [];
