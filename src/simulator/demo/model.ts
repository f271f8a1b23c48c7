/** A model of the demo: it answers by a script, in the wire format of OpenAI, and counts what it is asked. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface DemoModel extends AsyncDisposable {
  /** For `base_url` of the config. */
  readonly url: string;
  /** Calls that were answered to the end, by who asked. */
  readonly answered: ReadonlyMap<string, number>;
}

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

interface Answer {
  readonly who: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  readonly ms: number;
}

export const PARTS = ['weather', 'food', 'music'] as const;

const RESULTS: Readonly<Record<(typeof PARTS)[number], string>> = {
  weather: 'Saturday: dry, 24 degrees; rain comes on Sunday.',
  food: 'Twelve guests: 3 kg of potatoes, 24 sausages, two salads.',
  music: 'A playlist of two hours, quiet at the beginning.',
};

export async function startDemoModel(): Promise<DemoModel> {
  const answered = new Map<string, number>();
  const server = createServer((request, response) => {
    answer(request, response, answered).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    answered,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, answered: Map<string, number>): Promise<void> {
  let body = '';
  for await (const piece of request) body += String(piece);
  const { messages } = JSON.parse(body) as { readonly messages: readonly Message[] };
  const { who, text = '', calls = [], ms } = scripted(messages);
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the caller is gone')));
  await sleep(ms, undefined, { signal: gone.signal });
  const tools = calls.map(({ name, args }, index) => ({
    ...{ index, id: `call_${index}`, type: 'function' },
    function: { name, arguments: JSON.stringify(args) },
  }));
  const delta = tools.length > 0 ? { role: 'assistant', content: text, tool_calls: tools } : { role: 'assistant', content: text };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const choice of [
    { delta, finish_reason: null },
    { delta: {}, finish_reason: tools.length > 0 ? 'tool_calls' : 'stop' },
  ])
    response.write(
      event({ id: 'demo', object: 'chat.completion.chunk', created: 1, model: 'demo', choices: [{ index: 0, ...choice }] }),
    );
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  response.end(`${event({ object: 'chat.completion.chunk', choices: [], usage })}data: [DONE]\n\n`);
  answered.set(who, (answered.get(who) ?? 0) + 1);
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** What a person could plan a party with: three parts at once, then a question, then the plan. */
function scripted(messages: readonly Message[]): Answer {
  const asked = messages.findLast(({ role }) => role === 'user');
  const words = textOf(asked);
  const part = PARTS.find((one) => words.includes(`Look after the ${one}`));
  if (part) return { who: `sub-agent ${part}`, text: RESULTS[part], ms: 1_000 + 2_000 * PARTS.indexOf(part) };
  const results = messages.filter(({ role }) => role === 'tool').map(textOf);
  if (results.length === 0)
    return {
      ...{ who: 'task', ms: 500 },
      calls: PARTS.map((one) => ({
        name: 'dispatch_subagent',
        args: { task_description: `Look after the ${one} of a garden party.` },
      })),
    };
  if (results.length === PARTS.length)
    return {
      ...{ who: 'task', ms: 500 },
      calls: [
        {
          name: 'ask_human',
          args: { question: 'Everything is ready. Shall it begin at 15 or at 18 o’clock?', wait_for_answer: true },
        },
      ],
    };
  return {
    who: 'task',
    ms: 500,
    text: `The plan. Beginning: ${results.at(-1)}.\n${results
      .slice(0, -1)
      .map((one) => `- ${one}`)
      .join('\n')}`,
  };
}

function textOf(message: Message | undefined): string {
  const { content } = message ?? {};
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('\n') : '';
}
