/**
 * The labelled stand-in for a model (ux.md 3). It imitates no thought: it reports what the gateway did, and
 * the tool calls, failures and streams that it sets off are real. Never in a chain, never counted as usage.
 */
import type { Model, ModelAnswer, ModelEvent, ModelRequest } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import type { ToolCall } from '../core/session.ts';
import { abortedFailure, createFailure } from './failure.ts';

const LABEL = '[demo]';
const TOOL = 'list_dir';
const FAILURE = {
  message: 'demo: a failure on demand, status 429',
  hint: 'nothing to do: /demo fail asked for it',
  status: 429,
  // All retries can be watched, and each wait can be seen.
  retryAfterMs: 1_000,
};
const STREAM_TOKENS = 60;
const STREAM_GAP_MS = 50;
/** Of a tool result. */
const QUOTED_LINES = 5;

const VERBS: Readonly<Record<string, string>> = {
  tool: 'calls a real tool and reports its real result',
  fail: 'fails like a rate-limited provider, so that you see the real retries',
  stream: 'streams for three seconds at 20 tokens a second',
};

/** Needs no network. `call` keeps the contract of the port, abort included. */
export function createDemoModel(options: { clock: Clock }): Model {
  return { id: 'demo', contextWindow: 128_000, demo: true, call: (request, signal) => call(request, options.clock, signal) };
}

async function* call(request: ModelRequest, clock: Clock, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
  const last = request.messages.at(-1);
  if (last?.role === 'tool') return yield* say(['The tool really ran. Its result begins:', ...beginning(last.content)]);
  const text = request.messages.findLast((message) => message.role === 'user')?.content.trim() ?? '';
  // In a group its author, and what was said before, stand in front of it.
  const verb = /(?:^|\s)\/demo(?:\s+(\S+))?$/.exec(text) ?? /^\/demo(?:\s+(\S+))?/.exec(text);
  switch (verb ? (verb[1] ?? '') : undefined) {
    case undefined:
      return yield* say(report(request, text));
    case 'tool':
      return yield* callTool(request);
    case 'fail':
      return yield { type: 'failed', failure: createFailure('rate-limit', FAILURE) };
    case 'stream':
      return yield* stream(clock, signal);
    default:
      return yield* say(['These exist:', ...Object.entries(VERBS).map(([name, what]) => `/demo ${name} ${what}`)]);
  }
}

function report(request: ModelRequest, text: string): string[] {
  const { session, queuedMs } = request.context;
  const number = request.messages.filter((message) => message.role === 'user').length;
  const took = queuedMs === undefined ? '' : ` in ${Math.round(queuedMs)} ms`;
  const verbs = Object.keys(VERBS).map((verb) => `/demo ${verb}`);
  return [
    `I am a script, not an AI. I received message ${number} of session ${session} (${[...text].length} characters)${took}.`,
    `Try: ${verbs.join(' · ')}`,
  ];
}

async function* callTool(request: ModelRequest): AsyncGenerator<ModelEvent> {
  if (!request.tools.some((tool) => tool.name === TOOL)) {
    return yield* say([`No tool ${TOOL} is allowed here, so there is nothing to show.`]);
  }
  const text = `${LABEL} Calling the tool ${TOOL} for real.`;
  yield { type: 'text', text };
  // The id is unique in the conversation, and the same when the same call is made again.
  yield done(text, [{ id: `demo_${request.messages.length}`, name: TOOL, arguments: '{"path":"."}' }]);
}

function beginning(result: string): string[] {
  const lines = result.split('\n').filter((line) => line.trim() !== '');
  const more = lines.length - QUOTED_LINES;
  return [...lines.slice(0, QUOTED_LINES), ...(more > 0 ? [`and ${more} more lines`] : [])];
}

async function* stream(clock: Clock, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  let text = `${LABEL} Streaming ${STREAM_TOKENS} tokens at 20 per second:`;
  yield { type: 'text', text };
  for (let token = 1; token <= STREAM_TOKENS; token += 1) {
    try {
      await clock.sleep(STREAM_GAP_MS, signal);
    } catch {
      return yield { type: 'failed', failure: abortedFailure() };
    }
    const piece = ` ${token}`;
    text += piece;
    yield { type: 'text', text: piece };
  }
  yield done(text, []);
}

/** Every line carries the label, so that no part of a split answer goes without it. */
async function* say(lines: readonly string[]): AsyncGenerator<ModelEvent> {
  const text = lines.map((line) => `${LABEL} ${line}`).join('\n');
  yield { type: 'text', text };
  yield done(text, []);
}

function done(text: string, toolCalls: readonly ToolCall[]): ModelEvent {
  const answer: ModelAnswer = {
    text,
    toolCalls,
    stop: toolCalls.length > 0 ? 'tools' : 'end',
    usage: { tokensIn: 0, tokensOut: 0, tokensCached: 0 },
    provider: 'demo',
    model: 'demo',
  };
  return { type: 'done', answer };
}
