import type { ChannelHealth } from '../core/channel.ts';
import type { ChannelStatus } from '../core/turn.ts';
import type { ChannelSetOptions } from './channel-options.ts';

/** The health of one configured channel: what `status` shows of it, and the event of each change. */
export class ToldHealth {
  readonly #name: string;
  readonly #options: Pick<ChannelSetOptions, 'clock' | 'emit' | 'redact'>;
  #state: ChannelHealth = 'starting';
  #since: number;
  #detail: string | undefined;
  #isHeld = false;

  constructor(name: string, options: Pick<ChannelSetOptions, 'clock' | 'emit' | 'redact'>) {
    this.#name = name;
    this.#options = options;
    this.#since = options.clock.now();
  }

  get state(): ChannelHealth {
    return this.#state;
  }

  get status(): Pick<ChannelStatus, 'state' | 'since' | 'detail'> {
    return { state: this.#state, since: this.#since, ...(this.#detail === undefined ? {} : { detail: this.#detail }) };
  }

  /** Changes are kept and not told before `release`: the channel is on trial. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    if (this.#state !== 'starting') this.#tell();
  }

  /** `said`: the adapter's words, which may quote a secret. */
  set(state: ChannelHealth, said?: string): void {
    const detail = said === undefined ? undefined : this.#options.redact(said);
    if (this.#state === state && this.#detail === detail) return;
    if (this.#state !== state) this.#since = this.#options.clock.now();
    this.#state = state;
    this.#detail = detail;
    this.#tell();
  }

  #tell(): void {
    if (this.#isHeld) return;
    const { clock, emit } = this.#options;
    const detail = this.#detail;
    emit({
      ...{ type: 'channel', at: clock.now(), channel: this.#name, state: this.#state },
      ...(detail === undefined ? {} : { detail }),
    });
  }
}
