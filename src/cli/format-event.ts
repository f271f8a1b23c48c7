// one event of the record -> one line for a person at a terminal: 04:01:22 telegram #1 ✓ answered 14 ms
import type { RunEvent } from '../core/events.ts';
import { printable } from '../lib/printable.ts';
import { formatDuration } from './format-time.ts';
import type { Mark, Output } from './output.ts';

/** Of no use to a person beside what the line says already. */
const LEFT_OUT = new Set(['type', 'at', 'messageId', 'session', 'channel', 'key', 'lane', 'chat', 'callId', 'attempt', 'depth']);
const MOST_RUNS = 10_000;

/** Gives each run a short number, in the order in which this listing meets them. */
export class EventLines {
  readonly #out: Output;
  readonly #numbers = new Map<string, number>();
  #last = 0;

  constructor(out: Output) {
    this.#out = out;
  }

  /** `columns`: what does not fit is cut off with a mark. */
  line(event: RunEvent, columns: number): string {
    const time = new Date(event.at).toTimeString().slice(0, 8);
    const run = event.messageId === undefined ? '' : ` #${this.#numberOf(event.messageId)}`;
    const [mark, words] = wordsOf(event);
    const before = `${time} ${printable(event.channel ?? '-')}${run} `;
    const room = Math.max(20, columns - before.length - 2);
    const text = printable(words);
    const shown = text.length > room ? `${text.slice(0, room - 1)}…` : text;
    return `${before}${this.#out.mark(mark)} ${shown}`;
  }

  #numberOf(run: string): number {
    const known = this.#numbers.get(run);
    if (known !== undefined) return known;
    this.#last += 1;
    this.#numbers.set(run, this.#last);
    for (const oldest of this.#numbers.keys()) {
      if (this.#numbers.size <= MOST_RUNS) break;
      this.#numbers.delete(oldest);
    }
    return this.#last;
  }
}

function wordsOf(event: RunEvent): readonly [Mark, string] {
  if (event.type === 'finished') {
    const [mark, outcome]: [Mark, string] = event.outcome.startsWith('failed:') ? ['bad', event.outcome] : ['ok', event.outcome];
    return [mark, event.ms >= 1 ? `${outcome} ${took(event.ms)}` : outcome];
  }
  if (event.type === 'part.sent') return ['ok', `sent ${took(event.ms)}`];
  if (event.type === 'part.retry') return ['warn', `sending again in ${took(event.waitMs)}: ${event.reason}`];
  if (event.type === 'model.done') return ['none', `${event.model} answered ${took(event.ms)}`];
  if (event.type === 'model.failed') {
    const why = event.kind === 'aborted' ? 'was stopped' : `failed: ${event.code} ${event.detail}`;
    return [event.kind === 'aborted' ? 'none' : 'bad', `${event.model} ${why}`];
  }
  if (event.type === 'model.waiting') return ['warn', `the model is called again in ${took(event.waitMs)}: ${event.reason}`];
  if (event.type === 'tool.done')
    return [event.ok ? 'ok' : 'warn', `${event.tool} ${event.ok ? 'done' : 'failed'} ${took(event.ms)}`];
  if (event.type === 'dropped') return ['none', `dropped: ${event.reason}`];
  if (event.type === 'failed') return ['bad', `failed: ${event.code} ${event.detail}`];
  if (event.type === 'channel') {
    const isWell = event.state === 'healthy' || event.state === 'starting' || event.state === 'stopped';
    return [isWell ? 'none' : 'bad', `channel ${event.state}${event.detail === undefined ? '' : `: ${event.detail}`}`];
  }
  const facts = Object.entries(event).filter(([name]) => !LEFT_OUT.has(name));
  return ['none', [event.type, ...facts.map(([name, value]) => `${name}=${factText(value)}`)].join(' ')];
}

function factText(value: unknown): string {
  if (typeof value === 'number') return String(Math.round(value * 100) / 100);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function took(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : formatDuration(ms);
}
