// One way of calling a model, in a process of its own. Arguments: KIND BASE_URL DIR. Each message `{calls}`
// is answered with what the calls took.
import OpenAI from 'openai';
import type { Model, ModelAnswer, ModelFacts, ModelRequest } from '../src/core/model.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createOpenAiChat } from '../src/llm/protocols/openai-chat.ts';
import type { CallerAnswer, CallerKind, CallerLoad } from './caller-load.ts';
import { createStack } from './model-stack.ts';

const [kind = 'bare', baseURL = '', dir = ''] = process.argv.slice(2);
const PROMPT = 'What is the capital of Norway?';
const { signal } = new AbortController();

/** Resolves with the text of the answer. */
type Call = () => Promise<string>;

function bare(): Call {
  const openai = new OpenAI({ baseURL, apiKey: 'sk-bench', maxRetries: 0 });
  return async () => {
    const stream = await openai.chat.completions.create({
      model: 'bench',
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: 'user', content: PROMPT }],
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    return text;
  };
}

function through(model: Model, record?: (request: ModelRequest, answer: ModelAnswer) => Promise<void>): Call {
  const messages = [{ id: 'u', role: 'user', content: PROMPT, timestamp: '2026-01-01T00:00:00Z' }] as const;
  return async () => {
    const context = { session: 'bench', channel: 'bench', sender: 'bench:1', purpose: 'turn' };
    const request = { messages, tools: [], context };
    let text = '';
    for await (const event of model.call(request, signal)) {
      if (event.type === 'text') text += event.text;
      if (event.type === 'failed') throw new Error(event.failure.message);
      if (event.type === 'done') await record?.(request, event.answer);
    }
    return text;
  };
}

function wire(model: string): Model {
  const facts: ModelFacts = { maxOutputTokens: 32_000, vision: false, tools: true, price: { in: 1, out: 4, cached: 0.1 } };
  const timeouts = { connectMs: 10_000, totalMs: 300_000 };
  const where = { provider: 'openai', model, baseUrl: baseURL, apiKey: 'sk-bench' };
  return createOpenAiChat({ ...where, contextWindow: 128_000, facts, timeouts, clock: systemClock });
}

const CALLERS: Readonly<Record<CallerKind, () => Promise<Call>>> = {
  bare: async () => bare(),
  wire: async () => through(wire('bench')),
  async stack() {
    const stack = await createStack([wire('bench'), wire('spare')], dir, systemClock);
    return through(stack.model, stack.record);
  },
};

async function run(call: Call, { calls }: CallerLoad): Promise<CallerAnswer> {
  const latenciesMs: number[] = [];
  let characters = 0;
  const before = process.cpuUsage();
  for (let count = 0; count < calls; count += 1) {
    const start = performance.now();
    characters += (await call()).length;
    latenciesMs.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(before);
  return { latenciesMs, cpuMs: (user + system) / 1_000 / calls, characters: characters / calls };
}

const call = await CALLERS[kind as CallerKind]();
process.on('message', (load: CallerLoad) => {
  run(call, load).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit(0));
process.stdout.write('ready\n');
