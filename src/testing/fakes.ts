/** Hand-written fakes that tests pass in. Never shipped. */
import type { RunEvent } from '../core/events.ts';
import { messageKey, partKey } from '../core/ids.ts';
import type { InboundMessage, OutboundPart } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';

export { tempDir } from '../simulator/temp-dir.ts';
export { until } from '../simulator/until.ts';

/** A clock that moves only when told. `sleep` resolves when time was advanced past its end. */
export class FakeClock implements Clock {
  #now: number;
  #sleepers: { at: number; wake: () => void }[] = [];

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.#now + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      });
    });
  }

  /** Moves time and lets everything that became due run before it resolves. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#sleepers.filter((sleeper) => sleeper.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
    }
    this.#now = end;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What a test holds back until it says so. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/**
 * A scripted model that answers when the test is ready: `scriptedModel(() => at.opened.then(() => 'done'))`.
 */
export function gate(): Gate {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  return { opened, open };
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Keeps every line; `lines` is shared with children. */
export class MemoryLogger implements Logger {
  readonly lines: LogLine[];
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(lines: LogLine[] = [], fields: Readonly<Record<string, unknown>> = {}) {
    this.lines = lines;
    this.#fields = fields;
  }

  child(fields: Readonly<Record<string, unknown>>): MemoryLogger {
    return new MemoryLogger(this.lines, { ...this.#fields, ...fields });
  }

  debug(event: string, data?: Readonly<Record<string, unknown>>): void {
    this.#add('debug', event, data);
  }
  info(event: string, data?: Readonly<Record<string, unknown>>): void {
    this.#add('info', event, data);
  }
  warn(event: string, data?: Readonly<Record<string, unknown>>): void {
    this.#add('warn', event, data);
  }
  error(event: string, data?: Readonly<Record<string, unknown>>): void {
    this.#add('error', event, data);
  }

  #add(level: LogLine['level'], event: string, data?: Readonly<Record<string, unknown>>): void {
    this.lines.push({ level, event, data: { ...this.#fields, ...data } });
  }
}

/** An inbound message with every field set; override what the test is about. */
export function inbound(override: Partial<InboundMessage> = {}): InboundMessage {
  const base = { channel: 'test', account: 'bot', chatId: 'chat-1', platformId: 'm-1', ...override };
  return {
    id: messageKey(base),
    kind: 'message',
    senderId: 'user-1',
    senderName: 'User One',
    text: 'hello',
    media: [],
    isGroup: false,
    mentionsBot: false,
    timestamp: Date.UTC(2026, 0, 1),
    ...base,
  };
}

export function outbound(override: Partial<OutboundPart> = {}): OutboundPart {
  return {
    key: partKey('test/bot/m-1', override.ordinal ?? 0),
    channel: 'test',
    account: 'bot',
    chatId: 'chat-1',
    ordinal: 0,
    count: 1,
    text: 'answer',
    ...override,
  };
}

/** Collects events; `of(type)` narrows. */
export function recordEvents(): { emit: (event: RunEvent) => void; events: RunEvent[] } {
  const events: RunEvent[] = [];
  return { emit: (event) => events.push(event), events };
}
