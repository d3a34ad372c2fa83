import { describe, expect, it } from "@jest/globals";
import { sealConfig } from "../../src/resources/config-vars.ts";
import { resourceSealContext, type ResourceRow } from "../../src/resources/rows.ts";
import { secretsOf } from "../../src/work/vendor-steps.ts";
import { Secret } from "../../src/secret.ts";
import { createVault } from "../../src/vault/vault.ts";

const vault = await createVault({ encryptionKey: new Secret("a-key-of-more-than-thirty-two-characters") });
const UUID = "01234567-89ab-4def-8123-456789abcdef";

const sealedIn = (column: Parameters<typeof resourceSealContext>[0], text: string) =>
  Buffer.from(vault.seal(resourceSealContext(column, UUID), text));

const resource = {
  uuid: UUID,
  sealedLogInputUrl: sealedIn("sealed_log_input_url", "https://logs.example/input"),
  sealedLogDrainToken: sealedIn("sealed_log_drain_token", "d.drain-token"),
  sealedConfig: Buffer.from(
    sealConfig(vault, UUID, [
      { name: "URL", value: "teapot://key@host" },
      { name: "SIZE", value: "small" },
      { name: "GONE", value: null },
    ]),
  ),
} as ResourceRow;

const revealed = (row: ResourceRow) => secretsOf(vault, row).map((secret) => secret.reveal());

describe("secretsOf(resource)", () => {
  it("returns its log addresses and its config values, except short words", () => {
    expect(revealed(resource)).toEqual(["https://logs.example/input", "d.drain-token", "teapot://key@host"]);
    const none = { sealedLogInputUrl: null, sealedLogDrainToken: null, sealedConfig: null };
    expect(revealed({ ...resource, ...none })).toEqual([]);
  });

  it.each([
    ["sealedLogInputUrl", ["d.drain-token", "teapot://key@host"]],
    ["sealedLogDrainToken", ["https://logs.example/input", "teapot://key@host"]],
    ["sealedConfig", ["https://logs.example/input", "d.drain-token"]],
  ])("leaves out only %s when that cannot be decrypted", (column, others) => {
    // Encrypted for another place.
    expect(revealed({ ...resource, [column]: sealedIn("sealed_answer", "[]") })).toEqual(others);
  });

  it("leaves out only a config that cannot be parsed", () => {
    const sealedConfig = sealedIn("sealed_config", "no JSON");
    expect(revealed({ ...resource, sealedConfig })).toEqual(["https://logs.example/input", "d.drain-token"]);
  });
});
