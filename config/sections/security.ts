import { z } from 'zod';

/** Of what `check-security.ts` finds; the first two stop the start. */
const riskId = z.enum([
  'model-in-clear',
  'login-in-clear',
  'open-without-budget',
  'sender-never-matches',
  'programs-bare',
  'mode-full',
  'listens-everywhere',
]);

export type RiskId = z.output<typeof riskId>;

export const securitySection = z
  .strictObject({
    accept: z
      .array(riskId)
      .max(20)
      .default([])
      .describe(
        'Ids of dangers that you know of and mean: `gatehouse doctor security` lists them, and says nothing of these any more.',
      ),
  })
  .prefault({})
  .describe('Dangers in this config that are meant.');
