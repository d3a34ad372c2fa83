// Imported first by the programs that hold credentials: at SIGUSR1 Node would open its inspector, through which anybody on
// this machine reads them. To debug the service: npm run dev -- --inspect
process.on("SIGUSR1", () => undefined);
