/** The settings of a cli entry in `gateway.channels[]`. */
import { z } from 'zod';

export const CliSettings = z.strictObject({}).describe('The terminal has no settings.');

export type CliSettings = z.infer<typeof CliSettings>;
