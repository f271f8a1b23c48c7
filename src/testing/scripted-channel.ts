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

/** `accept-then-hang`: the platform took the message and the answer never comes. An error is thrown by the adapter. */
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
  /** Every message the people in the chats see, in order. A second send under a key that `idem` knows adds nothing. */
  readonly shown: { readonly key: string; readonly text: string; readonly chatId: string }[] = [];
  /** What happens to the n-th call (0-based) and part; `accept` when it returns undefined. */
  script: (part: OutboundPart, call: number) => Script | undefined = () => undefined;
  /** What `find` says instead of the truth. */
  findAnswer: (() => 'cannot-say' | undefined) | undefined;
  finds = 0;
  readonly #clock: Clock;

  constructor(clock: Clock, options: { sendClass?: SendClass; name?: string; limits?: Partial<ChannelLimits> } = {}) {
    this.#clock = clock;
    this.name = options.name ?? 'test';
    this.sendClass = options.sendClass ?? 'blind';
    this.limits = { text: 4_000, unit: 'utf16', caption: 1_000, uploadBytes: 1e9, downloadBytes: 1e9, ...options.limits };
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
    if (step === 'accept') return { kind: 'sent', platformId: `p-${part.key}` };
    if (step !== 'hang' && step !== 'accept-then-hang') return step;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return { kind: 'unknown', detail: 'connection lost' };
  }

  async typing(): Promise<void> {
    this.typings.push(this.#clock.monotonic());
    throw new Error('nobody cares whether typing works');
  }

  async find(part: OutboundPart): Promise<{ platformId: string } | 'absent' | undefined> {
    this.finds += 1;
    if (this.findAnswer?.() === 'cannot-say') return undefined;
    return this.shown.some((one) => one.key === part.key) ? { platformId: `p-${part.key}` } : 'absent';
  }
}
