import { type GatehouseError, isGatehouseError } from '../core/errors.ts';

/**
 * The contract with scripts. 78 is EX_CONFIG of sysexits.h: a service manager need not try again; 130 is
 * what shells say of Ctrl-C.
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, notRunning: 3, refused: 4, config: 78, interrupted: 130 } as const;

const BY_CODE: Partial<Record<GatehouseError['code'], number>> = {
  GH1001: EXIT.usage,
  GH1002: EXIT.notRunning,
  GH1005: EXIT.refused,
  GH1010: EXIT.interrupted,
  // Packages that could not be installed say nothing of the config.
  GH1106: EXIT.failed,
  GH1107: EXIT.failed,
};

export function exitCodeOf(error: unknown): number {
  if (!isGatehouseError(error)) return EXIT.failed;
  return BY_CODE[error.code] ?? (error.code.startsWith('GH11') ? EXIT.config : EXIT.failed);
}
