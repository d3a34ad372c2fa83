import { inspect } from "node:util";
import { Secret } from "../../src/secret.ts";
import { createVault, keyIdOf, type SealContext, type Vault } from "../../src/vault/vault.ts";

const OLD = new Secret("an-old-key-of-more-than-32-characters");
const NEW = new Secret("a-new-key-of-more-than-32-characters!");
const TOKEN = "SVCK-0123456789abcdef-🫖";

const context: SealContext = {
  table: "credentials",
  column: "sealed_access_token",
  uuid: "01234567-89ab-cdef-0123-456789abcdef",
};

let vault: Vault;
beforeAll(async () => {
  vault = await createVault({ encryptionKey: OLD });
});

describe("a sealed (encrypted) value", () => {
  it.each([
    ["a token", TOKEN],
    ["nothing", ""],
    ["64 kB", "x".repeat(65_536)],
    ["NUL and line ends", "a\0b\r\n"],
  ])("is decrypted in its place to %s, and names its key", (_case, text) => {
    for (const sealed of [vault.seal(context, text), vault.seal(context, new Secret(text))]) {
      expect(vault.open(context, sealed).reveal()).toBe(text);
      expect(keyIdOf(sealed)).toBe(vault.keyId);
      expect(text !== "" && Buffer.from(sealed).includes(text)).toBe(false);
    }
  });

  it.each<[string, Partial<SealContext>]>([
    ["another row", { uuid: "01234567-89ab-cdef-0123-456789abcdee" }],
    ["the same row written in capitals", { uuid: context.uuid.toUpperCase() }],
    ["another column", { column: "sealed_refresh_token" }],
    ["another table", { table: "resources" }],
    ["no row", { uuid: "" }],
    ["no place at all", { table: "", column: "", uuid: "" }],
    ["a place that reads the same without its gaps", { table: "credentialssealed", column: "_access_token" }],
    ["column and row swapped", { column: context.uuid, uuid: context.column }],
  ])("cannot be decrypted in %s", (_case, change) => {
    expect(() => vault.open({ ...context, ...change }, vault.seal(context, TOKEN))).toThrow(
      "cannot be decrypted",
    );
  });

  it("cannot be decrypted after any single bit is flipped", () => {
    const sealed = vault.seal(context, TOKEN);
    for (let byte = 0; byte < sealed.length; byte++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = sealed.slice();
        changed[byte]! ^= 1 << bit;
        // Bytes 1 to 8 are the key's id: with a flipped bit it names an unknown key.
        const expected = byte >= 1 && byte <= 8 ? "needs key" : "cannot be decrypted";
        expect(() => vault.open(context, changed)).toThrow(expected);
      }
    }
  });

  it("cannot be decrypted when truncated anywhere, or with bytes appended", () => {
    const sealed = vault.seal(context, TOKEN);
    for (let length = 0; length < sealed.length; length++)
      expect(() => vault.open(context, sealed.subarray(0, length))).toThrow("cannot be decrypted");
    expect(() => vault.open(context, new Uint8Array([...sealed, 0]))).toThrow("cannot be decrypted");
    expect(() => vault.open(context, new Uint8Array(sealed.length))).toThrow("cannot be decrypted");
  });

  it("has a unique nonce: ten thousand of one value are all different", () => {
    const nonces = new Set<string>();
    for (let i = 0; i < 10_000; i++)
      nonces.add(Buffer.from(vault.seal(context, TOKEN)).toString("latin1", 9, 33));
    expect(nonces.size).toBe(10_000);
  });
});

describe("a key ring", () => {
  it("tries only the key that the value names", async () => {
    const both = await createVault({ encryptionKey: NEW, decryptionKeys: [OLD] });
    const relabelled = vault.seal(context, TOKEN);
    relabelled.set(Buffer.from(both.keyId, "hex"), 1);
    expect(() => both.open(context, relabelled)).toThrow("cannot be decrypted");
  });

  it("decrypts what an earlier release encrypted", async () => {
    const fixed = await createVault({ encryptionKey: new Secret("0123456789abcdef0123456789abcdef") });
    expect(fixed.keyId).toBe("6cd9c3a4426caaca");
    expect(
      fixed
        .open(
          context,
          Buffer.from("AWzZw6RCbKrKwNjJXwD/9qhh+KGfJWc89bHTllwZAZBnZoRwklNUnkQJsi/Ro2y5qLgH7gA=", "base64"),
        )
        .reveal(),
    ).toBe("kept");
  });

  it("computes a secret's hash under an older key too, by which it is recognised", async () => {
    const both = await createVault({ encryptionKey: NEW, decryptionKeys: [OLD] });
    const secret = new Secret(TOKEN);
    expect(both.hash(secret, vault.keyId)).toEqual(vault.hash(secret));
    expect(both.hash(secret)).not.toEqual(vault.hash(secret));
  });
});

it("the vault's errors name the place and contain nothing of the value or the key", async () => {
  const sealed = vault.seal(context, TOKEN);
  const stranger = await createVault({ encryptionKey: NEW });
  const attempts: [string, () => unknown][] = [
    ["integrity", () => vault.open({ ...context, column: "elsewhere" }, sealed)],
    ["key_missing", () => stranger.open(context, sealed)],
  ];
  for (const [id, attempt] of attempts) {
    const error: unknown = await Promise.resolve()
      .then(attempt)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ id, message: expect.stringContaining(context.uuid) });
    expect(error).not.toHaveProperty("cause");
    const shown = inspect(error, { depth: 9, showHidden: true });
    for (const secret of [TOKEN, OLD.reveal()]) expect(shown).not.toContain(secret);
  }
});

describe("a Secret", () => {
  const secret = new Secret(TOKEN);
  const holder = { a: [{ secret }], map: new Map([["k", secret]]), set: new Set([secret]) };

  it.each<[string, () => unknown]>([
    ["JSON", () => JSON.stringify(holder)],
    ["inspection", () => inspect(holder, { depth: 9, showHidden: true, getters: true })],
    ["plain inspection", () => inspect(secret, { customInspect: false, showHidden: true, depth: 9 })],
    ["adding it to a text", () => "" + (secret as unknown as string)],
    ["toLocaleString()", () => secret.toLocaleString()],
    ["a clone", () => inspect(structuredClone({ secret: { ...secret } }), { showHidden: true })],
    ["its entries", () => JSON.stringify(Object.entries(Object.getOwnPropertyDescriptors(secret)))],
    ["an error that has it as its cause", () => inspect(new Error("x", { cause: secret }), { depth: 9 })],
    ["an error that holds it", () => inspect(Object.assign(new Error("x"), { secret }), { depth: 9 })],
  ])("does not show its value in %s", (_case, show) => {
    expect(show()).not.toContain(TOKEN);
  });

  it("shows as [secret], and its value only by reveal()", () => {
    expect(`${secret as unknown as string} ${JSON.stringify(secret)} ${inspect(secret)}`).toBe(
      '[secret] "[secret]" [secret]',
    );
    expect(secret.reveal()).toBe(TOKEN);
  });
});
