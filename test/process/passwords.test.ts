import { randomBytes, randomUUID } from "node:crypto";
import type { Environment } from "../../src/environment.ts";
import { teapotConfig } from "../support/sellers.ts";

const good: Environment = {
  ADDON_ID: "teapots",
  ADDON_PASSWORD: randomBytes(24).toString("hex"),
  PLATFORM_API_URL: "https://api.example.com",
  PLATFORM_AUTH_URL: "https://id.example.com",
  PLATFORM_STATUS_URL: "https://status.example.com",
  PUBLIC_URL: "https://addon.example.com",
  ENCRYPTION_KEY: randomBytes(32).toString("hex"),
  DATABASE_URL: "postgresql://shop@127.0.0.1:5432/shop",
};

/** What a start says of these settings; null: it takes them. */
function refusalOf(change: Environment): string | null {
  try {
    teapotConfig({ ...good, ...change });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

const PASSWORDS = ["ADDON_PASSWORD", "OPERATOR_PASSWORD", "METRICS_PASSWORD", "SSO_SALT"];

it.each([
  ...[
    "Password1234",
    "qwertyuiop12",
    "P@ssw0rd1234",
    "Passw0rd!2024",
    "Summer2024!!",
    "letmein12345",
    "iloveyou12345",
  ],
  ...[
    "!QAZ2wsx#EDC",
    "1q2w3e4r5t6y",
    "zaq12wsxcde3",
    "asdfghjkl;123",
    "poiuytrewq12",
    "Qwertz123456",
    "1029384756qp",
  ],
  ...[
    "abcdefghijkl",
    "abcabcabcabc1",
    "aaaaaaaaaaaab",
    "Ab1!Ab1!Ab1!",
    "123456789012345678901234",
    "2024-01-01-2024",
  ],
  ...[
    "operator1234",
    "admin123admin123",
    "AddonService1",
    "operatoroperator",
    "metricsmetrics",
    "S3cretPassword",
  ],
  ...[
    "passwordpasswordpasswordpassword",
    "Passw0rd-Passw0rd",
    "companyname1234",
    "Teapots2024!",
    "aB3$xY9!k",
  ],
])("the password %s is refused, by its setting's name alone, but for development", (password) => {
  for (const name of PASSWORDS) {
    const refusal = refusalOf({ [name]: password });
    expect(refusal).toContain(
      `\n  ${name} is too easy to guess: make a long random one (openssl rand -hex 24).`,
    );
    expect(refusal).not.toContain(password);
    expect(refusalOf({ [name]: password, ALLOW_INSECURE_PLATFORM: "on" })).toBeNull();
  }
});

const many = (make: () => string) => Array.from({ length: 25 }, make);
it.each([
  ["openssl rand -hex 12", many(() => randomBytes(12).toString("hex"))],
  ["openssl rand -hex 24", many(() => randomBytes(24).toString("hex"))],
  ["openssl rand -base64 18", many(() => randomBytes(18).toString("base64"))],
  ["a uuid", many(randomUUID)],
  ["a manager of passwords", ["uV7#qLz!p2Xw", "kX9-mTq2-vB7z", "gT$8wq!Lz0pR&c4V"]],
  [
    "four random words",
    ["tumble-orbit-canyon-velvet", "correct horse battery staple", "Mist.Gravel.Onion.Kettle"],
  ],
])("passwords from %s are taken", (_, passwords) => {
  expect(passwords.filter((password) => refusalOf({ OPERATOR_PASSWORD: password }))).toEqual([]);
});

it.each([
  ...[
    "abcdefghijklmnopqrstuvwxyz123456",
    "0123456789abcdef0123456789abcdef",
    "zyxwvutsrqponmlkjihgfedcba987654",
  ],
  ...[
    "qwertyuiopasdfghjklzxcvbnm123456",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9",
    "112233445566778899aabbccddeeff00",
  ],
  ...[
    "00000000-0000-0000-0000-000000000000",
    "deadbeefdeadbeefdeadbeefdeadbeef",
    "encryption-key-encryption-key-1234",
  ],
  ...[
    "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
    "PasswordPasswordPasswordPassword",
    "thisismyencryptionkeyforproduction",
  ],
])("the key %s is refused to seal with, and still opens what it has sealed", (key) => {
  const refusal = refusalOf({ ENCRYPTION_KEY: key });
  expect(refusal).toMatch(
    /\n {2}ENCRYPTION_KEY is too easy to guess: .* put it into DECRYPTION_KEYS, and run kit keys reseal\.$/,
  );
  expect(refusal).not.toContain(key);
  expect(refusalOf({ DECRYPTION_KEYS: key })).toBeNull();
  expect(refusalOf({ ENCRYPTION_KEY: key, ALLOW_INSECURE_PLATFORM: "on" })).toBeNull();
});

it.each([
  ["openssl rand -hex 16", many(() => randomBytes(16).toString("hex"))],
  ["openssl rand -hex 32", many(() => randomBytes(32).toString("hex"))],
  ["openssl rand -base64 32", many(() => randomBytes(32).toString("base64"))],
  ["the platform's generator", many(() => randomBytes(64).toString("hex"))],
  ["a uuid", many(randomUUID)],
  ["six random words", ["tumble-orbit-canyon-velvet-mist-gravel"]],
])("keys from %s are taken", (_, keys) => {
  expect(keys.filter((key) => refusalOf({ ENCRYPTION_KEY: key }))).toEqual([]);
});

it("a password that is refused now may still be the one before it, so that it can be replaced without a gap", () => {
  expect(refusalOf({ ADDON_PASSWORD_PREVIOUS: "Password1234" })).toBeNull();
});
