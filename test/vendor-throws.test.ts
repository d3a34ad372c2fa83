import { expect, it, jest } from "@jest/globals";
import { anEmbeddedDatabase } from "./support/database.ts";
import { teapotConfig } from "./support/sellers.ts";

// The vendor's own code, which may throw as it is made.
jest.unstable_mockModule("../src/your-service/index.ts", () => ({
  createYourService() {
    throw new Error("The shop is closed.");
  },
}));
const { createServices } = await import("../src/services.ts");

it("a vendor's service that cannot be made leaves no database open, which would keep a command from ending", async () => {
  const database = await anEmbeddedDatabase();
  const config = teapotConfig({
    ...{ ADDON_ID: "teapots", ADDON_PASSWORD: "a-password-of-tests" },
    ...{ ENCRYPTION_KEY: "0123456789abcdef0123456789abcdef", ...database.environment },
    PLATFORM_API_URL: "https://api.example.com",
    PLATFORM_AUTH_URL: "https://id.example.com",
    PLATFORM_STATUS_URL: "https://status.example.com",
  });
  await expect(createServices(config, "owner")).rejects.toThrow("The shop is closed.");
  // Fails where it is still open.
  await database.close();
});
