import { z } from 'zod';
import type { Asking, Wondering } from '../core/asking.ts';
import { readChoice } from '../core/choices.ts';
import type { Act, Tool } from '../core/tool.ts';
import { choiceLabels } from './choice-labels.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

const MOST_CHARS = 2_000;
const MINUTE_MS = 60_000;
const UNITS = { s: 1_000, m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS } as const;
const SHORTEST_MS = 5_000;
const LONGEST_MS = 30 * UNITS.d;

/** Of arguments that nothing has checked. */
const Where = z.looseObject({ to: z.string().default('requester') });
const Waits = z.looseObject({ wait_for_answer: z.literal(false) });

export const askHuman = defineBoundTool({
  name: 'ask_human',
  description:
    'Ask a person and wait for the answer, which is the result of this call: minutes or days later. ' +
    'Ask one question at a time, and only what you cannot find out or decide yourself. Other people read on whose behalf you ask.',
  schema: z.strictObject({
    question: z.string().min(1).max(MOST_CHARS).describe('All that the person needs to answer'),
    answer: z.enum(['text', 'choice', 'approval']).default('text').describe('approval comes to allow or deny'),
    choices: z.array(z.string()).max(10).optional().describe('For choice: 2 to 10 short labels'),
    to: z.string().min(1).max(500).default('requester').describe('requester, owner, or another person: id, channel:id or name'),
    wait_for_answer: z.boolean().default(true).describe('false: tell them, and go on'),
    expires_in: z.string().optional().describe('Such as 30m, 4h or 2d. Default: 7d'),
    default: z.string().optional().describe('The result when nobody answers in time'),
  }),
  tags: ['message'],
  effect: 'outside',
  // A question is written when the run parks, and a message by the key of the call.
  idempotent: true,
  act: (args) => (isToRequester(args) ? 'home' : 'chat'),
  single: {
    of: (args) => !Waits.safeParse(args).success,
    refusal: 'already asking: of several questions in one answer only the first is put. Ask again when it is answered',
  },
  bind: ({ asking }) => asking,
  judge: (asking) => ({ act: (args) => actOf(args, asking), approval: approvalFor(asking) }),
  async run({ wait_for_answer: waits, ...asked }, { idempotencyKey, signal }, asking) {
    if (asking.refusal !== undefined) throw new ToolFailure(asking.refusal);
    if (!/\S/.test(asked.question)) throw new ToolFailure('the question is empty');
    if (!waits) {
      const told = await asking.tell(asked.to, asked.question, idempotencyKey, signal);
      if (told.kind === 'refused') throw new ToolFailure(told.reason);
      return `On its way to ${told.title}. No answer is waited for.`;
    }
    const question = await asking.question(wonderingOf(asked, asking));
    if (question.kind === 'refused') throw new ToolFailure(question.reason);
    return { output: '', wait: question.wait };
  },
});

function isToRequester(args: unknown): boolean {
  const read = Where.safeParse(args ?? {});
  return read.success && read.data.to === 'requester';
}

/** What cannot be read reaches as far as the tool can. */
function actOf(args: unknown, asking: Asking): Act {
  if (asking.refusal !== undefined) return 'none';
  const read = Where.safeParse(args ?? {});
  return read.success && asking.isHome(read.data.to) ? 'home' : 'chat';
}

/** A yes covers whom it reaches; the arguments hold every word. */
function approvalFor(asking: Asking): NonNullable<Tool['approval']> {
  return async (args) => {
    const found = await asking.find(Where.parse(args).to);
    if (found.kind === 'refused') throw new ToolFailure(found.reason);
    const { title, head, reader } = found;
    return { digest: { reader, head }, shown: `To ${title}, below the line:\n${head}` };
  };
}

interface Arguments {
  readonly question: string;
  readonly answer: 'text' | 'choice' | 'approval';
  readonly choices?: readonly string[] | undefined;
  readonly to: string;
  readonly expires_in?: string | undefined;
  readonly default?: string | undefined;
}

function wonderingOf(
  { question, to, answer, choices, expires_in: expires, default: preset }: Arguments,
  asking: Asking,
): Wondering {
  if (answer !== 'choice' && choices !== undefined && choices.length > 0)
    throw new ToolFailure('only the answer choice takes choices');
  const labels = answer === 'choice' ? choiceLabels(choices ?? [], (words) => asking.isReserved(words)) : [];
  if (answer === 'choice' && labels.length < 2) throw new ToolFailure('a choice needs at least two choices');
  const offered = labels.map((label) => ({ label, value: label }));
  const expiresInMs = expires === undefined ? undefined : msOf(expires);
  return {
    ...{ to, text: question.trim(), answer: answer === 'approval' ? 'approve' : answer, choices: offered },
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    ...(preset === undefined ? {} : { preset: presetOf(preset, answer, offered) }),
  };
}

function msOf(words: string): number {
  const [, number, unit = ''] = /^\s*(\d{1,5})\s*([smhd])\s*$/i.exec(words) ?? [];
  const ms = Number(number) * (UNITS[unit.toLowerCase() as keyof typeof UNITS] ?? Number.NaN);
  if (ms >= SHORTEST_MS && ms <= LONGEST_MS) return ms;
  throw new ToolFailure(`${JSON.stringify(words)} is no time for expires_in: give 5s to 30d, such as 30m, 4h or 2d`);
}

/** A person who stays silent has approved of nothing. */
function presetOf(preset: string, answer: Arguments['answer'], choices: Wondering['choices']): string {
  if (answer === 'text') return preset;
  if (answer === 'approval') {
    if (preset.trim().toLowerCase() === 'deny') return 'deny';
    throw new ToolFailure('the default of an approval can only be deny');
  }
  const choice = readChoice(preset, choices);
  if (!choice) throw new ToolFailure('the default is none of the choices');
  return choice.value;
}
