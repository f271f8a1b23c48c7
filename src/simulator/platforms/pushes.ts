import { setTimeout as sleep } from 'node:timers/promises';

export interface PushOptions<Message> {
  /** True: the bot acknowledged it. Must end soon after the signal aborted. */
  readonly post: (message: Message, signal: AbortSignal) => Promise<boolean>;
  /** Before the second attempt, the third, …; after the last one nothing comes any more. */
  readonly pausesMs: readonly number[];
}

interface Push {
  /** Series of attempts under way: two where it is delivered twice. */
  running: number;
  acknowledged: boolean;
}

/** Messages that a platform pushes over HTTP and repeats, each on its own, until acknowledged or given up. */
export class Pushes<Message> {
  readonly #options: PushOptions<Message>;
  #pushes = new Map<Message, Push>();
  #forgotten = new AbortController();
  /** First attempts go one after the other, so that messages arrive in the order they were pushed in. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: PushOptions<Message>) {
    this.#options = options;
  }

  /** Begins to offer it. The same message again is a second series of attempts. */
  push(message: Message): void {
    const push = this.#pushes.get(message) ?? { running: 0, acknowledged: false };
    this.#pushes.set(message, push);
    push.running += 1;
    void this.#run(message, push).finally(() => {
      push.running -= 1;
    });
  }

  /** Messages that will be offered again. */
  get waiting(): number {
    return [...this.#pushes.values()].filter(({ running, acknowledged }) => running > 0 && !acknowledged).length;
  }

  /** Messages that were offered for the last time, and not acknowledged. */
  get givenUp(): readonly Message[] {
    return [...this.#pushes].flatMap(([message, { running, acknowledged }]) => (running > 0 || acknowledged ? [] : [message]));
  }

  /** Nothing of what was pushed so far is offered any more. */
  forget(): void {
    this.#forgotten.abort(new Error('forgotten'));
    this.#forgotten = new AbortController();
    this.#pushes = new Map();
    this.#line = Promise.resolve();
  }

  /** Never rejects. */
  async #run(message: Message, push: Push): Promise<void> {
    const { signal } = this.#forgotten;
    const first = this.#line.then(() => this.#attempt(message, push, signal));
    this.#line = first;
    await first;
    for (const pauseMs of this.#options.pausesMs) {
      if (push.acknowledged) return;
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      await this.#attempt(message, push, signal);
    }
  }

  async #attempt(message: Message, push: Push, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    if (await this.#options.post(message, signal).catch(() => false)) push.acknowledged = true;
  }
}
