/** Every bound that the API promises, in one place. Sizes are bytes unless the name says otherwise. */
const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  body: 1 * MIB,
  bodyWithAttachments: 16 * MIB,
  jsonDepth: 64,
  /** Members and items, however deep, of a caller's body. */
  jsonValues: 20_000,
  /** Of these, in one object or list. */
  jsonEntries: 2_000,
  /** What a refusal names one by one. */
  faults: 50,
  prompt: 256 * KIB,
  titleCharacters: 256,
  derivedTitleCharacters: 80,
  listedPromptCharacters: 2_000,
  outputSchema: 64 * KIB,
  attachments: { count: 5, total: 10 * MIB },
  metadata: { pairs: 20, value: 256, filters: 5 },
  mcpServers: 20,
  pageSize: { default: 20, max: 500 },
  eventPageSize: { default: 100, max: 1_000 },
  idempotency: { keyCharacters: 255, hours: 24, waitSeconds: 5 },
  /** In characters. */
  brakeMessage: 500,
  /** Runs that one call of the brake cancels. */
  cancelBatch: 200,
  share: { hours: { default: 168, max: 8_760 } },
  secret: { min: 8, max: 64 * KIB },
  /** In characters. */
  password: { min: 10, max: 256 },
  signIn: {
    invitationHours: 168,
    linkHours: 24,
    /** A session ends when it is not used for so long, and at the latest after so long. */
    idleDays: 14,
    maxDays: 90,
    /** After a one-time link, a new password needs no old one for so long. */
    freshMinutes: 10,
    /** Tries of a password in one window, for each account and each network address. */
    tries: { account: 10, address: 50, windowMinutes: 15 },
  },
  header: 16 * KIB,
} as const;
