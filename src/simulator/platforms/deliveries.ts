/** Faults on the way from people to the bot, alike at every platform. */
export class Deliveries<Message> {
  readonly #deliver: (message: Message) => Promise<void> | void;
  #twice = 0;
  #held: Message[] | undefined;
  #release = 0;

  /** `deliver` hands a message to the bot's side. Given the same one again, it must deliver it again. */
  constructor(deliver: (message: Message) => Promise<void> | void) {
    this.#deliver = deliver;
  }

  /** No fault is left; what was held back is gone. */
  clear(): void {
    this.#twice = 0;
    this.#held = undefined;
  }

  duplicate(times: number): void {
    this.#twice += times;
  }

  /** Holds messages back until `times` + 1 are there, and then delivers the newest first. */
  reorder(times: number): void {
    this.#held ??= [];
    this.#release = times + 1;
  }

  async pass(message: Message): Promise<void> {
    const twice = this.#twice > 0;
    if (twice) this.#twice -= 1;
    const due = twice ? [message, message] : [message];
    if (!this.#held) return await this.#all(due);
    this.#held.unshift(...due);
    if (new Set(this.#held).size < this.#release) return;
    const held = this.#held;
    this.#held = undefined;
    await this.#all(held);
  }

  async #all(messages: readonly Message[]): Promise<void> {
    for (const message of messages) await this.#deliver(message);
  }
}
