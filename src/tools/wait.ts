import { z } from 'zod';
import { defineTool } from './define.ts';

/** Spec P39. */
const MOST_SECONDS = 300;

/** The run holds nothing meanwhile, and a restart of the daemon does not make the time longer. */
export const waitTool = defineTool({
  name: 'wait',
  description: 'Wait before going on, such as for something that takes a while elsewhere.',
  schema: z.strictObject({ seconds: z.number().min(1).max(MOST_SECONDS).describe('How long') }),
  tags: ['runtime'],
  effect: 'none',
  async run({ seconds }, { clock }) {
    const late = { ok: true, output: `Waited ${seconds} s` };
    return { output: '', wait: { kind: 'timer', about: `${seconds} s`, due: clock.now() + Math.round(seconds * 1_000), late } };
  },
});
