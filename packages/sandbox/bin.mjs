#!/usr/bin/env node
// The command of the packed archive. `npm pack` compiles what it starts, unless npm is told to run no scripts.

// Node would open its inspector, through which anybody on this machine reads the credentials.
process.on("SIGUSR1", () => undefined);
const command = await import("./dist/command.js").catch((error) => {
  if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.message.includes("dist/command.js")) throw error;
  console.error("This package was packed without its JavaScript: npm pack --ignore-scripts=false");
  process.exit(1);
});
await command.runSandbox(process.env, process.argv.slice(2));
