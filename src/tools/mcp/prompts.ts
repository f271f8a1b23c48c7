/**
 * What a server has prepared to be asked, as two tools of our own making, like those for its resources. What
 * a server writes is foreign, so no prompt of one goes where words of people stand (MCP 2025-11-25,
 * server/prompts).
 */
import { z } from 'zod';
import { oneLine } from '../../lib/one-line.ts';
import { type AskServer, entriesOf, MAX_SHOWN, said, shownList } from './pages.ts';

const MAX_NAME = 200;
const MAX_ARGUMENTS = 50;
const MAX_VALUE = 10_000;
/** Messages of one prompt that are shown. */
const MAX_MESSAGES = 100;

const LIST = 'list_prompts';
const GET = 'get_prompt';

const annotations = { readOnlyHint: true };

/** In the form in which a server lists its tools. */
export const PROMPT_TOOLS = [
  {
    ...{ name: LIST, annotations },
    description: 'List the prompts that this server has prepared: name, arguments and description of each.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  },
  {
    ...{ name: GET, annotations },
    description: 'Read a prompt that this server has prepared.',
    inputSchema: {
      ...{ type: 'object', required: ['name'], additionalProperties: false },
      properties: {
        name: { type: 'string', description: `As ${LIST} tells it` },
        arguments: { type: 'object', additionalProperties: { type: 'string' }, description: 'Each a text' },
      },
    },
  },
] as const;

const text = z.string().catch('');
const argument = z.object({ name: text, required: z.boolean().catch(false) });
const prompt = z.object({ name: text, description: text, arguments: z.array(argument).nullish().catch([]) });
const given = z.object({
  name: z.string().min(1).max(MAX_NAME),
  arguments: z
    .record(z.string().max(MAX_NAME), z.string().max(MAX_VALUE))
    .refine((values) => Object.keys(values).length <= MAX_ARGUMENTS)
    .optional(),
});
const message = z.object({ role: text, content: z.unknown() });

/**
 * Answers like the server to a call of one of its own tools. Rejects where the server refuses, or gives no
 * answer.
 */
export async function callPromptTool(name: string, args: unknown, ask: AskServer): Promise<unknown> {
  if (name === LIST) {
    const prompts = z.array(prompt).parse(await entriesOf('prompts/list', 'prompts', ask));
    return said(shownList(prompts.map(lineOf), 'this server has no prompts now'));
  }
  const call = given.safeParse(args);
  if (!call.success)
    return { ...said(`name must be a text of 1 to ${MAX_NAME} characters, arguments an object of texts`), isError: true };
  const answer = z.object({ messages: z.array(message) }).safeParse(await ask('prompts/get', call.data));
  if (!answer.success) return undefined;
  const { messages } = answer.data;
  const shown = messages
    .slice(0, MAX_MESSAGES)
    .flatMap(({ role, content }) => [textBlock(`[message of ${whose(role)}]`), content]);
  if (messages.length > MAX_MESSAGES) shown.push(textBlock(`[${messages.length - MAX_MESSAGES} more messages not shown]`));
  return shown.length > 0 ? { content: shown } : said('this prompt is empty');
}

function lineOf({ name, description, arguments: all }: z.output<typeof prompt>): string {
  const names = (all ?? []).slice(0, MAX_ARGUMENTS).map((one) => `${oneLine(one.name, MAX_NAME)}${one.required ? '' : '?'}`);
  const about = description === '' ? '' : `: ${oneLine(description, MAX_SHOWN)}`;
  return `${oneLine(name, MAX_NAME)} (${oneLine(names.join(', '), 1_000)})${about}`;
}

function whose(role: string): string {
  return role === 'user' || role === 'assistant' ? role : 'unknown role';
}

function textBlock(words: string): object {
  return { type: 'text', text: words };
}
