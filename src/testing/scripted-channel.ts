/** A channel whose platform does what the test says, and remembers what reached it. */
import type { Channel, ChannelLimits, InboundClass, SendClass, SendOptions, SendResult } from '../core/channel.ts';
import type { OutboundPart } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';

export interface SendCall {
  readonly key: string;
  readonly text: string;
  readonly plain: boolean;
  /** Monotonic ms. */
  readonly at: number;
}

export interface EditCall extends SendCall {
  readonly platformId: string;
}

/** `accept-then-hang`: the platform took the message and never answers. An error is thrown by the adapter. */
export type Script = SendResult | 'accept' | 'accept-then-hang' | 'hang' | Error;

export class ScriptedChannel implements Channel {
  readonly name: string;
  readonly type = 'scripted';
  readonly account = 'bot';
  readonly limits: ChannelLimits;
  readonly inboundClass: InboundClass = 'A';
  readonly sendClass: SendClass;
  idemWindowMs?: number;
  readonly calls: SendCall[] = [];
  readonly typings: number[] = [];
  /** Every message that people in the chats see, in order. A second send of a key `idem` knows adds none. */
  readonly shown: { readonly key: string; text: string; readonly chatId: string }[] = [];
  readonly edits: EditCall[] = [];
  /** As `script`, for the n-th edit. */
  editScript: (part: OutboundPart, call: number) => Script | undefined = () => undefined;
  edit?: NonNullable<Channel['edit']>;
  react?: NonNullable<Channel['react']>;
  /** Given by the test where the platform can take a message away; see `take`. */
  withdraw?: NonNullable<Channel['withdraw']>;
  /** What happens to the n-th call (0-based) and part; `accept` when it returns undefined. */
  script: (part: OutboundPart, call: number) => Script | undefined = () => undefined;
  /** What `find` says instead of the truth. */
  findAnswer: (() => 'cannot-say' | undefined) | undefined;
  finds = 0;
  /** From when on `find` was told to look last. */
  foundSince: number | undefined;
  readonly #clock: Clock;

  constructor(
    clock: Clock,
    options: { sendClass?: SendClass; name?: string; limits?: Partial<ChannelLimits>; edits?: boolean } = {},
  ) {
    this.#clock = clock;
    this.name = options.name ?? 'test';
    this.sendClass = options.sendClass ?? 'blind';
    this.limits = { text: 4_000, unit: 'utf16', caption: 1_000, uploadBytes: 1e9, downloadBytes: 1e9, ...options.limits };
    if (options.edits) this.edit = (platformId, part, how) => this.#edit(platformId, part, how);
  }

  async start(): Promise<void> {
    await Promise.resolve();
  }

  async stop(): Promise<void> {
    await Promise.resolve();
  }

  async send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const step = this.script(part, this.calls.length) ?? 'accept';
    this.calls.push({ key: part.key, text: part.text, plain, at: this.#clock.monotonic() });
    if (step instanceof Error) throw step;
    if (step === 'accept' || step === 'accept-then-hang') {
      const known = this.shown.some((one) => one.key === part.key);
      if (!(known && this.sendClass === 'idem')) this.shown.push({ key: part.key, text: part.text, chatId: part.chatId });
    }
    return await answer(step, `p-${part.key}`, signal);
  }

  async #edit(platformId: string, part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const step = this.editScript(part, this.edits.length) ?? 'accept';
    this.edits.push({ platformId, key: part.key, text: part.text, plain, at: this.#clock.monotonic() });
    if (step instanceof Error) throw step;
    const message = this.shown.find((one) => `p-${one.key}` === platformId);
    if (message && (step === 'accept' || step === 'accept-then-hang')) message.text = part.text;
    return await answer(step, platformId, signal);
  }

  /** The message is gone from what people see. */
  take(platformId: string): void {
    const at = this.shown.findIndex((one) => `p-${one.key}` === platformId);
    if (at >= 0) this.shown.splice(at, 1);
  }

  async typing(): Promise<void> {
    this.typings.push(this.#clock.monotonic());
    throw new Error('nobody cares whether typing works');
  }

  async find(part: OutboundPart, _signal: AbortSignal, since?: number): Promise<{ platformId: string } | 'absent' | undefined> {
    this.finds += 1;
    this.foundSince = since;
    if (this.findAnswer?.() === 'cannot-say') return undefined;
    return this.shown.some((one) => one.key === part.key) ? { platformId: `p-${part.key}` } : 'absent';
  }
}

async function answer(step: Exclude<Script, Error>, platformId: string, signal: AbortSignal): Promise<SendResult> {
  if (step === 'accept') return { kind: 'sent', platformId };
  if (step !== 'hang' && step !== 'accept-then-hang') return step;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  return { kind: 'unknown', detail: 'connection lost' };
}
