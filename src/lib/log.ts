import pino from 'pino';
import { errorText } from '../core/errors.ts';
import type { Logger } from '../core/ports.ts';
import { printable } from './printable.ts';
import { createRedactor } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly destination: NodeJS.WritableStream;
  /** One aligned line for people instead of JSON. */
  readonly pretty: boolean;
  /** Values that must never appear in any form; asked at each line. */
  readonly secrets: () => readonly string[];
  /** Epoch ms; default the wall clock. */
  readonly now?: () => number;
  /**
   * Lines below `warn` wait for the end of this round of the event loop, or of the process, and leave in one
   * write: what a message needs goes first. Not with `pretty`.
   */
  readonly inRounds?: boolean;
}

export interface LevelLogger extends Logger {
  /** From now on, for its children too. */
  setLevel(level: LogLevel): void;
}

/** Longest text of one field; a log line is no place for a message. */
const MAX_TEXT = 4_000;
const MAX_DEPTH = 6;
const MAX_ITEMS = 100;
const SECRET_KEYS = ['token', 'password', 'passwd', 'secret', 'apikey', 'authorization', 'cookie'];
const RESERVED = ['time', 'level', 'event'];

type Fields = Readonly<Record<string, unknown>>;

/**
 * The one logger. Every line is one event: `time`, `level`, `event`, then the data. Secrets are removed and
 * foreign text is made harmless here, so callers pass data as it is. Never throws.
 */
export function createLogger(options: LoggerOptions): LevelLogger {
  const { level, destination, pretty, secrets, now = Date.now, inRounds = false } = options;
  const rounds = inRounds && !pretty ? new Rounds(destination) : undefined;
  const sink = rounds ?? (pretty ? { write: (line: string) => void destination.write(formatLine(line)) } : destination);
  const backend = pino(
    {
      level,
      base: null,
      messageKey: 'event',
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  const setLevel = (next: LogLevel): void => {
    backend.level = next;
  };
  return {
    ...bind(
      backend,
      createCleaner(createRedactor(secrets), () => backend.level === 'debug'),
      { fields: {}, urgent: () => rounds?.flush() },
    ),
    setLevel,
  };
}

/** Loggers with lines that wait. */
const WAITING = new Set<Rounds>();

/** Puts the lines of a round of the event loop together. */
class Rounds {
  readonly #destination: NodeJS.WritableStream;
  #text = '';

  constructor(destination: NodeJS.WritableStream) {
    this.#destination = destination;
  }

  write(line: string): void {
    if (this.#text === '') {
      if (WAITING.size === 0) process.once('exit', flushAll);
      WAITING.add(this);
      setImmediate(() => this.flush());
    }
    this.#text += line;
  }

  flush(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    WAITING.delete(this);
    if (WAITING.size === 0) process.off('exit', flushAll);
    this.#destination.write(text);
  }
}

function flushAll(): void {
  for (const rounds of WAITING) rounds.flush();
}

interface Bound {
  readonly fields: Fields;
  /** After a line that must not wait. */
  readonly urgent: () => void;
}

function bind(backend: pino.Logger, clean: Cleaner, bound: Bound): Logger {
  const { fields, urgent } = bound;
  const write = (level: LogLevel, event: string, data: Fields | undefined): void => {
    if (!backend.isLevelEnabled(level)) return;
    backend[level](clean.fields({ ...fields, ...data }), clean.text(event));
    if (level === 'warn' || level === 'error') urgent();
  };
  return {
    isDebugEnabled: () => backend.isLevelEnabled('debug'),
    child: (more) => bind(backend, clean, { ...bound, fields: { ...fields, ...more } }),
    debug: (event, data) => write('debug', event, data),
    info: (event, data) => write('info', event, data),
    warn: (event, data) => write('warn', event, data),
    error: (event, data) => write('error', event, data),
  };
}

interface Cleaner {
  readonly text: (value: string) => string;
  readonly fields: (fields: Fields) => Fields;
}

/** Copies data into plain, bounded, secret-free values. */
function createCleaner(redact: (text: string) => string, stacks: () => boolean): Cleaner {
  // Redact first: escaping or cutting could leave a secret unrecognised but readable.
  const text = (value: string): string => {
    const safe = printable(redact(value));
    return safe.length <= MAX_TEXT ? safe : `${safe.slice(0, MAX_TEXT)}… (+${safe.length - MAX_TEXT})`;
  };
  const clean = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'bigint') return String(value);
    if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
    if (value === null || typeof value !== 'object') return value;
    if (value instanceof Error) return text(stacks() ? `${errorText(value)} ${value.stack ?? ''}` : errorText(value));
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (depth >= MAX_DEPTH) return '[deep]';
    if (Array.isArray(value)) {
      const shown = value.slice(0, MAX_ITEMS).map((item) => clean(item, depth + 1));
      return value.length > MAX_ITEMS ? [...shown, `… (+${value.length - MAX_ITEMS})`] : shown;
    }
    if (value instanceof URL) return text(value.href);
    return object(value, depth);
  };
  const object = (value: object, depth: number): Fields =>
    Object.fromEntries(
      Object.entries(value).map(([key, item]) => {
        const name = depth === 0 && RESERVED.includes(key) ? `_${key}` : text(key);
        return [name, isSecretKey(key) && hidable(item) ? '[secret]' : clean(item, depth + 1)];
      }),
    );
  return { text, fields: (fields) => object(fields, 0) };
}

function isSecretKey(key: string): boolean {
  const plain = key.toLowerCase().replace(/[-_]/g, '');
  return SECRET_KEYS.some((name) => plain.endsWith(name));
}

/** A flag under such a name (`hasPassword: true`) tells nothing. */
function hidable(value: unknown): boolean {
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean';
}

/** `12:34:56.789 WARN  channel.state        channel=telegram detail="no route"`; quotes only where needed. */
function formatLine(line: string): string {
  const { time, level, event, ...data } = JSON.parse(line) as Record<string, unknown>;
  const pairs = Object.entries(data).map(([key, value]) => `${key}=${formatValue(value)}`);
  const clock = String(time).slice(11, 23);
  return `${[clock, String(level).toUpperCase().padEnd(5), String(event).padEnd(20), ...pairs].join(' ').trimEnd()}\n`;
}

function formatValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? '';
  // A value that could be mistaken for the start of the next field is quoted.
  return value === '' || /[\s"=]/.test(value) ? `"${value.replaceAll('"', "'")}"` : value;
}
