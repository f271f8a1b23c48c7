import { z } from 'zod';

/** What `check-security.ts` finds. `stopsStart`: a secret would cross the internet in the clear. */
export const RISKS = {
  'model-in-clear': {
    what: 'A `base_url` with `http://` at a public address: key and conversations can be read',
    stopsStart: true,
  },
  'login-in-clear': {
    what: 'A login of mail or IRC without TLS, or with a certificate that nothing checks, at a public address',
    stopsStart: true,
  },
  'open-without-budget': {
    what: '`"*"` in `allowed_senders` without `budget.daily_usd` or `budget.sender_usd`',
    stopsStart: false,
  },
  'sender-never-matches': { what: 'An entry of `allowed_senders` that no id of the platform can equal', stopsStart: false },
  'programs-bare': { what: '`sandbox.mode` is `none`: programs of the agent may do all that the daemon may', stopsStart: false },
  'mode-full': { what: '`tool_policy.mode` is `full`: you are asked about no tool call', stopsStart: false },
  'listens-everywhere': { what: 'A listener on `0.0.0.0` or `::`, without TLS', stopsStart: false },
} as const;

export type RiskId = keyof typeof RISKS;

export const securitySection = z
  .strictObject({
    accept: z
      .array(z.enum(Object.keys(RISKS) as [RiskId, ...RiskId[]]))
      .max(20)
      .default([])
      .describe(
        'Ids of dangers that you know of and mean: `gatehouse doctor security` lists them, and says nothing of these any more.',
      ),
  })
  .prefault({})
  .describe('Dangers in this config that are meant.');
