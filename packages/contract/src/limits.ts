/** All limits of the public API. Sizes are in bytes unless a name or comment specifies another unit. */
const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  body: 1 * MIB,
  bodyWithAttachments: 16 * MIB,
  jsonDepth: 64,
  /** The total number of fields and items in a request body, at all depths. */
  jsonValues: 20_000,
  /** The number of fields or items in a single object or array. */
  jsonEntries: 2_000,
  /** The number of field errors in one error response. */
  fieldErrors: 50,
  prompt: 256 * KIB,
  titleCharacters: 256,
  /** The length of the names of environments, keys, cloud agents, users and configurations. */
  nameCharacters: 128,
  searchCharacters: 256,
  priority: { min: -10, max: 10 },
  derivedTitleCharacters: 80,
  listedPromptCharacters: 2_000,
  outputSchema: 64 * KIB,
  attachments: { count: 5, total: 10 * MIB },
  metadata: { pairs: 20, value: 256, filters: 5 },
  mcpServers: 20,
  mcpTimeoutSeconds: { startup: 600, call: 3_600 },
  /** Up to how many runs a list counts. */
  countedRuns: 10_000,
  pageSize: { default: 20, max: 500 },
  eventPageSize: { default: 100, max: 1_000 },
  idempotency: { keyCharacters: 255, hours: 24, waitSeconds: 5 },
  /** In characters. */
  maintenanceMessage: 500,
  /** The number of runs that one call to `POST /installation/maintenance/cancel` cancels. */
  cancelBatch: 200,
  views: { perUser: 200, columns: 50 },
  templates: { count: 1_000, prompt: 64 * KIB, variables: 50, options: 100, value: 8 * KIB },
  attention: { count: 100, days: 14 },
  share: { hours: { default: 168, max: 8_760 } },
  secret: { min: 8, max: 64 * KIB },
  /** In characters. */
  password: { min: 10, max: 256 },
  signIn: {
    invitationHours: 168,
    linkHours: 24,
    /** A session ends after this many days without use, and at the latest after `maxDays`. */
    idleDays: 14,
    maxDays: 90,
    /** How long after signing in by link a user can set a password without entering the current one. */
    freshMinutes: 10,
    /** The number of password attempts in one window, for each account and each network address. */
    attempts: { account: 10, address: 50, windowMinutes: 15 },
  },
  header: 16 * KIB,
} as const;
