import type { TelemetrySettings } from "./settings.ts";
import type { Telemetry, TelemetryOptions } from "./telemetry.ts";

/** Loads the SDK and starts exporting. */
export async function openTelemetry(
  settings: TelemetrySettings,
  options: TelemetryOptions,
): Promise<Telemetry> {
  const { startSdk } = await import("./sdk/start-sdk.ts");
  return startSdk(settings, options);
}
