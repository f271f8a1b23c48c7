// Which packages a daemon with one provider has in memory after a call. Arguments: WIRE BASE_URL DIR. Prints
// one JSON line. It loads the code of the whole program, so that an SDK that any of its files imports
// outright is seen, and calls through the whole stack.
import { registerHooks } from 'node:module';
import type { Model } from '../src/core/model.ts';
import type { WireOptions } from '../src/llm/protocols/wire.ts';
import type { LoadedPackages, WireName } from './caller-load.ts';

const packages = new Set<string>();
registerHooks({
  load(url, context, next) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
    if (name) packages.add(name);
    return next(url, context);
  },
});

const [name = 'openai', baseUrl = '', dir = ''] = process.argv.slice(2);
await import('../src/app/run-gateway.ts');
const { systemClock: clock } = await import('../src/lib/clock.ts');
const { createStack } = await import('./model-stack.ts');
const { createOpenAiChat } = await import('../src/llm/protocols/openai-chat.ts');
const { createAnthropic } = await import('../src/llm/protocols/anthropic.ts');
const { createGemini } = await import('../src/llm/protocols/gemini.ts');
const { createOpenAiResponses } = await import('../src/llm/protocols/openai-responses.ts');

const WIRES: Readonly<Record<WireName, (options: WireOptions) => Model>> = {
  openai: createOpenAiChat,
  'openai-responses': createOpenAiResponses,
  anthropic: createAnthropic,
  gemini: createGemini,
};

const timeouts = { connectMs: 10_000, totalMs: 30_000 };
const facts = { maxOutputTokens: 1_000, vision: false, tools: true, price: { in: 1, out: 1 } };
const where = { provider: name, model: 'bench', baseUrl, apiKey: 'sk-bench' };
const wire = WIRES[name as WireName]({ ...where, contextWindow: 128_000, facts, timeouts, clock });
const stack = await createStack([wire], dir, clock);
const messages = [{ id: 'u', role: 'user', content: 'hello', timestamp: '2026-01-01T00:00:00Z' }] as const;
const context = { session: 'bench', channel: 'bench', sender: 'bench:1', purpose: 'turn' };
const before = restingMb();
let end = '';
// The server speaks the chat wire; for the others the call fails, by which time their SDK is loaded.
for await (const event of stack.model.call({ messages, tools: [], context }, AbortSignal.timeout(20_000))) end = event.type;
const answer: LoadedPackages = {
  packages: [...packages].toSorted(),
  end,
  beforeMb: before,
  residentMb: restingMb(),
};
process.stdout.write(`${JSON.stringify(answer)}\n`);
process.exit(0);

/** Without garbage: whether a collection came just before the look decides over 20 MB. */
function restingMb(): number {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  return process.memoryUsage.rss() / 1e6;
}
