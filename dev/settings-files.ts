import { randomBytes } from "node:crypto";
import { Secret } from "../src/secret.ts";
import type { Setting } from "../src/setting.ts";

// Settings of your own in the files of a deployment, as test/docs/deploy-files.test.ts wants them.

type AnySetting = Setting<unknown>;

/** The files that list settings, and what becomes of each: what is listed already stays as it is. */
export const SETTINGS_FILES: Readonly<
  Record<string, (text: string, settings: readonly AnySetting[]) => string>
> = {
  ".env.example": inEnvExample,
  "app.json": inAppJson,
  "compose.yaml": inCompose,
  "ops/sandbox.env": (text, settings) => text + sandboxValues(missingIn(text, settings)),
};

/** A text without the lines of these settings; of app.json, without their members. */
export function withoutSettings(file: string, text: string, settings: readonly AnySetting[]): string {
  const without = (rest: string, { name }: AnySetting) =>
    rest.replaceAll(
      file === "app.json"
        ? new RegExp(`,\\s*"${name}": \\{[^}]*\\}`, "g")
        : new RegExp(`^(?:# | {2})?${name}[=:].*\\n`, "gm"),
      "",
    );
  return settings.reduce(without, text);
}

/** Lines `NAME=value` for the required settings, with values that are made up and are taken by the settings. */
export const sandboxValues = (settings: readonly AnySetting[]): string =>
  settings
    .filter(isRequired)
    .map((each) => `${each.name}=${madeUp(each)}\n`)
    .join("");

const isRequired = ({ standard }: AnySetting) => standard === undefined;

function missingIn(text: string, settings: readonly AnySetting[]): AnySetting[] {
  return settings.filter(({ name }) => !new RegExp(`^(# |\\s*"?)?${name}\\b`, "m").test(text));
}

function inEnvExample(text: string, settings: readonly AnySetting[]): string {
  const missing = missingIn(text, settings);
  const line = (given: string, about: string) => `${`${given} `.padEnd(45)}# ${about}\n`;
  const required = missing.filter(isRequired).map(({ name, about }) => line(`${name}=`, about));
  const optional = missing
    .filter((each) => !isRequired(each))
    .map(({ name, about, standard }) =>
      line(`# ${name}=${/\s/.test(standard!) ? `"${standard}"` : standard}`, about),
    );
  const end = /(?=\n# Optional, with their defaults:)/;
  const isSplit = end.test(text);
  return (isSplit ? text.replace(end, required.join("")) : text + required.join("")) + optional.join("");
}

/** Behind the key that an app has in each environment. A person is asked for the values; of a review app for few. */
function inAppJson(text: string, settings: readonly AnySetting[]): string {
  const missing = missingIn(text, settings).filter(isRequired);
  const members = (valueOf: (setting: AnySetting) => object) =>
    missing.map((each) => `,\n${member(each, valueOf(each))}`).join("");
  let isReview = false;
  return text.replaceAll(/"ENCRYPTION_KEY": \{[^}]*\}/g, (key) => {
    const added = members(isReview ? nowhere : () => ({}));
    isReview = true;
    return key + added;
  });
}

function member({ name, about }: AnySetting, value: object): string {
  const lines = Object.entries({ description: sentence(about), ...value }).map(
    ([key, text]) => `"${key}": ${JSON.stringify(text)}`,
  );
  return `"${name}": {\n${lines.join(",\n")}\n}`;
}

/** What a review app gets, which is to reach nothing: no secret is written down. */
function nowhere(setting: AnySetting): object {
  const random = randomBytes(32).toString("hex");
  if (!isSecret(setting)) return { value: madeUp(setting) };
  return takes(setting, random) ? { generator: "secret" } : {};
}

const isSecret = (setting: AnySetting) =>
  takes(setting, madeUp(setting)) && setting.read(madeUp(setting), false) instanceof Secret;

function inCompose(text: string, settings: readonly AnySetting[]): string {
  const missing = missingIn(text, settings);
  const required = missing.filter(isRequired).map(({ name, about }) => {
    const value = `\${${name}:?${sentence(about).replaceAll(/[{}$]/g, "")}}`;
    return `  ${name}: ${/: | #/.test(value) ? JSON.stringify(value) : value}\n`;
  });
  const passedOn = missing.filter((each) => !isRequired(each)).map(({ name }) => `  ${name}:\n`);
  return text
    .replace(/(?= {2}# Passed on if they are set\.\n)/, required.join(""))
    .replace(/(?<=^ {2}WEB_JOBS:\n)/m, passedOn.join(""));
}

const sentence = (about: string) => about.charAt(0).toUpperCase() + about.slice(1);

/** A value that the setting takes, and that leads nowhere. */
function madeUp({ name, read }: AnySetting): string {
  const host = `${name.toLowerCase().replaceAll("_", "-")}.invalid`;
  const texts = [
    `https://${host}`,
    `postgresql://nobody:of-the-sandbox-alone@${host}/product`,
    `${name.toLowerCase().replaceAll("_", "-")}-of-the-sandbox-alone-${randomBytes(8).toString("hex")}`,
    ...["1", "on", "nobody@example.com"],
  ];
  const isUrl = /_URL(_|$)/.test(name);
  const wanted = isUrl ? texts : [texts[2]!, ...texts];
  return wanted.find((text) => takes({ read }, text)) ?? "";
}

function takes({ read }: Pick<AnySetting, "read">, text: string): boolean {
  try {
    read(text, false);
    return true;
  } catch {
    return false;
  }
}
