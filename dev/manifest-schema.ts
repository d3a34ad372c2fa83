import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import { manifestJsonSchema } from "../src/manifest/schema.ts";

// Writes app.schema.json from src/manifest/schema.ts. Run it after a change there: node --import tsx
// dev/manifest-schema.ts

const FILE = fileURLToPath(new URL("../app.schema.json", import.meta.url));

writeFileSync(FILE, await format(JSON.stringify(manifestJsonSchema()), { parser: "json", printWidth: 110 }));
